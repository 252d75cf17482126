/**
 * The checkpoints, newest first: each is verified to extend the one before it, and any two can be compared.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Checkpoint } from '../../protocol/audit.ts';
import { ask, pulse } from '../api.ts';
import { Ago, Hash, Pill, Shown } from '../parts/elements.tsx';
import { Icon } from '../parts/icon.tsx';
import { Failed, Loading, useLoaded, whyOf } from '../parts/loaded.tsx';
import { Notice, Row } from '../parts/panels.tsx';
import { type Verified, verifyPair } from './ask-proof.ts';
import { checkpointNumber } from './questions.ts';
import { SavedResult } from './saved-result.tsx';
import type { Trusting } from './steps.ts';

/** Checkpoints of one page. */
const PAGE = 8;

type Extension = { readonly busy: true } | { readonly why: string } | Verified;

export function CheckpointList({ trusting }: { readonly trusting: Trusting }) {
  const [cursor, setCursor] = useState<string | undefined>(undefined);
  const [found, setFound] = useState<Readonly<Record<string, Extension>>>({});
  const [shown, setShown] = useState<Verified | undefined>(undefined);
  const loaded = useLoaded(() => ask('checkpoints.list', { limit: PAGE + 1, cursor }), [cursor]);
  const verify = async (earlier: Checkpoint, later: Checkpoint) => {
    const note = (extension: Extension) =>
      setFound((before) => ({ ...before, [later.checkpoint_id]: extension }));
    note({ busy: true });
    try {
      note(await verifyPair(earlier, later, trusting.anchors));
    } catch (error) {
      note({ why: whyOf(error) });
    }
  };
  const all = loaded.state === 'loading' ? [] : (loaded.value?.checkpoints ?? []);
  const rows = all.slice(0, PAGE);
  const verifyAll = async () => {
    for (const [at, later] of rows.entries()) {
      const earlier = all[at + 1];
      if (earlier) await verify(earlier, later);
    }
  };
  const last = all.length > PAGE ? rows.at(-1) : undefined;
  return (
    <>
      <section aria-labelledby="h-checkpoints">
        <div class="head">
          <h2 id="h-checkpoints">Checkpoints</h2>
          <span class="row small">
            {cursor === undefined ? (
              <Newer than={rows[0]} again={loaded.again} />
            ) : (
              <Page to={undefined} go={setCursor} words="Newest" />
            )}
            {last ? <Page to={String(last.sequence)} go={setCursor} words="Older" /> : null}
          </span>
        </div>
        {loaded.state === 'loading' ? <Loading what="the checkpoints" /> : null}
        {loaded.state === 'failed' ? (
          <Failed what="The checkpoints" why={loaded.why} again={loaded.again} />
        ) : null}
        {loaded.state === 'ready' && rows.length === 0 ? (
          <p>The log has no checkpoint yet. The service seals one at its interval.</p>
        ) : null}
        {rows.length > 0 ? (
          <ul class="list">
            {rows.map((later, at) => (
              <CheckpointRow
                key={later.checkpoint_id}
                later={later}
                earlier={all[at + 1]}
                found={found[later.checkpoint_id]}
                onVerify={verify}
                onShow={setShown}
              />
            ))}
          </ul>
        ) : null}
        {rows.length > 1 ? (
          <button type="button" onClick={verifyAll}>
            Verify these one after another
          </button>
        ) : null}
        <PairForm trusting={trusting} onShow={setShown} />
      </section>
      {shown ? <SavedResult verified={shown} source={trusting.source} /> : null}
    </>
  );
}

interface NewerProps {
  readonly than: Checkpoint | undefined;
  again(): void;
}

/** The list stays as it is while the reader looks at it. */
function Newer({ than, again }: NewerProps) {
  const newest = pulse.value?.checkpoint?.sequence ?? 0;
  if (!than || newest <= than.sequence) return <span>newest first</span>;
  return (
    <button type="button" class="text" onClick={again}>
      Show up to checkpoint {newest}
    </button>
  );
}

interface PageProps {
  readonly to: string | undefined;
  go(to: string | undefined): void;
  readonly words: string;
}

function Page({ to, go, words }: PageProps) {
  return (
    <button type="button" class="text" onClick={() => go(to)}>
      {words}
    </button>
  );
}

interface RowProps {
  readonly later: Checkpoint;
  readonly earlier: Checkpoint | undefined;
  readonly found: Extension | undefined;
  onVerify(earlier: Checkpoint, later: Checkpoint): void;
  onShow(verified: Verified): void;
}

function CheckpointRow({ later, earlier, found, onVerify, onShow }: RowProps) {
  const { sequence, entry_count, created_at, merkle_root } = later;
  return (
    <Row
      icon="seal"
      title={`Checkpoint ${sequence}: ${entry_count} entries`}
      side={
        earlier ? (
          <Outcome found={found} onShow={onShow}>
            <button type="button" class="little" onClick={() => onVerify(earlier, later)}>
              Verify {earlier.sequence} → {sequence}
            </button>
          </Outcome>
        ) : (
          'The first'
        )
      }
    >
      <p>
        <Ago at={created_at} />
      </p>
      <p>
        <Hash hex={merkle_root} what={`the root of checkpoint ${sequence}`} />
      </p>
    </Row>
  );
}

interface OutcomeProps {
  readonly found: Extension | undefined;
  onShow(verified: Verified): void;
  readonly children: ComponentChildren;
}

function Outcome({ found, onShow, children }: OutcomeProps) {
  if (found === undefined) return <>{children}</>;
  if ('busy' in found) return <span class="muted">Verifying…</span>;
  if ('why' in found) {
    return (
      <>
        <span class="warn">
          Not verified: <Shown text={found.why} />
        </span>{' '}
        {children}
      </>
    );
  }
  const { state, icon, words } = WORDS[found.proof.verdict];
  return (
    <>
      <Pill state={state}>
        <Icon name={icon} /> {words}
      </Pill>{' '}
      <button type="button" class="text" onClick={() => onShow(found)}>
        Show the steps
      </button>
    </>
  );
}

const WORDS = {
  agrees: { state: 'good', icon: 'check', words: 'Verified here' },
  failed: { state: 'danger', icon: 'cross', words: 'Does not hold' },
  incomplete: { state: 'warn', icon: 'warning', words: 'Could not be checked' },
} as const;

interface PairFormProps {
  readonly trusting: Trusting;
  onShow(verified: Verified | undefined): void;
}

/** Any two checkpoints, by their numbers. */
function PairForm({ trusting, onShow }: PairFormProps) {
  const [why, setWhy] = useState<string | undefined>(undefined);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setWhy(undefined);
    onShow(undefined);
    try {
      const [earlier, later] = [
        await checkpointNumber(Number(form.get('earlier'))),
        await checkpointNumber(Number(form.get('later'))),
      ];
      onShow(await verifyPair(earlier, later, trusting.anchors));
    } catch (error) {
      setWhy(whyOf(error));
    }
  };
  return (
    <>
      <h3>Any two checkpoints</h3>
      <form class="row" onSubmit={submit}>
        <NumberField id="t-later" name="later" label="Does checkpoint" />
        <NumberField id="t-earlier" name="earlier" label="extend checkpoint" />
        <button type="submit">Verify these two</button>
      </form>
      {why === undefined ? null : (
        <Notice state="warn" isAlert>
          <Shown text={why} />. Nothing was verified.
        </Notice>
      )}
    </>
  );
}

interface NumberFieldProps {
  readonly id: string;
  readonly name: string;
  readonly label: string;
}

function NumberField({ id, name, label }: NumberFieldProps) {
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        size={8}
        inputMode="numeric"
        pattern="\d+"
        required
        autocomplete="off"
      />
    </p>
  );
}
