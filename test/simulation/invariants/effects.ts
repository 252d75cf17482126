/**
 * Effects: each has an admitted call that is not closed, and each idempotency key has one.
 *
 * A call that recovery closed as unknown may still act, because its process was only slow: its money stays
 * charged. A call that was closed with a known outcome must never act again.
 *
 * @module
 */

import type { InvokeAnswer, InvokeRequest } from '../../../src/protocol/invocation.ts';
import { broken } from '../broken.ts';
import type { ClientEvent, EffectEvent } from '../events.ts';
import type { Call, Executed, Run, Shadow, Subject } from './shadow.ts';

export function effects(shadow: Shadow): Subject {
  const keys = createKeys(shadow);
  return {
    store: { admit: keys.claim },
    effect(event) {
      const run = shadow.runs.get(event.operation);
      if (!run)
        broken('intent-first', `"${event.operation}" ran "${event.capability}" without an intent`);
      if (event.phase === 'begin') {
        refuseUnfit(run, event);
        keys.begin(run, event);
      } else if (run.phase !== 'begin') {
        broken(
          'intent-first',
          `the handler of "${run.invocation}" ended as ${event.phase} without a begin`,
        );
      }
      if (event.phase === 'done') refuseClosed(run.call, run, event);
      run.phase = event.phase;
      run.amount = event.amount ?? run.amount;
    },
    ask: keys.asked,
    answer: keys.answered,
  };
}

function refuseUnfit(run: Run, event: EffectEvent): void {
  const { call, invocation, capability, phase } = run;
  if (phase !== undefined) broken('intent-first', `the handler of "${invocation}" began twice`);
  if (capability !== event.capability || call.token.id !== event.token) {
    const other = `"${event.capability}" under token "${event.token}"`;
    broken('intent-first', `"${invocation}" was admitted for "${capability}", and ran ${other}`);
  }
  refuseClosed(call, run, event);
}

/** A compensation may follow a call that is closed as unknown. */
function refuseClosed({ id, outcome }: Call, { invocation }: Run, { phase }: EffectEvent): void {
  if (outcome === undefined || outcome === 'indeterminate') return;
  const what = phase === 'begin' ? 'began' : 'acted';
  const free = outcome === 'no_effect' && phase === 'done';
  const invariant = free ? 'money-back' : 'intent-first';
  broken(invariant, `"${invocation}" ${what} after operation "${id}" was closed as ${outcome}`);
}

interface Keys {
  claim(event: Executed<'admit'>): void;
  begin(run: Run, event: EffectEvent): void;
  asked(event: ClientEvent): void;
  answered(event: ClientEvent): void;
}

/** One effect for each key that a client sent, whether or not the service claimed it. */
function createKeys(shadow: Shadow): Keys {
  const claimed = new Map<string, Call>();
  const begun = new Map<string, Run>();
  const succeeded = new Map<string, string>();
  /** By the reference of the client: the key that it sent. */
  const sent = new Map<string, string | undefined>();

  const nameOf = (call: Call, capability: string, key: string) =>
    `key "${key}" of ${call.token.chain} for "${capability}"`;

  return {
    claim({ args: [{ intent, idempotency, now }], result }) {
      if (!result.admitted || !idempotency) return;
      const call = shadow.calls.get(intent.operation_id) as Call;
      const name = nameOf(call, idempotency.capability, idempotency.key);
      const before = claimed.get(name);
      if (before && !isFree(before, now)) {
        broken('once-per-key', `${name} was claimed by "${before.id}" and by "${call.id}"`);
      }
      claimed.set(name, call);
    },
    asked({ operation, request }) {
      const { client_reference_id: reference, idempotency_key } = request as InvokeRequest;
      if (operation === 'invoke' && reference !== undefined) sent.set(reference, idempotency_key);
    },
    begin(run, event) {
      const { call } = run;
      const reference = referenceOf(call);
      const key = reference === undefined ? event.key : sent.get(reference);
      if (key === undefined || run.role !== 'call') return;
      const name = nameOf(call, run.capability, key);
      const before = begun.get(name);
      if (before && !isContinued(before, call) && !isFree(before.call, call.admission.now)) {
        broken('once-per-key', `${name} ran as "${before.invocation}" and as "${run.invocation}"`);
      }
      begun.set(name, run);
    },
    answered(event) {
      const body = event.answer as InvokeAnswer | undefined;
      if (event.operation !== 'invoke' || !body?.success) return;
      const { idempotency_key: key, capability } = event.request as InvokeRequest;
      const token = event.token === undefined ? undefined : shadow.tokens.get(event.token);
      const call = shadow.invocations.get(body.invocation_id);
      if (token && call && call.token.chain !== token.chain) {
        broken('chains', `${token.chain} got the answer of ${call.token.chain}`);
      }
      if (key === undefined || !call) return;
      const name = nameOf(call, capability, key);
      const before = succeeded.get(name);
      if (before !== undefined && before !== body.invocation_id && !isOld(shadow, before, call)) {
        broken(
          'once-per-key',
          `${name} was answered by "${before}" and by "${body.invocation_id}"`,
        );
      }
      succeeded.set(name, body.invocation_id);
    },
  };
}

/** The reference that the client sent with the call. */
function referenceOf({ admission: { intent } }: Call): string | undefined {
  const ids = intent.facts.ids as { client_reference_id?: string } | undefined;
  return ids?.client_reference_id;
}

/** A key is free again when its time is over and its call is closed. */
function isFree({ admission: { idempotency }, outcome }: Call, now: Date): boolean {
  return idempotency !== undefined && outcome !== undefined && idempotency.keepUntil <= now;
}

/** The first run asked for approval and did nothing; the call goes on with its grant under the same key. */
function isContinued(before: Run, { admission: { grant } }: Call): boolean {
  return before.phase === 'none' && grant !== undefined;
}

function isOld({ invocations }: Shadow, before: string, { admission: { now } }: Call): boolean {
  const call = invocations.get(before);
  return call !== undefined && isFree(call, now);
}
