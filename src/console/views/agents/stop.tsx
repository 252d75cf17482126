/**
 * Stopping all agents of a person: each root is ended by itself, and the page says which could not be.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import type { Agent } from '../../../protocol/console/views.ts';
import { ask, now } from '../../api.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Ready, useLoaded, whyOf } from '../../parts/loaded.tsx';
import { counted } from '../counted.ts';
import type { Done } from '../outcome.tsx';
import { Consequences, type EndingProps, Finality } from './end.tsx';
import { isLiving } from './words.ts';

/** Root agents in one question while all are ended. */
const PAGE = 100;

interface StopDialogProps {
  readonly open: boolean;
  readonly root: string | undefined;
  /** Living root agents that the page shows. */
  readonly agents: readonly Agent[];
  /** Whether there are more than the page shows. */
  readonly hasMore: boolean;
  onClose(): void;
  onStopped(done: Done): void;
}

export function StopDialog({ open, root, agents, hasMore, onClose, onStopped }: StopDialogProps) {
  const progress = useSignal('');
  const asked = open ? agents.map(({ token_id }) => token_id).join() : '';
  const loaded = useLoaded(() => endingsOf(open ? agents : []), [asked]);
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
      look="final"
      blocked={loaded.state === 'loading' ? 'What ends is still loading.' : undefined}
      onConfirm={stop}
    >
      <Finality />
      <Ready of={loaded} what="What ends">
        {(endings) => <Consequences of={endings} />}
      </Ready>
      {hasMore ? (
        <p>
          These are the {counted(agents.length, 'agent')} of this page. The agents of the other
          pages end too.
        </p>
      ) : null}
      <p role="status" class="small">
        {progress.value}
      </p>
    </Confirm>
  );
}

/** One after the other: each answer counts a tree. */
async function endingsOf(agents: readonly Agent[]): Promise<EndingProps[]> {
  const endings: EndingProps[] = [];
  for (const agent of agents) {
    endings.push({ agent, ending: await ask('agents.ends', { token_id: agent.token_id }) });
  }
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
