/**
 * Leases and heartbeats: one call at a time under an exclusive token, and only a silent process loses its calls.
 *
 * @module
 */

import type { Store } from '../../../src/storage/port/store.ts';
import { broken } from '../broken.ts';
import { type Call, callOf, closedBy, type Shadow, type Subject, type Token } from './shadow.ts';

interface Lease {
  call: Call | undefined;
  until: Date;
}

export function leases(shadow: Shadow): Subject {
  const held = new Map<string, Lease>();
  const holds = (call: Call) => exclusiveOf(call).every(({ id }) => held.get(id)?.call === call);
  const release = (call: Call) => {
    for (const { id } of exclusiveOf(call)) {
      const lease = held.get(id);
      if (lease?.call === call) lease.call = undefined;
    }
  };
  const refuseLost = (call: Call, what: string) => {
    if (!holds(call)) broken('one-fence', `operation "${call.id}" ${what} without its lease`);
  };
  return {
    store: {
      admit({ args: [{ intent, now, leaseUntil }], result }) {
        if (!result.admitted) return;
        const call = callOf(shadow, intent.operation_id);
        for (const { id } of exclusiveOf(call)) {
          const lease = held.get(id);
          if (lease?.call && lease.until > now) {
            const holder = `"${lease.call.id}" until ${lease.until.toISOString()}`;
            broken('one-fence', `"${call.id}" took the lease of token "${id}", held by ${holder}`);
          }
          held.set(id, { call, until: leaseUntil });
        }
      },
      renewLeases({ args: [id, until], result }) {
        if (!result) return;
        const call = callOf(shadow, id);
        refuseLost(call, 'renewed');
        for (const token of exclusiveOf(call)) held.set(token.id, { call, until });
      },
      settle(event) {
        const call = closedBy(shadow, event);
        if (!call) return;
        const { outcome, stillRuns } = event.args[0];
        if (outcome !== 'indeterminate') refuseLost(call, `was closed as ${outcome}`);
        if (!(stillRuns && outcome === 'indeterminate')) release(call);
      },
      releaseLeases({ args: [id] }) {
        const call = shadow.calls.get(id);
        if (call) release(call);
      },
    },
    atRest: (store) => refuseHeld(shadow, store, held),
  };
}

function exclusiveOf({ token }: Call): Token[] {
  return token.lineage.filter(({ exclusive }) => exclusive);
}

/** A handler that never ends keeps its lease while its process lives. */
async function refuseHeld(
  shadow: Shadow,
  store: Store,
  held: ReadonlyMap<string, Lease>,
): Promise<void> {
  for (const { id, exclusive } of shadow.tokens.values()) {
    if (!exclusive) continue;
    const runs = held.get(id)?.call?.runs.some(({ phase }) => phase === 'begin');
    const until = runs ? undefined : await store.busyUntil([id], store.now());
    if (until) broken('liveness', `token "${id}" is leased until ${until.toISOString()}`);
  }
}

/** Heartbeats: recovery takes only calls whose process has been silent. */
export function heartbeats(shadow: Shadow): Subject {
  const seen = new Map<string, Date>();
  const { silentMs = 0, latest = () => Number.POSITIVE_INFINITY } = shadow.options;
  const refuseLiving = ({ id, instance }: Call, silentSince: Date) => {
    const silent = latest() - silentSince.getTime();
    if (silent < silentMs) {
      broken('living', `operation "${id}" was taken after ${silent} of ${silentMs} ms of silence`);
    }
    const last = seen.get(instance);
    if (!last || last <= silentSince) return;
    const times = `${last.toISOString()}, silent means since ${silentSince.toISOString()}`;
    broken('living', `operation "${id}" was taken from a process whose last heartbeat is ${times}`);
  };
  return {
    store: {
      heartbeat({ args: [instance, now] }) {
        const last = seen.get(instance);
        if (!last || last < now) seen.set(instance, now);
      },
      abandonedIntents({ args: [silentSince], result }) {
        for (const { operation_id } of result)
          refuseLiving(callOf(shadow, operation_id), silentSince);
      },
      adoptComposition({ args: [instance, silentSince], result }) {
        if (!result) return;
        const call = callOf(shadow, result.intent.operation_id);
        refuseLiving(call, silentSince);
        call.instance = instance;
      },
      returnComposition({ args: [id, instance] }) {
        const call = shadow.calls.get(id);
        if (call?.instance === instance) call.instance = '';
      },
    },
  };
}
