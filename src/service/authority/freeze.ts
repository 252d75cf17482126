/**
 * The kill switch: operators freeze a root principal, a capability or the whole service, until a
 * given time or until they lift the freeze.
 *
 * @module
 */

import {
  capabilityTarget,
  principalFreezes,
  readCapabilityTarget,
} from '../../domain/authority/freeze.ts';
import { isPrincipal } from '../../domain/authority/principal.ts';
import { failure, refuse } from '../../domain/failure.ts';
import type { Failure } from '../../protocol/failure.ts';
import {
  type Freeze,
  type FreezeRequest,
  FreezeTarget,
  type UnfreezeAnswer,
  type UnfreezeRequest,
} from '../../protocol/operator.ts';
import type { FreezeRecord } from '../../storage/port/records.ts';
import type { FreezePlace } from '../../storage/port/store.ts';
import { capabilityOf } from '../author/definition.ts';
import { absenceOf } from '../author/off.ts';
import { answered, audited, inLane } from '../caller/audited.ts';
import {
  acted,
  actorOf,
  type Caller,
  callerOf,
  holdsScope,
  type TokenCaller,
} from '../caller/caller.ts';
import { actEntry } from '../caller/entries.ts';
import { type Answer, type Ask, requestOf } from '../operations/operations.ts';
import { createPage, cursorPosition, type Listing, listAnswer } from '../operations/page.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Slices } from '../pace/slices.ts';

export async function freeze(parts: ServiceParts, ask: Ask): Promise<Freeze> {
  return audited(parts, await callerOf(parts, ask), 'operator', async (caller) => {
    refuse(notOperator(caller, 'freeze'));
    const request = requestOf('operator.freeze', ask);
    const now = parts.store.now();
    refuse(unusableTarget(parts, request, now));
    const record: FreezeRecord = {
      what: request.what,
      target: targetOf(request),
      reason: request.reason,
      frozen_by: caller.principal,
      frozen_at: now,
      until: request.until ? new Date(request.until) : undefined,
    };
    const entry = operatorEntry(parts, caller, 'freeze', request);
    acted(await parts.store.freeze(record, entry, actorOf(caller)));
    return freezeView(record);
  });
}

export async function unfreeze(parts: ServiceParts, ask: Ask): Promise<UnfreezeAnswer> {
  return audited(parts, await callerOf(parts, ask), 'operator', async (caller) => {
    refuse(notOperator(caller, 'unfreeze'));
    const request = requestOf('operator.unfreeze', ask);
    const target = { what: request.what, target: targetOf(request) };
    const entry = operatorEntry(parts, caller, 'unfreeze', request);
    return { lifted: acted(await parts.store.unfreeze(target, entry, actorOf(caller))) };
  });
}

/** A list without pages for operators. The operation has the same name as the list. */
export async function operatorList<Kept, Item extends object>(
  parts: ServiceParts,
  ask: Ask,
  listing: Listing<Kept, Item>,
): Promise<Answer> {
  return answered(parts, await callerOf(parts, ask), async (caller) => {
    refuse(notOperator(caller, listing.name));
    return inLane(parts, caller, ask, (slices) => listAnswer(slices, listing));
  });
}

/** Freezes in one read. Verifying the MAC of each takes about 30 microseconds. */
const READ_MAX = 32;

/** Reads for one answer. A longer list continues on the next page. */
const READS_MAX = 64;

export async function frozen(parts: ServiceParts, ask: Ask): Promise<Answer> {
  return answered(parts, await callerOf(parts, ask), async (caller) => {
    refuse(notOperator(caller, 'frozen'));
    const { limit, cursor } = requestOf('operator.frozen', ask);
    const after = cursorPosition(cursor, readCursor);
    return inLane(parts, caller, ask, (slices) => readPage(parts, slices, limit, after));
  });
}

async function readPage(
  { store }: ServiceParts,
  slices: Slices,
  limit: number,
  after: FreezePlace | undefined,
): Promise<Answer> {
  const page = createPage<Freeze>('frozen', limit);
  let position = after;
  let isFull = false;
  for (let reads = 0; reads < READS_MAX; reads++) {
    await slices.turn();
    const found = await store.listFreezes(READ_MAX, position);
    await slices.each(found.freezes, (record) => {
      isFull = !page.add(freezeView(record));
      if (!isFull) position = record;
      return !isFull;
    });
    if (isFull) break;
    position = found.next;
    if (position === undefined) break;
  }
  return page.answer({ next_cursor: position ? cursorOf(position) : null });
}

/** Operators hold `operator:*` or the scope of the one operation. */
export function notOperator(caller: Caller, verb: string): Failure | undefined {
  if (holdsScope(caller, `operator:${verb}`)) return undefined;
  const detail = `Cannot ${verb}: ${caller.principal} lacks scope "operator:${verb}"`;
  return failure('scope_insufficient', detail, { requires: [`operator:${verb}`] });
}

/** The failure when the service or the root principal is frozen. */
export async function frozenFor(
  parts: ServiceParts,
  rootPrincipal: string,
): Promise<Failure | undefined> {
  const [found] = await parts.store.freezesUnder(principalFreezes(rootPrincipal));
  return found && frozenFailure(found);
}

/**
 * The last rule before the store admits a call, or approvers are asked about it. It is none of the checks: a frozen call still
 * gets its stored answer, and a dry run says what else it found.
 */
export function frozenCall({ loaded }: TokenCaller): Failure | undefined {
  const [freeze] = loaded.freezes;
  return freeze && frozenFailure(freeze);
}

export function frozenFailure({ what, target, reason, until }: FreezeRecord): Failure {
  const detail = `Cannot proceed: ${nameOf(what, target)}: ${reason}`;
  return failure('frozen', detail, until ? { estimated_availability: until.toISOString() } : {});
}

function nameOf(what: FreezeRecord['what'], target: string): string {
  if (what === 'service') return 'the service is frozen';
  if (what === 'root_principal') return `root_principal "${target}" is frozen`;
  const { capability, root_principal } = readCapabilityTarget(target);
  const forWhom = root_principal === undefined ? '' : ` for "${root_principal}"`;
  return `capability "${capability}" is frozen${forWhom}`;
}

function targetOf({ target = '', root_principal }: UnfreezeRequest): string {
  return capabilityTarget(target, root_principal);
}

/**
 * The entry of an operator. It carries the id of the invocation, so that both are found together.
 */
export function operatorEntry(
  parts: ServiceParts,
  caller: Caller,
  verb: string,
  facts: Readonly<Record<string, unknown>> & { readonly invocation_id?: string | undefined },
) {
  return actEntry(parts, caller, {
    entry_type: 'operator',
    invocation_id: facts.invocation_id,
    token_id: actorOf(caller),
    detail: { verb, ...presentFields(facts) },
  });
}

/** Leaves out absent fields: canonical JSON has no form for `undefined`. */
function presentFields(facts: object): object {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

function unusableTarget(
  parts: ServiceParts,
  request: FreezeRequest,
  now: Date,
): Failure | undefined {
  const { what, target = '', root_principal, until } = request;
  if (what === 'capability' && !capabilityOf(parts.definition, target)) {
    const detail = `Cannot freeze "${target}": ${absenceOf(parts.definition, target)}`;
    return failure('unknown_capability', detail);
  }
  const principal = what === 'root_principal' ? target : root_principal;
  if (principal !== undefined && !isPrincipal(principal)) {
    return failure('invalid_parameters', `Cannot freeze "${principal}": expected a principal`);
  }
  if (until !== undefined && new Date(until) <= now) {
    return failure('invalid_parameters', `Cannot freeze until ${until}: that is past`);
  }
  return undefined;
}

function freezeView(record: FreezeRecord): Freeze {
  const { what, target, reason, frozen_by, frozen_at, until } = record;
  const { capability, root_principal = null } =
    what === 'capability' ? readCapabilityTarget(target) : { capability: target };
  return {
    what,
    target: capability === '' ? null : capability,
    root_principal,
    reason,
    frozen_by,
    frozen_at: frozen_at.toISOString(),
    until: until?.toISOString() ?? null,
  };
}

function cursorOf({ frozen_at, what, target }: FreezePlace): string {
  return `${frozen_at.getTime()}-${what}-${Buffer.from(target).toString('base64url')}`;
}

/** Accepts only a cursor that `cursorOf` makes. A store rejects text with NUL. */
function readCursor(cursor: string): FreezePlace | undefined {
  const [, time, kind, text = ''] = /^(\d{1,15})-([a-z_]+)-([\w-]*)$/.exec(cursor) ?? [];
  const what = FreezeTarget.options.find((name) => name === kind);
  const target = Buffer.from(text, 'base64url').toString();
  if (time === undefined || what === undefined || target.includes('\0')) return undefined;
  const position = { frozen_at: new Date(Number(time)), what, target };
  return cursorOf(position) === cursor ? position : undefined;
}
