/**
 * Admission in SQLite: every condition of one call, and every claim it makes, in one step.
 *
 * Checks follow the order of the port. On a refusal the caller rolls the savepoint back, which undoes the
 * claims made so far; so each claim may be made as early as possible.
 *
 * @module
 */

import { amended } from '../../../domain/values/amended.ts';
import type { Admission, Admitted, GrantUse, Refused } from '../../port/invocation-store.ts';
import type { BudgetState, FreezeRecord, GrantRecord } from '../../port/records.ts';
import { isAltered } from '../../port/row-forms.ts';
import type { Row } from '../../tables/table.ts';
import type { Connection } from '../connection.ts';
import { FREEZES, GRANTS, KEYS, timeOf } from '../rows.ts';
import type { HeldToken } from '../token-rows.ts';
import { deadLink } from '../tokens.ts';
import type { BatchTokens } from './batch-tokens.ts';

/** Claims everything, or returns the refusal, which the caller must roll back. */
export function admit(
  connection: Connection,
  tokens: BatchTokens,
  admission: Admission,
): Admitted | Refused {
  const { intent, now } = admission;
  const lineage = tokens.lineageOf(intent.token_id);
  if (lineage.length === 0)
    return { admitted: false, reason: 'unknown_token', token_id: intent.token_id };

  if (
    isAltered(
      lineage.map(({ link }) => link),
      admission.judged,
    )
  ) {
    return { admitted: false, reason: 'altered', token_id: intent.token_id };
  }
  const dead = deadLink(lineage, now);
  if (dead) return { admitted: false, ...dead };

  const [freeze] = lineage.at(-1)?.anyFreeze ? readFreezes(connection, intent, now) : [];
  if (freeze) return { admitted: false, reason: 'frozen', freeze };

  const exclusive = lineage.filter(({ link }) => link.exclusive);
  // The first of the claims, because the others refer to it.
  insertIntent(connection, admission, admission.leasedBy === undefined ? exclusive.length : 0);

  const claims = claimKey(connection, admission) ?? reserve(tokens, admission, lineage);
  if ('admitted' in claims) return claims;
  return (
    takeGrantUse(connection, admission) ??
    claimLeases(connection, admission, exclusive) ?? { admitted: true, budgets: claims }
  );
}

/**
 * The freezes for this capability and root principal, widest first; only those in force when `now` is given.
 */
export function readFreezes(
  connection: Connection,
  target: { capability?: string | undefined; root_principal?: string | undefined },
  now?: Date,
): FreezeRecord[] {
  const rows = connection.all<Row>(
    `SELECT * FROM freezes
     WHERE (what = 'service' OR what = 'root_principal' AND target = ?
         OR what = 'capability' AND target IN (?, ? || ' ' || ?))
       AND (until IS NULL OR until > coalesce(?, until - 1))
     ORDER BY what DESC, target`,
    target.root_principal,
    target.capability,
    target.capability,
    target.root_principal,
    now,
  );
  return rows.map(FREEZES.read);
}

export function readGrant(connection: Connection, grantId: string): GrantRecord | undefined {
  const row = connection.get<Row>('SELECT * FROM grants WHERE grant_id = ?', grantId);
  return row && GRANTS.read(row);
}

function insertIntent(connection: Connection, admission: Admission, leases: number): void {
  const { intent } = admission;
  const charge = admission.charge ?? intent.charge;
  connection.run(
    `INSERT INTO intents (operation_id, invocation_id, token_id, subject, root_principal,
       capability, charge_currency, charge_amount, facts, instance_id, admitted_at, reserved, leases,
       composing)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    intent.operation_id,
    intent.invocation_id,
    intent.token_id,
    intent.subject,
    intent.root_principal,
    intent.capability,
    charge?.currency,
    charge?.amount,
    JSON.stringify(intent.facts),
    intent.instance_id,
    intent.admitted_at,
    admission.charge?.amount,
    leases,
    admission.composed && JSON.stringify(admission.composed),
  );
}

const CLAIM_KEY = `
  INSERT INTO idempotency (${KEYS.list()}, keep_until)
  VALUES (${KEYS.slots}, ?)
  ON CONFLICT (chain, capability, key) DO UPDATE
  SET fingerprint = excluded.fingerprint, operation_id = excluded.operation_id, answer = NULL,
    keep_until = excluded.keep_until
  WHERE idempotency.keep_until <= ? AND NOT EXISTS (
    SELECT 1 FROM intents i
    WHERE i.operation_id = idempotency.operation_id AND i.state = 'admitted'
  )`;

/** An expired key is free again only when its call is closed. */
function claimKey(
  connection: Connection,
  { intent, idempotency, now }: Admission,
): Refused | undefined {
  if (!idempotency) return undefined;
  const { chain, capability, key, fingerprint, keepUntil } = idempotency;
  const record = { chain, capability, key, fingerprint, operation_id: intent.operation_id };
  const claimed = connection.change(CLAIM_KEY, ...KEYS.values(record), keepUntil, now);
  if (claimed === 1) return undefined;

  const row = connection.get<Row>(
    'SELECT * FROM idempotency WHERE chain = ? AND capability = ? AND key = ?',
    chain,
    capability,
    key,
  );
  if (!row) throw new Error(`Cannot claim key "${key}": it is neither free nor taken`);
  return { admitted: false, reason: 'key', record: KEYS.read(row) };
}

/** Reserves the charge on every budget of the lineage, root first. Returns the budgets after it. */
function reserve(
  tokens: BatchTokens,
  { charge }: Admission,
  lineage: readonly HeldToken[],
): BudgetState[] | Refused {
  const after: BudgetState[] = [];
  for (const { budget: read } of lineage.map(({ link }) => link)) {
    if (!read) continue;
    const budget = tokens.standing(read);
    if (!charge) {
      after.push(budget);
      continue;
    }
    if (budget.currency !== charge.currency) return { admitted: false, reason: 'currency', budget };

    const { token_id, currency } = budget;
    if (budget.max - budget.consumed - budget.reserved < charge.amount)
      return { admitted: false, reason: 'budget', budget };
    tokens.move(token_id, currency, { reserved: charge.amount, consumed: 0n });
    after.push(amended(budget, { reserved: budget.reserved + charge.amount }));
  }
  return after;
}

function takeGrantUse(connection: Connection, { grant, now }: Admission): Refused | undefined {
  if (!grant || useGrant(connection, grant, now)) return undefined;
  return { admitted: false, reason: 'grant', grant: readGrant(connection, grant.grant_id) };
}

function useGrant(connection: Connection, use: GrantUse, now: Date): boolean {
  const used = connection.change(
    `UPDATE grants SET uses = uses + 1
     WHERE grant_id = ? AND capability = ? AND contract_version = ? AND parameters_digest = ?
       AND chain = ? AND uses < max_uses AND expires_at > ? AND expires_at = ? AND max_uses = ?
       AND (grant_type <> 'session_bound' OR session_id = ?) AND declaration_digest = ?`,
    use.grant_id,
    use.capability,
    use.contract_version,
    use.parameters_digest,
    use.chain,
    now,
    use.expires_at,
    use.max_uses,
    use.session_id,
    use.declaration_digest,
  );
  return used === 1;
}

function claimLeases(
  connection: Connection,
  admission: Admission,
  exclusive: readonly HeldToken[],
): Refused | undefined {
  const { now } = admission;
  for (const { token_id } of exclusive.map(({ link }) => link)) {
    if (hasLease(connection, admission, token_id)) continue;
    const until = leaseEnd(connection, token_id) ?? now;
    return { admitted: false, reason: 'busy', token_id, until: until > now ? until : now };
  }
  return undefined;
}

/** Takes the lease, or finds it with the operation that the call runs under. An expired one goes to the next call, with a higher fence. */
function hasLease(
  connection: Connection,
  { intent, leaseUntil, leasedBy, now }: Admission,
  tokenId: string,
): boolean {
  if (leasedBy !== undefined) {
    const held = 'SELECT 1 FROM leases WHERE token_id = ? AND operation_id = ?';
    return connection.get(held, tokenId, leasedBy) !== undefined;
  }
  const taken = connection.change(
    `INSERT INTO leases (token_id, operation_id, fence, until) VALUES (?, ?, 1, ?)
     ON CONFLICT (token_id) DO UPDATE
     SET operation_id = excluded.operation_id, fence = leases.fence + 1, until = excluded.until
     WHERE leases.operation_id IS NULL OR leases.until <= ?`,
    tokenId,
    intent.operation_id,
    leaseUntil,
    now,
  );
  return taken > 0;
}

function leaseEnd(connection: Connection, tokenId: string): Date | undefined {
  const row = connection.get<{ until: bigint }>(
    'SELECT until FROM leases WHERE token_id = ?',
    tokenId,
  );
  return row && timeOf(row.until);
}
