/**
 * Admission in the simulated store: looks at every condition of a call, and only then takes anything.
 *
 * @module
 */

import {
  capabilityFreezes,
  type FreezeKey,
  principalFreezes,
} from '../../../src/domain/authority/freeze.ts';
import type {
  Admission,
  Admitted,
  GrantUse,
  Refused,
} from '../../../src/storage/port/invocation-store.ts';
import type { BudgetState, FreezeRecord, GrantRecord } from '../../../src/storage/port/records.ts';
import { copyOf } from './copy.ts';
import type { MemoryDatabase, TokenRow } from './database.ts';
import { keyText } from './table.ts';
import { deadToken, isOtherLineage, lineageOf } from './tokens.ts';

export function admit(database: MemoryDatabase, admission: Admission): Admitted | Refused {
  const lineage = lineageOf(database, admission.intent.token_id);
  const refused = refusal(database, admission, lineage);
  if (refused) return refused;

  return { admitted: true, budgets: take(database, admission, lineage) };
}

/** The stored freezes for a capability and a root principal, the widest first. */
export function freezesFor(
  { freezes }: MemoryDatabase,
  capability: string | undefined,
  rootPrincipal: string | undefined,
): FreezeRecord[] {
  if (freezes.size === 0) return [];
  const wide: FreezeKey[] =
    rootPrincipal === undefined
      ? [{ what: 'service', target: '' }]
      : principalFreezes(rootPrincipal);
  const narrow = capability === undefined ? [] : capabilityFreezes([capability], rootPrincipal);
  return [...wide, ...narrow].flatMap((key) => freezes.get(freezeKeyText(key)) ?? []);
}

export function freezeKeyText({ what, target }: FreezeKey): string {
  return keyText(what, target);
}

/** The first condition that fails, in the order that the contract states. */
function refusal(
  database: MemoryDatabase,
  admission: Admission,
  lineage: readonly TokenRow[],
): Refused | undefined {
  const { intent, now } = admission;
  const { token_id } = intent;
  if (lineage.length === 0) return { admitted: false, reason: 'unknown_token', token_id };
  if (isOtherLineage(lineage, admission.judged)) {
    return { admitted: false, reason: 'altered', token_id };
  }
  const dead = deadToken(lineage, now);
  if (dead) return { admitted: false, ...dead };
  const { root_principal } = (lineage.at(-1) as TokenRow).token;
  const freeze = freezesFor(database, intent.capability, root_principal).find(
    ({ until }) => until === undefined || until > now,
  );
  if (freeze) return { admitted: false, reason: 'frozen', freeze: copyOf(freeze) };
  return (
    heldKey(database, admission) ??
    tightBudget(admission, lineage) ??
    unusableGrant(database, admission) ??
    busyToken(database, admission, lineage)
  );
}

/** A key is free again when it has expired and its call is closed. */
function heldKey(
  { keys, calls }: MemoryDatabase,
  { idempotency, now }: Admission,
): Refused | undefined {
  if (!idempotency) return undefined;
  const { chain, capability, key } = idempotency;
  const held = keys.get(keyText(chain, capability, key));
  if (!held) return undefined;
  const isOpen = calls.get(held.record.operation_id)?.closed === undefined;
  if (held.keepUntil <= now && !isOpen) return undefined;
  return { admitted: false, reason: 'key', record: copyOf(held.record) };
}

function tightBudget({ charge }: Admission, lineage: readonly TokenRow[]): Refused | undefined {
  if (!charge) return undefined;
  for (const { budget } of lineage) {
    if (!budget) continue;
    if (budget.currency !== charge.currency) {
      return { admitted: false, reason: 'currency', budget: { ...budget } };
    }
    if (budget.reserved + budget.consumed + charge.amount > budget.max) {
      return { admitted: false, reason: 'budget', budget: { ...budget } };
    }
  }
  return undefined;
}

function unusableGrant({ grants }: MemoryDatabase, { grant: use, now }: Admission) {
  if (!use) return undefined;
  const grant = grants.get(use.grant_id);
  if (grant && fits(grant, use) && grant.uses < grant.max_uses && grant.expires_at > now) {
    return undefined;
  }
  return { admitted: false, reason: 'grant', grant: copyOf(grant) } as const;
}

function fits(grant: GrantRecord, use: GrantUse): boolean {
  return (
    grant.capability === use.capability &&
    grant.contract_version === use.contract_version &&
    grant.declaration_digest === use.declaration_digest &&
    grant.parameters_digest === use.parameters_digest &&
    grant.chain === use.chain &&
    grant.max_uses === use.max_uses &&
    grant.expires_at.getTime() === use.expires_at.getTime() &&
    (grant.grant_type !== 'session_bound' || isSession(grant.session_id, use.session_id))
  );
}

/** A grant that is bound to a session and names none fits no call. */
export function isSession(bound: string | null | undefined, asked: string | undefined): boolean {
  return bound !== undefined && bound !== null && bound === asked;
}

function busyToken(
  { leases }: MemoryDatabase,
  { now }: Admission,
  lineage: readonly TokenRow[],
): Refused | undefined {
  for (const token_id of exclusiveIn(lineage)) {
    const lease = leases.get(token_id);
    if (lease && lease.until > now) {
      return { admitted: false, reason: 'busy', token_id, until: copyOf(lease.until) };
    }
  }
  return undefined;
}

function exclusiveIn(lineage: readonly TokenRow[]): string[] {
  return lineage
    .filter(({ token }) => token.concurrent_branches === 'exclusive')
    .map(({ token }) => token.token_id);
}

/** Takes everything. Returns the budgets after it, root first. */
function take(
  database: MemoryDatabase,
  admission: Admission,
  lineage: readonly TokenRow[],
): BudgetState[] {
  const { intent, charge = intent.charge, grant, idempotency, leaseUntil } = admission;
  const { operation_id } = intent;
  if (charge && charge.amount < 0n) {
    throw new Error(`Cannot admit operation "${operation_id}": its charge is ${charge.amount}`);
  }
  const leased = exclusiveIn(lineage);
  const key = idempotency && keyText(idempotency.chain, idempotency.capability, idempotency.key);
  database.calls.insert(operation_id, {
    intent: copyOf({ ...intent, charge }),
    reserved: admission.charge?.amount,
    leased,
    isRunning: true,
    composed: copyOf(admission.composed),
    steps: [],
    key,
  });
  if (idempotency && key !== undefined) {
    const { keepUntil, ...record } = idempotency;
    database.keys.put(key, { record: { ...record, operation_id }, keepUntil: copyOf(keepUntil) });
  }
  if (grant) useGrant(database, grant);
  for (const token of leased) {
    database.leases.put(token, { operation_id, until: copyOf(leaseUntil) });
  }
  return reserve(database, lineage, admission.charge?.amount ?? 0n);
}

function reserve(
  { tokens }: MemoryDatabase,
  lineage: readonly TokenRow[],
  amount: bigint,
): BudgetState[] {
  return lineage.flatMap((row) => {
    if (!row.budget) return [];
    const budget: BudgetState = { ...row.budget, reserved: row.budget.reserved + amount };
    if (amount !== 0n) tokens.put(row.token.token_id, { ...row, budget });
    return [{ ...budget }];
  });
}

function useGrant({ grants }: MemoryDatabase, { grant_id }: GrantUse): void {
  const grant = grants.get(grant_id) as GrantRecord;
  grants.put(grant_id, { ...grant, uses: grant.uses + 1 });
}
