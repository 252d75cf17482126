/**
 * Stopping one agent, or all agents of a person: the dialog asks whether they pause or end for good, and says what
 * each does before it happens.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { personOf } from '../../../domain/decision/values.ts';
import type { Me } from '../../../protocol/console/views.ts';
import { ask, now } from '../../api.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { Shown } from '../../parts/elements.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Failed, type Loaded, Loading, useLoaded, whyOf } from '../../parts/loaded.tsx';
import { counted } from '../counted.ts';
import { Consequence, FreezeTerms, freeze } from '../operations/freezing.tsx';
import type { Done } from '../outcome.tsx';
import { Consequences, type EndingProps, type Named } from './ends.tsx';
import { AgentName } from './node.tsx';
import { isLiving, isOwnToken, shortName } from './words.ts';

/** Root agents in one question while all are ended. */
const PAGE = 100;

export interface Stopping {
  /** One agent; or the living root agents that the page shows, where all are stopped. */
  readonly agents: readonly Named[];
  /** Undefined for one agent; whether there are more than the page shows. */
  readonly all?: { readonly hasMore: boolean };
}

interface StopDialogProps {
  /** Undefined while the dialog is closed. */
  readonly of: Stopping | undefined;
  readonly root: string;
  readonly person: Me;
  readonly isFrozen: boolean;
  onClose(): void;
  onDone(done: Done): void;
}

type How = 'pause' | 'end';

/** What the person may do with the agents of a root principal. */
export function stopRights({ principal, operates }: Me, root: string) {
  return {
    end: root === principal || operates.includes('revoke'),
    pause: operates.includes('freeze'),
  };
}

/**
 * Agents can be ended although the list of what ends does not load: a person who stops an agent must not depend on a
 * second answer.
 */
export function StopDialog({ of, root, person, isFrozen, onClose, onDone }: StopDialogProps) {
  const [chosen, choose] = useState<How>();
  const progress = useSignal('');
  const asked = idsOf(of?.agents);
  const loaded = useLoaded(() => endingsOf(of?.agents), [asked]);
  const may = stopRights(person, root);
  const mayPause = may.pause && !isFrozen;
  const how = chosen ?? (mayPause ? 'pause' : 'end');
  const isUnread = loaded.state === 'loading' || isOther(loaded, asked);
  const close = () => {
    choose(undefined);
    onClose();
  };
  const stop = async (form: FormData) => {
    const [agent] = of?.agents ?? [];
    if (how === 'pause') onDone({ words: await freeze(targetOf(root), form) });
    else if (of?.all) onDone(await endAll(root, progress));
    else if (agent) onDone(await endOne(agent));
  };
  const choice = { chosen: how, choose };
  return (
    <Confirm
      open={of !== undefined}
      onClose={close}
      title={<Title of={of} root={root} />}
      back={of?.all ? 'Keep them running' : 'Keep it running'}
      confirm={how === 'pause' ? 'Pause all agents' : of?.all ? 'End all of them' : 'End agent'}
      look={how === 'pause' ? 'no' : 'final'}
      blocked={how === 'pause' ? undefined : whyNotYet(may.end, isUnread)}
      onConfirm={stop}
    >
      <fieldset class="stack">
        <legend>How</legend>
        <Choice {...choice} how="pause" isOff={!mayPause} title="Pause">
          {pauseWords(personOf(root), { isFrozen, may: may.pause })}
        </Choice>
        <Choice {...choice} how="end" isOff={!may.end} title="End for good">
          Its authority and that of every agent below it ends. What was done stays done.{' '}
          <b class="effect final">This cannot be undone.</b>
        </Choice>
      </fieldset>
      {how === 'pause' ? (
        <>
          <Consequence what="root_principal" />
          <FreezeTerms />
        </>
      ) : (
        <WhatEnds of={loaded} isUnread={isUnread} hasMore={of?.all?.hasMore ?? false} />
      )}
      <p role="status" class="small">
        {progress.value}
      </p>
    </Confirm>
  );
}

function whyNotYet(mayEnd: boolean, isUnread: boolean): string | undefined {
  if (!mayEnd) return 'Ending agents of another person takes the scope operator:revoke.';
  return isUnread ? 'What ends is still loading.' : undefined;
}

function Title({ of, root }: { readonly of: Stopping | undefined; readonly root: string }) {
  const [agent] = of?.agents ?? [];
  return (
    <>
      <Icon name="stop" /> Stop{' '}
      {of?.all || !agent ? (
        <>
          all agents of <Shown text={personOf(root)} />
        </>
      ) : (
        <>
          {isOwnToken(agent) ? '' : 'agent '}
          <AgentName agent={agent} />
        </>
      )}
    </>
  );
}

interface ChoiceProps {
  readonly how: How;
  readonly chosen: How;
  choose(how: How): void;
  readonly isOff: boolean;
  readonly title: string;
  readonly children: ComponentChildren;
}

function Choice({ how, chosen, choose, isOff, title, children }: ChoiceProps) {
  return (
    <label class="opt box">
      <input
        type="radio"
        name="how"
        checked={how === chosen}
        disabled={isOff}
        onChange={() => choose(how)}
      />
      <span>
        <b>{title}</b>
        <br />
        <small>{children}</small>
      </span>
    </label>
  );
}

function pauseWords(whose: string, { isFrozen, may }: { isFrozen: boolean; may: boolean }): string {
  if (isFrozen) return `The agents of ${whose} are paused already.`;
  const words = `A pause is a freeze of ${whose}: every call of all agents is refused until an operator lifts it. Nothing ends.`;
  return may ? words : `${words} Only an operator can do this.`;
}

interface WhatEndsProps {
  readonly of: Loaded<readonly EndingProps[]>;
  readonly isUnread: boolean;
  readonly hasMore: boolean;
}

/** An answer about other agents, asked for earlier, is not shown. */
function WhatEnds({ of, isUnread, hasMore }: WhatEndsProps) {
  if (of.state === 'failed') return <Failed what="What ends" why={of.why} again={of.again} />;
  if (isUnread || of.state === 'loading') return <Loading what="what ends" />;
  return (
    <>
      <Consequences of={of.value} />
      {hasMore ? (
        <p>
          These are the {counted(of.value.length, 'agent')} of this page. The agents of the other
          pages end too.
        </p>
      ) : null}
    </>
  );
}

function idsOf(agents: readonly Named[] = []): string {
  return agents.map(({ token_id }) => token_id).join();
}

function isOther(loaded: Loaded<readonly EndingProps[]>, asked: string): boolean {
  return loaded.state === 'ready' && idsOf(loaded.value.map(({ agent }) => agent)) !== asked;
}

/** One after the other: each answer counts a tree. */
async function endingsOf(agents: readonly Named[] = []): Promise<EndingProps[]> {
  const endings: EndingProps[] = [];
  for (const agent of agents) {
    endings.push({ agent, ending: await ask('agents.ends', { token_id: agent.token_id }) });
  }
  return endings;
}

async function endOne(agent: Named): Promise<Done> {
  const { ended } = await ask('tokens.revoke', { token_id: agent.token_id });
  return { words: `${shortName(agent)} ended, ${counted(ended, 'token')} in all.` };
}

/** Each root is ended by itself: one that cannot be ended does not protect the others. */
async function endAll(root: string, progress: { value: string }): Promise<Done> {
  let ended = 0;
  const failures: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask('agents', { limit: PAGE, cursor, root_principal: root });
    for (const agent of page.agents.filter((each) => isLiving(each, now.peek()))) {
      try {
        await ask('tokens.revoke', { token_id: agent.token_id });
        progress.value = `${counted(++ended, 'agent')} ended so far`;
      } catch (error) {
        failures.push(`${agent.subject}: ${whyOf(error)}`);
      }
    }
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  progress.value = '';
  const words = `${counted(ended, 'agent')} and everything below ended.`;
  if (failures.length === 0) return { words };
  const kept = `${counted(failures.length, 'agent')} could not be ended: ${failures.join('; ')}`;
  return { words: `${words} ${kept}`, isPartial: true };
}

/** What a freeze of a root principal names. */
export function targetOf(root: string) {
  return { what: 'root_principal', target: root, root_principal: null } as const;
}
