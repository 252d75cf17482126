/**
 * Stopping all agents of a person: each root is ended by itself, and the page says which could not be.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import type { Agent } from '../../../protocol/console/views.ts';
import { ask } from '../../api.ts';
import { now } from '../../live.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Failed, Loading, useLoaded, whyOf } from '../../parts/loaded.tsx';
import type { Done } from '../outcome.tsx';
import { Consequences, Finality } from './end.tsx';
import { counted, isLiving } from './words.ts';

/** Root agents in one question while all are ended. */
const PAGE = 100;

interface StopDialogOf {
  readonly open: boolean;
  readonly root: string | undefined;
  /** Living root agents that the page shows. */
  readonly agents: readonly Agent[];
  /** Whether there are more than the page shows. */
  readonly hasMore: boolean;
  onClose(): void;
  onStopped(done: Done): void;
}

export function StopDialog({ open, root, agents, hasMore, onClose, onStopped }: StopDialogOf) {
  const progress = useSignal('');
  const stop = async () => {
    const stopped = await stopAll(root, (ended) => {
      progress.value = `${counted(ended, 'agent')} ended so far`;
    });
    progress.value = '';
    onStopped(doneOf(stopped));
  };
  return (
    <Confirm
      open={open}
      onClose={onClose}
      title="Stop all agents?"
      back="Keep them"
      confirm="End all of them"
      danger
      onConfirm={stop}
    >
      <Finality />
      {open ? <AllThatEnds agents={agents} hasMore={hasMore} /> : null}
      <p role="status" class="small">
        {progress.value}
      </p>
    </Confirm>
  );
}

function AllThatEnds({ agents, hasMore }: Pick<StopDialogOf, 'agents' | 'hasMore'>) {
  const ids = agents.map(({ token_id }) => token_id);
  const loaded = useLoaded(() => endingsOf(ids), [ids.join()]);
  if (loaded.state === 'loading') return <Loading what="what ends" />;
  if (loaded.state === 'failed') {
    return <Failed what="What ends" why={loaded.why} again={loaded.again} />;
  }
  return (
    <>
      <Consequences of={loaded.value} />
      {hasMore ? (
        <p>
          These are the {counted(agents.length, 'agent')} of this page. The agents of the other
          pages end too.
        </p>
      ) : null}
    </>
  );
}

/** One after the other: each answer counts a tree. */
async function endingsOf(ids: readonly string[]) {
  const endings = [];
  for (const token_id of ids) endings.push(await ask('agents.ends', { token_id }));
  return endings;
}

interface Stopped {
  readonly ended: number;
  readonly failures: readonly string[];
}

/** Goes on after a refusal: one agent that cannot be ended does not protect the others. */
async function stopAll(
  root: string | undefined,
  onEnded: (ended: number) => void,
): Promise<Stopped> {
  let ended = 0;
  const failures: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask('agents', { limit: PAGE, cursor, root_principal: root });
    for (const agent of page.agents.filter((each) => isLiving(each, now.peek()))) {
      try {
        await ask('tokens.revoke', { token_id: agent.token_id });
        onEnded(++ended);
      } catch (error) {
        failures.push(`${agent.subject}: ${whyOf(error)}`);
      }
    }
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return { ended, failures };
}

function doneOf({ ended, failures }: Stopped): Done {
  const words = `${counted(ended, 'agent')} and everything below ended.`;
  if (failures.length === 0) return { words };
  const kept = `${counted(failures.length, 'agent')} could not be ended: ${failures.join('; ')}`;
  return { words: `${words} ${kept}`, isPartial: true };
}
