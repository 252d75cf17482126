/**
 * How an operator ends the state in which a log is withheld (`withheld.ts`).
 *
 * When signed entries are lost, the surviving entries and their signatures stay. Everything that
 * was promised before is void. A new log begins, and its first entry names the lost and the
 * surviving head. When only the mark is lost, the last checkpoint of the store replaces it.
 *
 * Each step can be repeated, and the log stays withheld until the last one. So the next run
 * completes an interrupted run. Services may run meanwhile: a new log begins only on the head for
 * which everything was found void, and services notice it at their next comparison.
 *
 * @module
 */

import { rootText } from '../../domain/log/checkpoint.ts';
import { foldPeaks } from '../../domain/log/merkle.ts';
import {
  type BreakDetail,
  nextPlaceAfter,
  ORIGIN_SPAN,
  ORIGINS_MAX,
  successorOf,
} from '../../domain/log/origin.ts';
import type { Platform } from '../../platform.ts';
import type { MarkStore } from '../../storage/port/mark.ts';
import type { ApprovalRecord } from '../../storage/port/records.ts';
import {
  type ApprovalPlace,
  type Store,
  StoreUnavailable,
  type TreeHead,
} from '../../storage/port/store.ts';
import { actEntry } from '../caller/entries.ts';
import {
  type ComparedLog,
  compareLog,
  currentOrigin,
  type LostHead,
  lostHead,
  SealingRefused,
  seenElsewhere,
  signedElsewhere,
} from './compare-log.ts';

/** Rows in one read or write of the store. */
const PAGE = 500;

/** Attempts to begin the new log. Services that have not noticed yet may append between them. */
const BEGIN_TRIES = 20;

export interface RecoverOptions extends ComparedLog {
  readonly platform: Platform;
  /** The store without MAC checks, because requests whose row does not match are voided too. */
  readonly unchecked: Pick<Store, 'listApprovals'>;
  readonly operator: string;
  /** The second operator, where the configuration has more than one. */
  readonly confirmedBy?: string | undefined;
}

export interface Recovery {
  readonly logId: string;
  /** Entries in the log that ended. */
  readonly surviving: number;
  readonly lost: LostHead;
  /** Root tokens that this run revoked and requests that it denied. */
  readonly voided: number;
}

/** Rejects, and changes nothing, when the log extends what was signed. */
export async function acceptLoss(parts: RecoverOptions): Promise<Recovery> {
  const { store, mark } = parts;
  const found = await refusalOf(parts);
  if (found?.kind !== 'rollback') {
    throw new Error(found?.message ?? 'the log extends what was signed: nothing is lost');
  }
  const ended = await currentOrigin(store);
  // Logs of a deleted store that our keys signed at this place.
  const deleted = await signedElsewhere(parts, ended);
  const [highest] = deleted;
  const signed = highest?.signed.sequence ?? 0;
  if (nextPlaceAfter(ended.first, signed) / ORIGIN_SPAN >= ORIGINS_MAX) {
    throw new Error(`the store has had ${ORIGINS_MAX} logs; start with a new store`);
  }
  // Marked as ended first, so that a copy of the store that appears later is never signed.
  const logId = mark ? await endLog(mark, ended.logId) : successorOf(ended.logId);
  for (const log of deleted) await endDeleted(mark, log.logId, logId);
  const lost = found.lost ?? (highest ? lostHead(highest.signed) : {});
  let voided = 0;
  for (let tries = 1; tries <= BEGIN_TRIES; tries++) {
    const head = await store.sequence();
    if (head.first !== ended.first) throw new Error('another run has begun the next log meanwhile');
    const changed = await voidAuthority(parts);
    voided += changed;
    if (changed > 0) continue;
    const detail = breakDetail(parts, { logId, endedLogId: ended.logId, lost, head });
    await mark?.setStatus(logId, 'accepted');
    if (await store.beginOrigin(head, logId, operatorEntry(parts, detail), signed)) {
      return { logId, surviving: head.size, lost, voided };
    }
  }
  throw new StoreUnavailable('services keep appending to the log; stop them and try again');
}

/**
 * Marks the log as ended and returns the id of the log after it. Every run gets the same id, so an
 * interrupted run can be completed and two copies of the store never get two successors. Rejects
 * when the successor was signed or is unknown, because its numbers would be signed twice.
 */
async function endLog(mark: MarkStore, endedId: string): Promise<string> {
  const known = await mark.successor(endedId);
  const isOver =
    known === undefined
      ? (await mark.status(endedId)) === 'ended'
      : (await mark.read(known)) !== undefined || (await mark.status(known)) === 'ended';
  if (isOver) throw new Error(`this is a copy of a log that an operator ended; ${COPY_ADVICE}`);
  return mark.end(endedId, known ?? successorOf(endedId));
}

/** Ends the log of a deleted store, and the logs after it that may not be signed yet. */
async function endDeleted(
  mark: MarkStore | undefined,
  lostId: string,
  logId: string,
): Promise<void> {
  let id = lostId;
  for (let ended = 0; mark && id !== logId && ended < ORIGINS_MAX; ended++) {
    id = await mark.end(id, logId);
  }
}

const COPY_ADVICE =
  'the store of its successor must be brought back, or a new store must be started';

/** Rejects, and changes nothing, when the mark exists or is not needed. */
export async function acceptMissingMark(parts: RecoverOptions): Promise<{ logId: string }> {
  const { store, mark } = parts;
  const found = await refusalOf(parts);
  if (!mark || found?.kind !== 'missing') {
    throw new Error(found?.message ?? 'the log has its mark, or needs none');
  }
  const { logId, first } = await currentOrigin(store);
  const last = await store.lastCheckpoint();
  const own = last && last.sequence > first ? last : undefined;
  const { size } = await store.sequence();
  const facts = { checkpoint: own?.sequence ?? null, entry_count: size };
  const detail = { verb: 'recover', accepted: 'missing_mark', ...facts, ...confirmation(parts) };
  await store.append([operatorEntry(parts, detail)]);
  if (!own) await mark.setStatus(logId, 'accepted');
  else if (!(await mark.advance(logId, undefined, own))) {
    throw new Error('another process has written a mark meanwhile');
  }
  return { logId };
}

async function refusalOf(parts: RecoverOptions): Promise<SealingRefused | undefined> {
  try {
    const compared = await compareLog(parts);
    if (compared) await seenElsewhere(parts, compared);
    return undefined;
  } catch (error) {
    if (error instanceof SealingRefused) return error;
    throw error;
  }
}

interface Break {
  readonly logId: string;
  readonly endedLogId: string;
  readonly lost: LostHead;
  readonly head: TreeHead;
}

function breakDetail(parts: RecoverOptions, { logId, endedLogId, lost, head }: Break): BreakDetail {
  return {
    verb: 'recover',
    accepted: 'loss',
    log_id: logId,
    ended_log_id: endedLogId,
    lost,
    surviving: { entry_count: head.size, merkle_root: rootText(foldPeaks(head.peaks)) },
    ...confirmation(parts),
  };
}

function confirmation({ confirmedBy }: RecoverOptions): object {
  return confirmedBy === undefined ? {} : { confirmed_by: confirmedBy };
}

function operatorEntry(parts: RecoverOptions, detail: object) {
  const { operator } = parts;
  const caller = { principal: operator, root_principal: operator };
  return actEntry(parts, caller, { entry_type: 'operator', detail: { ...detail } });
}

/**
 * Voids everything that is alive: root tokens with their descendants, pending requests, grants,
 * bindings, keys. Services close open calls once they append again. Returns the number of entries
 * written.
 */
async function voidAuthority(parts: RecoverOptions): Promise<number> {
  const revoked = await revokeRoots(parts);
  const denied = await denyPending(parts);
  const expired = await expirePending(parts);
  await parts.store.voidPromises();
  return revoked + denied + expired;
}

async function revokeRoots(parts: RecoverOptions): Promise<number> {
  let count = 0;
  for (let after = ''; ; ) {
    const ids = await parts.store.unrevokedRoots(after, PAGE);
    for (const token_id of ids) await revokeRoot(parts, token_id);
    count += ids.length;
    after = ids.at(-1) ?? after;
    if (ids.length < PAGE) return count;
  }
}

/** Tokens are voided only by this revocation. */
async function revokeRoot(parts: RecoverOptions, token_id: string): Promise<void> {
  const { store, operator } = parts;
  const { token } = (await store.describeToken(token_id, 0)) ?? {};
  const owner = token?.root_principal ?? operator;
  const caller = { principal: operator, root_principal: owner };
  await store.revokeToken(token_id, store.now(), (was_alive) => {
    const detail = { was_alive, reason: REASON, ...(token && { subject: token.subject }) };
    return actEntry(parts, caller, { entry_type: 'revocation', token_id, detail });
  });
}

const REASON = 'an operator accepted the loss of later entries';

async function denyPending(parts: RecoverOptions): Promise<number> {
  const { store, unchecked } = parts;
  let count = 0;
  for (let before: ApprovalPlace | undefined; ; ) {
    const query = { now: store.now(), status: 'pending', limit: PAGE, before } as const;
    const { requests, next } = await unchecked.listApprovals(query);
    for (const request of requests) count += await deny(parts, request);
    if (next === undefined) return count;
    before = next;
  }
}

/**
 * Expires the remaining pending requests. Their expiry is past or was edited, so they could not be
 * denied.
 */
async function expirePending(parts: RecoverOptions): Promise<number> {
  const { store, operator } = parts;
  const caller = { principal: operator, root_principal: operator };
  let count = 0;
  for (;;) {
    const ended = await store.expireApprovals(END_OF_TIME, PAGE, (request) => ({
      entry: actEntry(parts, caller, {
        entry_type: 'approval_decision',
        capability: request.capability,
        approval_request_id: request.approval_request_id,
        parameters_digest: request.parameters_digest,
        detail: { decision: 'expired', reason: REASON },
      }),
      deliveries: [],
    }));
    count += ended.length;
    if (ended.length < PAGE) return count;
  }
}

/** Later than every expiry. */
const END_OF_TIME = new Date('9999-12-31T00:00:00Z');

async function deny(parts: RecoverOptions, request: ApprovalRecord): Promise<number> {
  const { store, operator } = parts;
  const { approval_request_id, capability, parameters_digest } = request;
  const caller = { principal: operator, root_principal: operator };
  const entry = actEntry(parts, caller, {
    entry_type: 'approval_decision',
    capability,
    approval_request_id,
    parameters_digest,
    detail: { decision: 'denied', reason: REASON },
  });
  const outcome = await store.deny({
    approval_request_id,
    decided_by: operator,
    reason: REASON,
    now: store.now(),
    entry,
    deliveries: [],
  });
  return outcome === 'denied' ? 1 : 0;
}
