/**
 * Calls in the simulated store: what the rules of one call need, and which calls are open, lost or limited.
 *
 * @module
 */

import type {
  InvocationStore,
  Loaded,
  LoadRequest,
  PermitRequest,
  Permits,
} from '../../../src/storage/port/invocation-store.ts';
import type {
  IdempotencyRecord,
  IntentRecord,
  TokenRecord,
} from '../../../src/storage/port/records.ts';
import { freezesFor } from './admission.ts';
import { copiesOf, copyOf } from './copy.ts';
import type { CallRow, MemoryDatabase } from './database.ts';
import { olderFirst, unknownCalls } from './settlement.ts';
import { keyText } from './table.ts';
import { lineageOf, linkOf } from './tokens.ts';

export function load(database: MemoryDatabase, now: Date, request: LoadRequest): Loaded {
  const { tokenId, capability, grantId, bindingIds = [], idempotency } = request;
  const lineage = lineageOf(database, tokenId);
  const token = lineage.at(-1)?.token;
  return {
    token,
    lineage: lineage.map(linkOf),
    freezes: copiesOf(freezesFor(database, capability, token?.root_principal)),
    grant: grantId === undefined ? undefined : copyOf(database.grants.get(grantId)),
    bindings: bindingIds.flatMap((id) => copyOf(database.bindings.get(id)) ?? []),
    idempotency: token && idempotency && keyOf(database, token, idempotency, now),
  };
}

/** A key that the next admission may claim belongs to no call any more. */
function keyOf(
  { keys, calls }: MemoryDatabase,
  { chain }: TokenRecord,
  { capability, key }: { readonly capability: string; readonly key: string },
  now: Date,
): IdempotencyRecord | undefined {
  const row = keys.get(keyText(chain, capability, key));
  if (!row) return undefined;
  const isOpen = calls.get(row.record.operation_id)?.closed === undefined;
  return row.keepUntil > now || isOpen ? copyOf(row.record) : undefined;
}

export function heartbeat(
  { instances }: MemoryDatabase,
  ...[instanceId, now]: Parameters<InvocationStore['heartbeat']>
): void {
  const before = instances.get(instanceId);
  if (!before || before < now) instances.put(instanceId, copyOf(now));
}

/** Whether a process sent no heartbeat after this time. */
export function isSilent({ instances }: MemoryDatabase, instanceId: string, since: Date): boolean {
  const seen = instances.get(instanceId);
  return seen === undefined || seen <= since;
}

export function abandonedIntents(
  database: MemoryDatabase,
  ...[silentSince, limit]: Parameters<InvocationStore['abandonedIntents']>
): IntentRecord[] {
  return openCalls(database)
    .filter(({ composed }) => composed === undefined)
    .filter(({ intent }) => isSilent(database, intent.instance_id, silentSince))
    .slice(0, limit)
    .map(intentOf);
}

export function openIntents(
  database: MemoryDatabase,
  ...[rootPrincipal, limit]: Parameters<InvocationStore['openIntents']>
): IntentRecord[] {
  return openCalls(database)
    .filter(({ intent }) => intent.root_principal === rootPrincipal)
    .slice(0, limit)
    .map(intentOf);
}

export function indeterminate(
  database: MemoryDatabase,
  ...[limit, after]: Parameters<InvocationStore['indeterminate']>
): IntentRecord[] {
  const place = after === undefined ? undefined : database.calls.get(after);
  if (after !== undefined && !place) return [];
  return unknownCalls(database)
    .filter((call) => !place || olderFirst(place, call) < 0)
    .slice(0, limit)
    .map(intentOf);
}

function openCalls({ calls }: MemoryDatabase): CallRow[] {
  return Array.from(calls.values())
    .filter(({ closed }) => closed === undefined)
    .sort(olderFirst);
}

function intentOf({ intent }: CallRow): IntentRecord {
  return copyOf(intent);
}

export function forgetKeys(
  { keys, calls }: MemoryDatabase,
  ...[now, limit]: Parameters<InvocationStore['forgetKeys']>
): number {
  const expired = Array.from(keys.values())
    .filter(({ keepUntil }) => keepUntil <= now)
    .filter(({ record }) => calls.get(record.operation_id)?.closed !== undefined)
    .sort((one, other) => one.keepUntil.getTime() - other.keepUntil.getTime())
    .slice(0, limit);
  for (const { record } of expired) {
    keys.remove(keyText(record.chain, record.capability, record.key));
  }
  return expired.length;
}

export function takePermits(
  { permits }: MemoryDatabase,
  { key, windowStart, limit, slice }: PermitRequest,
): Permits {
  const row = permits.get(key);
  if (row && row.windowStart > windowStart) return { granted: 0, left: 0 };
  const isSame = row?.windowStart.getTime() === windowStart.getTime();
  const taken = row && isSame ? row.taken : 0;
  const rest = Math.max(0, limit - taken);
  const granted = Math.min(slice, rest);
  permits.put(key, { windowStart: copyOf(windowStart), taken: taken + granted });
  return { granted, left: rest - granted };
}
