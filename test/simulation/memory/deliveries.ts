/**
 * Notifications in the simulated store: which are due, which process sends them, and the result.
 *
 * @module
 */

import type { DeliveryRecord } from '../../../src/storage/port/records.ts';
import type { ApprovalStore, DeliveryResult } from '../../../src/storage/port/store.ts';
import { copyOf } from './copy.ts';
import type { DeliveryRow, MemoryDatabase } from './database.ts';

export function insertDeliveries(
  { deliveries }: MemoryDatabase,
  added: readonly DeliveryRecord[],
): void {
  for (const delivery of added) {
    // No delivery is ever deleted, so the number of rows is the next place.
    deliveries.insert(delivery.delivery_id, {
      delivery: copyOf(delivery),
      place: deliveries.size,
    });
  }
}

export function takeDeliveries(
  { deliveries }: MemoryDatabase,
  ...[now, leaseUntil, limit, except = []]: Parameters<ApprovalStore['takeDeliveries']>
): DeliveryRecord[] {
  const due = Array.from(deliveries.values())
    .filter(({ delivery }) => delivery.state === 'pending' && !except.includes(delivery.target))
    .filter(({ delivery }) => dueTime(delivery) <= now.getTime())
    .filter(({ leasedUntil }) => leasedUntil === undefined || leasedUntil <= now)
    .sort((one, other) => longerDue(one, other))
    .slice(0, limit);
  for (const row of due) {
    const leasedUntil = copyOf(leaseUntil);
    deliveries.put(row.delivery.delivery_id, { ...row, leasedUntil });
  }
  return due.map(({ delivery }) => copyOf(delivery));
}

function dueTime({ next_attempt_at }: DeliveryRecord): number {
  return next_attempt_at?.getTime() ?? Number.MIN_SAFE_INTEGER;
}

function longerDue(one: DeliveryRow, other: DeliveryRow): number {
  return dueTime(one.delivery) - dueTime(other.delivery) || one.place - other.place;
}

/** A notification that was delivered or given up has ended: a late report changes nothing. */
export function finishDelivery({ deliveries }: MemoryDatabase, result: DeliveryResult): void {
  const row = deliveries.get(result.delivery_id);
  if (row?.delivery.state !== 'pending') return;
  const delivery: DeliveryRecord = {
    ...row.delivery,
    state: result.state,
    attempts: row.delivery.attempts + 1,
    last_error: result.error,
    next_attempt_at: copyOf(result.nextAttempt),
    delivered_at: result.state === 'delivered' ? copyOf(result.now) : undefined,
  };
  deliveries.put(result.delivery_id, { delivery, place: row.place });
}

export function listDeliveries(
  { deliveries }: MemoryDatabase,
  ...[limit, before]: Parameters<ApprovalStore['listDeliveries']>
): DeliveryRecord[] {
  const end = before === undefined ? undefined : deliveries.get(before)?.place;
  return Array.from(deliveries.values())
    .filter(({ place }) => end === undefined || place < end)
    .sort((one, other) => other.place - one.place)
    .slice(0, limit)
    .map(({ delivery }) => copyOf(delivery));
}
