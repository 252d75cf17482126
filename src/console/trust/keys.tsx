/**
 * The published keys, and the thumbprint that the reader noted elsewhere.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import { signedCheckpointPayload } from '../../domain/log/checkpoint.ts';
import { readDetached, TYPS } from '../../domain/wire/jws.ts';
import { ask } from '../api.ts';
import { Copy, Pill } from '../parts/elements.tsx';
import { useLoaded } from '../parts/loaded.tsx';
import { Row } from '../parts/panels.tsx';
import { type Trusting, wordsIn } from './steps.ts';

interface KeySectionProps {
  readonly trusting: Trusting;
  onNoted(noted: readonly string[]): void;
}

export function KeySection({ trusting, onNoted }: KeySectionProps) {
  const { anchors, source } = trusting;
  const [text, setText] = useState(Array.isArray(source.noted) ? source.noted.join('\n') : '');
  const newest = useLoaded(() => newestSigner(source.service_id), [source.service_id]);
  const signer = newest.state === 'ready' ? newest.value : undefined;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onNoted(wordsIn(text));
  };
  return (
    <section aria-labelledby="h-keys">
      <h2 id="h-keys">Keys</h2>
      <p>
        The service published these keys, and this page keeps none between two loads. Compare the
        thumbprint of the log key with one that you have from another source: from a colleague, from
        an earlier export, or from the person who runs the service. <code>writ verify --pin</code>{' '}
        takes the same thumbprint.
      </p>
      <ul class="list">
        {anchors.keys.keys.map(({ kid, isPinned, follows }) => (
          <Row
            key={kid}
            icon="key"
            title={
              kid === signer
                ? 'Signs the newest checkpoint'
                : 'Signs other checkpoints, tokens or grants'
            }
            side={
              isPinned ? (
                <Pill state="good">{follows === undefined ? 'You noted it' : 'Follows yours'}</Pill>
              ) : (
                <Pill state="off">Not compared</Pill>
              )
            }
          >
            <p>
              <code>{kid}</code> <Copy text={kid} what="the thumbprint" />
            </p>
          </Row>
        ))}
      </ul>
      <form class="row" onSubmit={submit}>
        <p class="field">
          <label for="t-noted">Thumbprint that you noted</label>
          <input
            id="t-noted"
            size={46}
            spellcheck={false}
            autocomplete="off"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </p>
        <button type="submit">Verify with this key only</button>
      </form>
    </section>
  );
}

/** The key that the newest checkpoint names; its signature is verified with each result. */
async function newestSigner(serviceId: string): Promise<string | undefined> {
  const { checkpoints } = await ask('checkpoints.list', { limit: 1 });
  const [newest] = checkpoints;
  if (!newest) return undefined;
  return readDetached(newest.signature, TYPS.checkpoint, signedCheckpointPayload(serviceId, newest))
    ?.kid;
}
