/**
 * The numbers of now: each with a word that says whether it is good.
 *
 * A number that the person may not read has no tile.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { agoOf, shortTime, spanWords } from '../../../domain/values/time-words.ts';
import type { Day, Operations, OperatorRight } from '../../../protocol/console/views.ts';
import { now } from '../../api.ts';
import { Tile } from '../../parts/panels.tsx';
import { type Answers, lastOf } from './answers.ts';
import { frozenCount } from './freezes.tsx';

interface GlanceProps {
  readonly of: Answers;
  may(right: OperatorRight): boolean;
}

export function Glance({ of: answers, may }: GlanceProps) {
  const state = lastOf(answers.state);
  return (
    <section aria-labelledby="h-glance">
      <div class="head">
        <h2 id="h-glance">At a glance</h2>{' '}
        {state ? <small>checked {shortTime(state.now, now.value)}</small> : null}
      </div>
      <dl class="tiles">
        {may('audit') ? <Today of={lastOf(answers.days)?.days.at(-1)} /> : null}
        {may('indeterminate') ? <Unknown of={answers} /> : null}
        {may('frozen') ? <Frozen count={frozenCount(answers)} /> : null}
        {may('read') ? <OfLog of={state?.log} /> : null}
        {may('read') ? <Up of={state} /> : null}
        {may('deliveries') ? <Notifications of={answers} /> : null}
      </dl>
    </section>
  );
}

interface NumberProps extends Omit<Parameters<typeof Tile>[0], 'value'> {
  /** Undefined until it is known. */
  readonly value: ComponentChildren | undefined;
}

/** A number that keeps its room while it loads. */
function Numbered({ value, state, children, ...of }: NumberProps) {
  if (value !== undefined) {
    return (
      <Tile {...of} value={value} state={state}>
        {children}
      </Tile>
    );
  }
  return (
    <Tile {...of} value="…" state="plain">
      not known yet
    </Tile>
  );
}

function Today({ of: day }: { readonly of: Day | undefined }) {
  const calls = day && day.succeeded + day.failed + day.refused;
  const share = day && calls ? `${((100 * day.refused) / calls).toFixed(1)} %` : '0 %';
  return (
    <>
      <Numbered label="Calls today" icon="pulse" value={calls?.toLocaleString('en')} state="plain">
        {day?.succeeded} done, {day?.failed} failed
      </Numbered>
      <Numbered label="Refused" icon="cross" value={day && share} state="plain">
        {day?.refused} of {calls} today
      </Numbered>
    </>
  );
}

function Unknown({ of: { unknown } }: { readonly of: Answers }) {
  const calls = lastOf(unknown)?.indeterminate;
  const oldest = calls?.map(({ admitted_at }) => admitted_at).sort()[0];
  return (
    <Numbered
      label="Unknown outcome"
      icon="irreversible"
      value={calls?.length}
      state={oldest === undefined ? 'good' : 'bad'}
    >
      {oldest === undefined
        ? 'every call has its outcome'
        : `since ${shortTime(oldest, now.value)}`}
    </Numbered>
  );
}

function Frozen({ count }: { readonly count: string | undefined }) {
  return (
    <Numbered label="Frozen" icon="stop" value={count} state={count === '0' ? 'good' : 'plain'}>
      {count === '0' ? 'nothing is refused by a freeze' : 'until they are lifted or end'}
    </Numbered>
  );
}

type Log = Operations['log'];

function OfLog({ of: log }: { readonly of: Log | undefined }) {
  const waiting = log?.waiting ?? 0;
  const sealing = log && sealingOf(log);
  return (
    <>
      <Numbered
        label="Entries"
        icon="file"
        value={log?.entries.toLocaleString('en')}
        state={waiting === 0 ? 'good' : 'plain'}
      >
        {waiting === 0
          ? 'all have their place in the log'
          : `${waiting.toLocaleString('en')} wait for their place`}
      </Numbered>
      <Numbered
        label="Log sealed"
        icon="chain"
        value={sealing?.value}
        state={sealing?.state ?? 'plain'}
      >
        {sealing?.words}
      </Numbered>
    </>
  );
}

function sealingOf({ checkpoint, witnesses, refused, is_anchored }: Log) {
  const value = checkpoint ? agoOf(Date.parse(checkpoint.created_at), now.value) : 'never';
  if (refused !== null) return { value, state: 'bad', words: 'sealing is refused' } as const;
  if (!is_anchored) return { value, state: 'plain', words: 'this service seals nothing' } as const;
  if (!checkpoint) return { value, state: 'plain', words: 'no checkpoint yet' } as const;
  const count = witnesses.length === 0 ? 'no' : witnesses.length;
  const by = `${count} ${witnesses.length === 1 ? 'witness' : 'witnesses'}`;
  return { value, state: 'good', words: `checkpoint ${checkpoint.sequence}, ${by}` } as const;
}

function Up({ of: state }: { readonly of: Operations | undefined }) {
  const isReady = state?.unready.length === 0;
  return (
    <Numbered
      label="Running for"
      icon="clock"
      value={state && spanWords(now.value - Date.parse(state.started_at))}
      state={isReady ? 'good' : 'bad'}
    >
      {isReady ? 'takes calls' : 'takes no calls'}, {state?.store}
    </Numbered>
  );
}

function Notifications({ of: { deliveries } }: { readonly of: Answers }) {
  const all = lastOf(deliveries)?.deliveries;
  const count = (wanted: string) => all?.filter(({ state }) => state === wanted).length ?? 0;
  const [failed, waits] = [count('failed'), count('pending')];
  return (
    <Numbered
      label="Notifications"
      icon="mail"
      value={all && (all.length === 0 ? 'none' : `${count('delivered')} of ${all.length}`)}
      state={failed > 0 ? 'bad' : waits > 0 || all?.length === 0 ? 'plain' : 'good'}
    >
      {failed > 0 ? `${failed} failed, ` : ''}
      {waits > 0 ? `${waits} wait, ` : ''}
      {all?.length === 0 ? 'none was sent' : 'delivered'}
    </Numbered>
  );
}
