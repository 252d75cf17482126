/**
 * Lists of approval requests in the simulated store, and what a change of a declaration makes unusable.
 *
 * @module
 */

import type {
  DeclarationRecord,
  DeclarationStore,
  StaleApprovals,
  StaleQuery,
} from '../../../src/storage/port/declaration-store.ts';
import type { ApprovalRecord, GrantRecord } from '../../../src/storage/port/records.ts';
import {
  APPROVALS_LOOKED_AT_MAX,
  type ApprovalPage,
  type ApprovalQuery,
  type AskedState,
  type AskerQuery,
  PENDING_LOOKED_AT_MAX,
  type PendingPage,
  type PendingQuery,
  type PendingSide,
  type StatesQuery,
} from '../../../src/storage/port/store.ts';
import { newerFirst, sooner, stateAt } from './approvals.ts';
import { copiesOf, copyOf } from './copy.ts';
import type { MemoryDatabase } from './database.ts';
import { textOrder, timeOrder } from './table.ts';

export function listApprovals({ requests }: MemoryDatabase, query: ApprovalQuery): ApprovalPage {
  const { now, status, capabilities, before } = query;
  const rows = Array.from(requests.values()).sort(newerFirst);
  const after = before ? rows.filter((row) => isOlder(row, before)) : rows;
  const { found, next } = pageOf(after, APPROVALS_LOOKED_AT_MAX, query.limit, (row) => {
    if (status !== undefined && stateAt(row, now) !== status) return false;
    return capabilities === undefined || capabilities.includes(row.capability);
  });
  return { requests: found.map((row) => shownAt(row, now)), next: next && ageOf(next) };
}

export function pendingApprovals(
  database: MemoryDatabase,
  query: PendingQuery,
): PendingPage<ApprovalRecord> {
  return pending(database, query, copyOf);
}

export function pendingSides(
  database: MemoryDatabase,
  query: PendingQuery,
): PendingPage<PendingSide> {
  return pending(database, query, (row) => {
    const { approval_request_id, capability, subject, root_principal } = row;
    const { requested_through, approvals_required, expires_at } = row;
    const who = { approval_request_id, capability, subject, root_principal };
    return copyOf({ ...who, requested_through, approvals_required, expires_at });
  });
}

function pending<Item>(
  { requests }: MemoryDatabase,
  { now, after, capabilities, limit }: PendingQuery,
  shown: (row: ApprovalRecord) => Item,
): PendingPage<Item> {
  const rows = Array.from(requests.values())
    .filter((row) => stateAt(row, now) === 'pending')
    .filter((row) => !after || sooner(after, row) < 0)
    .sort(sooner);
  const { found, next } = pageOf(rows, PENDING_LOOKED_AT_MAX, limit, (row) => {
    return capabilities.includes(row.capability);
  });
  const { expires_at, approval_request_id } = next ?? {};
  const place = expires_at && approval_request_id ? { expires_at, approval_request_id } : undefined;
  return { requests: found.map(shown), next: copyOf(place) };
}

/** Looks at a bounded number of rows. `next` is the last row that was looked at, where any are left. */
function pageOf<Row>(
  rows: readonly Row[],
  lookedMax: number,
  limit: number,
  matches: (row: Row) => boolean,
): { found: Row[]; next: Row | undefined } {
  const found: Row[] = [];
  let looked = 0;
  while (looked < rows.length && looked < lookedMax && found.length < limit) {
    const row = rows[looked] as Row;
    if (matches(row)) found.push(row);
    looked += 1;
  }
  return { found, next: looked < rows.length ? rows[looked - 1] : undefined };
}

export function approvalsOf({ requests }: MemoryDatabase, query: AskerQuery): ApprovalPage {
  const { now, before, limit, approved = false } = query;
  const found = askedBy(requests.values(), query)
    .filter((row) => !before || isOlder(row, before))
    .filter(({ status }) => !approved || status === 'approved')
    .slice(0, limit)
    .map((row) => shownAt(row, now));
  return { requests: found, next: found.length === limit ? copyOf(found.at(-1)) : undefined };
}

export function statesSince({ requests }: MemoryDatabase, query: StatesQuery): AskedState[] {
  return askedBy(requests.values(), query)
    .filter(({ created_at }) => created_at >= query.since)
    .slice(0, query.limit)
    .map((row) => {
      const { approval_request_id } = row;
      return { approval_request_id, status: stateAt(row, query.now) };
    });
}

/** The requests of one requester for one capability, newest first. */
function askedBy(
  rows: Iterable<ApprovalRecord>,
  { chain, capability }: Pick<AskerQuery, 'chain' | 'capability'>,
): ApprovalRecord[] {
  return Array.from(rows)
    .filter((row) => row.chain === chain && row.capability === capability)
    .sort(newerFirst);
}

type Age = Pick<ApprovalRecord, 'created_at' | 'approval_request_id'>;

function isOlder(row: Age, place: Age): boolean {
  const ids = [row.approval_request_id, place.approval_request_id] as const;
  return timeOrder(row.created_at, place.created_at, ids) < 0;
}

function ageOf({ created_at, approval_request_id }: ApprovalRecord): Age {
  return { created_at: copyOf(created_at), approval_request_id };
}

function shownAt(row: ApprovalRecord, now: Date): ApprovalRecord {
  return { ...copyOf(row), status: stateAt(row, now) };
}

export function keptDeclarations(
  { declarations }: MemoryDatabase,
  limit: number,
): DeclarationRecord[] {
  const rows = Array.from(declarations.values());
  rows.sort((one, other) => textOrder(one.capability, other.capability));
  return copiesOf(rows.slice(0, limit));
}

export function keepDeclarations(
  { declarations }: MemoryDatabase,
  ...[kept, gone]: Parameters<DeclarationStore['keepDeclarations']>
): void {
  for (const each of kept) declarations.put(each.capability, copyOf(each));
  for (const name of gone) declarations.remove(name);
}

export function staleApprovals(
  { requests, grants }: MemoryDatabase,
  { capability, fits, now, limit }: StaleQuery,
): StaleApprovals {
  const isStale = (row: ApprovalRecord | GrantRecord) => {
    if (!fits || row.contract_version !== fits.contract_version) return true;
    return (row.declaration_digest ?? fits.declaration_digest) !== fits.declaration_digest;
  };
  const looked = <Row extends ApprovalRecord | GrantRecord>(rows: Iterable<Row>) =>
    Array.from(rows)
      .filter((row) => row.capability === capability && row.expires_at > now)
      .sort((one, other) => one.expires_at.getTime() - other.expires_at.getTime())
      .slice(0, limit);
  const asked = looked(Array.from(requests.values()).filter(({ status }) => status === 'pending'));
  const given = looked(Array.from(grants.values()).filter((row) => row.uses < row.max_uses));
  return {
    requests: asked.filter(isStale).length,
    grants: given.filter(isStale).length,
    isComplete: asked.length < limit && given.length < limit,
  };
}

export function openApprovals({ requests }: MemoryDatabase, now: Date): number {
  const isOpen = ({ status, expires_at }: ApprovalRecord) =>
    status === 'pending' && expires_at > now;
  return Array.from(requests.values()).filter(isOpen).length;
}
