/**
 * A model of the store in a few maps: the rules of tokens, money, grants, leases and keys, without
 * concurrency, durability or a database. It follows the port's comments as plainly as possible, because it
 * counts as right when a store differs.
 *
 * @module
 */

import { toMinor } from '../../src/domain/values/money.ts';
import type { Admission, Refused, Settlement } from '../../src/storage/port/invocation-store.ts';
import type { FreezeRecord, GrantRecord, TokenRecord } from '../../src/storage/port/records.ts';

interface ModelBudget {
  readonly currency: string;
  readonly max: bigint;
  reserved: bigint;
  consumed: bigint;
}

interface ModelToken {
  readonly record: TokenRecord;
  readonly budget: ModelBudget | undefined;
  revoked: boolean;
}

interface ModelCall {
  readonly request: Admission;
  readonly exclusive: readonly string[];
  state: 'open' | 'closed' | 'indeterminate' | 'reconciled';
  entryId?: string;
}

export interface Model {
  readonly tokens: Map<string, ModelToken>;
  readonly calls: Map<string, ModelCall>;
  readonly grants: Map<string, { record: GrantRecord; uses: number }>;
  readonly freezes: Map<string, FreezeRecord>;
  readonly leases: Map<string, { operation: string; until: Date }>;
  readonly keys: Map<string, { operation: string; keepUntil: Date }>;
}

export function createModel(): Model {
  return {
    tokens: new Map(),
    calls: new Map(),
    grants: new Map(),
    freezes: new Map(),
    leases: new Map(),
    keys: new Map(),
  };
}

export function insertToken(model: Model, record: TokenRecord): void {
  const { token_id, budget } = record;
  const max = budget && toMinor(budget.max_amount, budget.currency);
  model.tokens.set(token_id, {
    record,
    revoked: false,
    budget:
      budget && max !== undefined
        ? { currency: budget.currency, max, reserved: 0n, consumed: 0n }
        : undefined,
  });
}

export function insertChild(model: Model, child: TokenRecord, now: Date, most: number): string {
  const parent = child.parent_token_id ?? '';
  const found = deadToken(model, parent, now);
  if (found) return `parent_${found.reason === 'unknown_token' ? 'unknown' : found.reason}`;
  const siblings = [...model.tokens.values()].filter(
    ({ record }) => record.parent_token_id === parent,
  );
  if (siblings.length >= most) return 'too_many';
  insertToken(model, child);
  return 'inserted';
}

/** How many tokens it ended. */
export function revoke(model: Model, tokenId: string, now: Date): number {
  const below = [...model.tokens.values()].filter(({ record }) => record.lineage.includes(tokenId));
  const ended = below.filter(({ record }) => !deadToken(model, record.token_id, now)).length;
  lookUp(model.tokens, tokenId).revoked = true;
  return ended;
}

/** The reason for a refusal, or undefined when the call was admitted. */
export function admit(model: Model, request: Admission): Refused['reason'] | undefined {
  const reason = refusal(model, request);
  if (reason) return reason;

  const { charge, grant, idempotency, intent } = request;
  const line = lineOf(model, intent.token_id);
  if (charge) for (const budget of budgetsOf(line)) budget.reserved += charge.amount;
  if (grant) lookUp(model.grants, grant.grant_id).uses += 1;
  const operation = intent.operation_id;
  const exclusive = exclusiveOf(line);
  for (const id of exclusive) model.leases.set(id, { operation, until: request.leaseUntil });
  if (idempotency) {
    model.keys.set(keyText(idempotency), { operation, keepUntil: idempotency.keepUntil });
  }
  model.calls.set(operation, { request, exclusive, state: 'open' });
  return undefined;
}

export function settle(model: Model, settlement: Settlement): 'settled' | 'superseded' {
  const { operation_id, outcome } = settlement;
  const call = lookUp(model.calls, operation_id);
  if (call.state !== 'open') {
    return call.entryId === settlement.entry.entry_id ? 'settled' : 'superseded';
  }
  if (outcome !== 'indeterminate' && !holdsLeases(model, operation_id)) return 'superseded';

  const { charge, intent } = call.request;
  if (charge) {
    const spent = outcome === 'no_effect' ? 0n : (settlement.actual ?? charge.amount);
    for (const budget of budgetsOf(lineOf(model, intent.token_id))) {
      budget.reserved -= charge.amount;
      budget.consumed += spent;
    }
  }
  for (const [id, lease] of model.leases) {
    if (lease.operation === operation_id) model.leases.delete(id);
  }
  call.state = outcome === 'indeterminate' ? 'indeterminate' : 'closed';
  call.entryId = settlement.entry.entry_id;
  return 'settled';
}

/** Whether there was something to reconcile. */
export function reconcile(model: Model, operationId: string, refund: boolean): boolean {
  const call = lookUp(model.calls, operationId);
  if (call.state !== 'indeterminate') return false;
  const { charge, intent } = call.request;
  if (charge && refund) {
    for (const budget of budgetsOf(lineOf(model, intent.token_id))) {
      budget.consumed -= charge.amount;
    }
  }
  call.state = 'reconciled';
  return true;
}

export function renew(model: Model, operationId: string, until: Date): boolean {
  if (!holdsLeases(model, operationId)) return false;
  for (const lease of model.leases.values()) {
    if (lease.operation === operationId) lease.until = until;
  }
  return true;
}

/** In the order in which a store looks. */
function refusal(model: Model, request: Admission): Refused['reason'] | undefined {
  const { intent, now, charge } = request;
  const dead = deadToken(model, intent.token_id, now);
  if (dead) return dead.reason;
  if (isFrozen(model, request)) return 'frozen';
  if (isKeyTaken(model, request)) return 'key';
  const line = lineOf(model, intent.token_id);
  for (const budget of charge ? budgetsOf(line) : []) {
    if (budget.currency !== charge?.currency) return 'currency';
    if (budget.reserved + budget.consumed + charge.amount > budget.max) return 'budget';
  }
  if (isGrantUnusable(model, request)) return 'grant';
  const leases = exclusiveOf(line).map((id) => model.leases.get(id));
  return leases.some((lease) => lease && lease.until > now) ? 'busy' : undefined;
}

function deadToken(
  model: Model,
  tokenId: string,
  now: Date,
): { reason: 'unknown_token' | 'revoked' | 'expired' } | undefined {
  const token = model.tokens.get(tokenId);
  if (!token) return { reason: 'unknown_token' };
  const line = lineOf(model, tokenId);
  if (line.some(({ revoked }) => revoked)) return { reason: 'revoked' };
  return line.some(({ record }) => record.expires_at <= now) ? { reason: 'expired' } : undefined;
}

function isFrozen(model: Model, { intent, now }: Admission): boolean {
  const applying = ['service ', `capability ${intent.capability}`];
  applying.push(`root_principal ${intent.root_principal}`);
  return applying.some((text) => {
    const freeze = model.freezes.get(text);
    return freeze && (freeze.until === undefined || freeze.until > now);
  });
}

function isKeyTaken(model: Model, { idempotency, now }: Admission): boolean {
  const held = idempotency && model.keys.get(keyText(idempotency));
  if (!held) return false;
  return held.keepUntil > now || lookUp(model.calls, held.operation).state === 'open';
}

function isGrantUnusable(model: Model, { grant, now }: Admission): boolean {
  if (!grant) return false;
  const held = model.grants.get(grant.grant_id);
  if (!held || held.uses >= held.record.max_uses || held.record.expires_at <= now) return true;
  return held.record.chain !== grant.chain;
}

function holdsLeases(model: Model, operationId: string): boolean {
  const { exclusive } = lookUp(model.calls, operationId);
  return exclusive.every((id) => model.leases.get(id)?.operation === operationId);
}

function lineOf(model: Model, tokenId: string): ModelToken[] {
  return lookUp(model.tokens, tokenId).record.lineage.map((id) => lookUp(model.tokens, id));
}

function budgetsOf(line: readonly ModelToken[]): ModelBudget[] {
  return line.flatMap(({ budget }) => budget ?? []);
}

function exclusiveOf(line: readonly ModelToken[]): string[] {
  return line
    .filter(({ record }) => record.concurrent_branches === 'exclusive')
    .map(({ record }) => record.token_id);
}

function keyText(scope: NonNullable<Admission['idempotency']>): string {
  return [scope.chain, scope.capability, scope.key].join(' ');
}

function lookUp<Value>(map: ReadonlyMap<string, Value>, id: string): Value {
  const value = map.get(id);
  if (value === undefined) throw new Error(`Cannot find "${id}" in the model`);
  return value;
}
