/**
 * Verifies one entry: the reader names it, and chooses the checkpoint.
 *
 * @module
 */

import { useEffect, useState } from 'preact/hooks';
import { Shown } from '../parts/elements.tsx';
import { whyOf } from '../parts/loaded.tsx';
import { Notice } from '../parts/panels.tsx';
import { hrefOf, route } from '../router.ts';
import { type Verified, verifyAsked } from './ask-proof.ts';
import type { Asked } from './entry-steps.ts';
import { checkpointNumber, soughtIn } from './questions.ts';
import { SavedResult } from './saved-result.tsx';
import type { Trusting } from './steps.ts';

type State =
  | { readonly is: 'idle' }
  | { readonly is: 'busy' }
  | { readonly is: 'refused'; readonly why: string }
  /** `isAsked`: by the button, and not by a link. */
  | ({ readonly is: 'done'; readonly isAsked: boolean } & Verified);

export function EntryForm({ trusting }: { readonly trusting: Trusting }) {
  const { query } = route.value;
  const given = query.get('sequence') ?? query.get('entry') ?? '';
  const [entry, setEntry] = useState(given);
  const [number, setNumber] = useState(query.get('checkpoint') ?? '');
  const [state, setState] = useState<State>({ is: 'idle' });
  const verify = async (isAsked: boolean) => {
    setState({ is: 'busy' });
    try {
      setState({ is: 'done', isAsked, ...(await verified(trusting, entry.trim(), number.trim())) });
    } catch (error) {
      setState({ is: 'refused', why: whyOf(error) });
    }
  };
  // A link to an entry asks for its verification, and other keys for another one.
  useEffect(() => {
    if (entry.trim() !== '') void verify(false);
  }, [trusting]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    history.replaceState(null, '', hrefOf('trust', undefined, queryOf(entry, number)));
    void verify(true);
  };
  return (
    <>
      <section aria-labelledby="h-verify">
        <h2 id="h-verify">Check one act</h2>
        <form class="row" onSubmit={submit}>
          <p class="field">
            <label for="t-entry">Entry</label>
            <input
              id="t-entry"
              size={36}
              spellcheck={false}
              autocomplete="off"
              required
              aria-describedby="t-entry-how"
              value={entry}
              onInput={({ currentTarget }) => setEntry(currentTarget.value)}
            />
          </p>
          <p class="field">
            <label for="t-checkpoint">Is in checkpoint</label>
            <input
              id="t-checkpoint"
              size={12}
              inputMode="numeric"
              pattern="\s*\d*\s*"
              autocomplete="off"
              placeholder="the newest"
              value={number}
              onInput={({ currentTarget }) => setNumber(currentTarget.value)}
            />
          </p>
          <button type="submit" class="act" aria-disabled={state.is === 'busy'}>
            Check it in this browser
          </button>
        </form>
        <p class="small muted" id="t-entry-how">
          Its place in the log (the first is 0), its id, the id of its invocation, or its leaf hash.
          Without a number, the newest checkpoint is taken.
        </p>
        {state.is === 'busy' ? <p class="loading">Fetching and recomputing…</p> : null}
        {state.is === 'refused' ? (
          <Notice state="warn" isAlert>
            <Shown text={state.why} />. Nothing was verified.
          </Notice>
        ) : null}
      </section>
      {state.is === 'done' ? (
        <SavedResult verified={state} source={trusting.source} takesFocus={state.isAsked} />
      ) : null}
    </>
  );
}

async function verified({ anchors }: Trusting, entry: string, number: string): Promise<Verified> {
  const sought: Asked | undefined = soughtIn(entry);
  if (!sought) {
    throw new Error(
      `Cannot look for "${entry}": expected a place such as 6, an id that begins with ent_ or inv-, or a leaf hash of 64 digits`,
    );
  }
  const chosen = number === '' ? undefined : await checkpointNumber(Number(number));
  return verifyAsked(sought, chosen, anchors);
}

function queryOf(entry: string, number: string): Record<string, string> {
  return { entry: entry.trim(), ...(number.trim() !== '' && { checkpoint: number.trim() }) };
}
