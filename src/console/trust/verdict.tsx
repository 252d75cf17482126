/**
 * The verdict: the newest checkpoint, verified when the page opens, in one sentence, and what it rests on in numbers.
 *
 * It says no more than what was verified: the signature over the entries, and that the log only grew.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import { firstPlaceOf } from '../../domain/log/origin.ts';
import { agoOf, clockOf } from '../../domain/values/time-words.ts';
import type { Checkpoint } from '../../protocol/audit.ts';
import { CHECKPOINT_LIMITS, verifyCheckpoint } from '../../verify/checkpoint.ts';
import { ask, now } from '../api.ts';
import { Shown } from '../parts/elements.tsx';
import { Icon } from '../parts/icon.tsx';
import { type Loaded, Ready, useLoaded } from '../parts/loaded.tsx';
import { Tile } from '../parts/panels.tsx';
import { type Verified, verifyPair } from './ask-proof.ts';
import { SavedResult } from './saved-result.tsx';
import { checkpointSteps, type Proof, proofOf, type Trusting } from './steps.ts';
import type { Signing } from './witnesses.tsx';

interface Newest {
  readonly checkpoint: Checkpoint;
  readonly proof: Proof;
  readonly at: Date;
  /** With the one before it; absent where there is none. */
  readonly pair?: Verified;
}

interface VerdictProps {
  readonly trusting: Trusting;
  readonly witnesses: Loaded<readonly Signing[]>;
}

export function Verdict({ trusting, witnesses }: VerdictProps) {
  const loaded = useLoaded(() => newestVerified(trusting), [trusting]);
  const [isShown, show] = useState(false);
  const pair = loaded.state === 'ready' ? loaded.value?.pair : undefined;
  return (
    <>
      <div class="panel" aria-busy={loaded.state === 'loading'}>
        <Ready of={loaded} what="The newest checkpoint">
          {(newest) => (
            <>
              <Sentence of={newest} trusting={trusting} />
              {pair && !isShown ? (
                <p>
                  <button type="button" class="text" onClick={() => show(true)}>
                    Show how
                  </button>
                </p>
              ) : null}
            </>
          )}
        </Ready>
      </div>
      {loaded.state === 'ready' && loaded.value ? (
        <Numbers of={loaded.value} trusting={trusting} witnesses={witnesses} />
      ) : null}
      {pair && isShown ? <SavedResult verified={pair} source={trusting.source} /> : null}
    </>
  );
}

const LOOKS = {
  agrees: { icon: 'check', look: 'good' },
  failed: { icon: 'cross', look: 'bad' },
  incomplete: { icon: 'warning', look: 'warn' },
} as const;

interface SentenceProps {
  readonly of: Newest | undefined;
  readonly trusting: Trusting;
}

function Sentence({ of, trusting: { anchors, source } }: SentenceProps) {
  if (!of) {
    return (
      <p class="state">
        <Icon name="clock" /> <b>Nothing to check yet: the log has no checkpoint.</b>
      </p>
    );
  }
  const { icon, look } = LOOKS[of.proof.verdict];
  return (
    <p class="state">
      <Icon name={icon} class={look} />{' '}
      <span>
        <b>{sentenceOf(of)}</b>
        <br />
        <span class="small muted">
          This browser recomputed it at {clockOf(of.at)} and believes no conclusion of{' '}
          <Shown text={source.service_id} />.{' '}
          {anchors.isNoted
            ? 'It took only the key that you noted.'
            : 'The keys came from the service: compare their thumbprints below.'}
        </span>
      </span>
    </p>
  );
}

function sentenceOf({ checkpoint, proof: { verdict, claim } }: Newest): string {
  if (verdict === 'failed') return 'The newest checkpoint does not hold. Do not rely on this log.';
  if (verdict === 'incomplete') return `Not all of this could be checked: ${claim}.`;
  const { entry_count } = checkpoint;
  const entries = entry_count === 1 ? '1 entry' : `${entry_count.toLocaleString('en')} entries`;
  return `${claim}. Its signature covers ${entries}.`;
}

function Numbers({ of, trusting, witnesses }: VerdictProps & { readonly of: Newest }) {
  const { checkpoint, proof } = of;
  const state = proof.verdict === 'agrees' ? 'good' : 'plain';
  const { keys } = trusting.anchors.keys;
  const compared = keys.filter(({ isPinned }) => isPinned).length;
  return (
    <dl class="tiles">
      <Tile
        label="Entries"
        icon="file"
        value={checkpoint.entry_count.toLocaleString('en')}
        state={state}
      >
        under one signature
      </Tile>
      <Tile label="Newest checkpoint" icon="seal" value={checkpoint.sequence} state={state}>
        sealed {agoOf(Date.parse(checkpoint.created_at), now.value)}
      </Tile>
      <WitnessTile of={witnesses} />
      <Tile label="Keys" icon="key" value={keys.length} state={compared > 0 ? 'good' : 'plain'}>
        {compared > 0 ? `${compared} compared by you` : 'not compared by you'}
      </Tile>
    </dl>
  );
}

function WitnessTile({ of }: { readonly of: VerdictProps['witnesses'] }) {
  const all = of.state === 'ready' ? of.value : [];
  const signed = all.filter(({ check, isNewest }) => isNewest && check?.outcome === 'ok').length;
  const words = signed === all.length ? 'signed the newest checkpoint' : 'signed the newest one';
  const isNone = all.length === 0;
  return (
    <Tile
      label="Witnesses"
      icon="person"
      value={isNone ? 'none' : `${signed} of ${all.length}`}
      state={isNone ? 'plain' : signed === all.length ? 'good' : 'warn'}
    >
      {of.state === 'ready' ? (isNone ? 'no other party signs' : words) : 'not known yet'}
    </Tile>
  );
}

async function newestVerified({ anchors }: Trusting): Promise<Newest | undefined> {
  const { checkpoints } = await ask('checkpoints.list', { limit: 2 });
  const [checkpoint, earlier] = checkpoints;
  if (!checkpoint) return undefined;
  if (earlier && firstPlaceOf(earlier.sequence) === firstPlaceOf(checkpoint.sequence)) {
    const pair = await verifyPair(earlier, checkpoint, anchors);
    return { checkpoint, proof: pair.proof, at: pair.at, pair };
  }
  const { checkpoint_id, sequence } = checkpoint;
  const { checks } = await verifyCheckpoint(
    await ask('checkpoints.get', { checkpoint_id }),
    anchors,
  );
  const steps = checkpointSteps(`checkpoint ${sequence}`, checks, anchors);
  const proof = proofOf(`Checkpoint ${sequence} is signed`, steps, { limits: CHECKPOINT_LIMITS });
  return { checkpoint, proof, at: new Date() };
}
