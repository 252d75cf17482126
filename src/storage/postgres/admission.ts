/**
 * Admission and settlement: one round trip each, and an answer that is always certain.
 *
 * A connection that breaks after the question was sent leaves open whether the step committed. For
 * an admission a tombstone decides: either it takes the operation's id, and the lost step can never
 * commit any more, or it meets the step's own row and reads what it answered. A settlement is known
 * by its entry and is simply asked for again.
 *
 * @module
 */

import type {
  Admission,
  Admitted,
  InvocationStore,
  Refused,
  Settlement,
} from '../invocation-store.ts';
import type { BudgetState } from '../records.ts';
import { StoreUnavailable } from '../store.ts';
import type { Database, Statement } from './connection.ts';
import { bindingRows, enqueueFrom, entryValues } from './entries.ts';
import { REFUSED, raised, SUPERSEDED } from './failure.ts';
import { resolved } from './resolve.ts';
import { budgetOf, freezeOf, grantOf, type Row } from './rows.ts';

export function createAdmission(
  database: Database,
  resolveTimeoutMs: number,
): Pick<InvocationStore, 'admit' | 'settle'> {
  return {
    async admit(request) {
      try {
        const ask = () => admitOnce(database, request);
        const find = () => findOut(database, request.intent.operation_id);
        const budgets = await resolved(resolveTimeoutMs, ask, find);
        if (budgets !== 'aborted') return { admitted: true, budgets };
      } catch (error) {
        const detail = raised(error, REFUSED);
        if (detail === undefined) throw error;
        return refusalOf(database, request, JSON.parse(detail));
      }
      const { operation_id } = request.intent;
      throw new StoreUnavailable(`Cannot admit "${operation_id}": the connection was lost`);
    },

    async settle(settlement) {
      const attempt = () => settleOnce(database, settlement);
      try {
        return await resolved(resolveTimeoutMs, attempt, attempt);
      } catch (error) {
        if (raised(error, SUPERSEDED) === undefined) throw error;
        return 'superseded';
      }
    },
  };
}

type Budgets = Admitted['budgets'];

async function admitOnce(database: Database, request: Admission): Promise<Budgets> {
  const { intent, charge, idempotency, grant } = request;
  const noted = charge ?? intent.charge;
  const money = { currency: noted?.currency, amount: noted?.amount.toString() };
  // As text: what a caller sent may hold what the database's own kind of JSON refuses.
  const composing = request.composed && JSON.stringify(request.composed);
  const kept = { ...intent, ...money, composing };
  const [row] = await database.write<{ budgets: Row[] }>(ADMIT, [
    JSON.stringify({ ...kept, charge: undefined }),
    request.now,
    charge?.currency,
    charge?.amount,
    idempotency && JSON.stringify(idempotency),
    grant && JSON.stringify(grant),
    request.leaseUntil,
  ]);
  return budgetsOf(row?.budgets);
}

/** Waits for an original that is still under way: its id is taken until it commits or rolls back. */
async function findOut(database: Database, operationId: string): Promise<Budgets | 'aborted'> {
  await database.write(TOMBSTONE, [operationId]);
  const [row] = await database.read<{ state: string; result: Row[] }>(INTENT, [operationId]);
  if (row === undefined) throw new Error(`Cannot find intent "${operationId}": it is gone`);
  return row.state === 'aborted' ? 'aborted' : budgetsOf(row.result);
}

function budgetsOf(rows: readonly Row[] | undefined): BudgetState[] {
  return (rows ?? []).map(budgetOf);
}

interface Raised {
  readonly reason: Refused['reason'];
  readonly token_id: string;
  readonly freeze: Row;
  readonly budget: Row;
  readonly until: string;
}

/** Records of grants and keys are read apart: a server writes what is raised into its own log. */
async function refusalOf(
  database: Database,
  request: Admission,
  { reason, token_id, freeze, budget, until }: Raised,
): Promise<Refused> {
  switch (reason) {
    case 'unknown_token':
    case 'revoked':
    case 'expired':
      return { admitted: false, reason, token_id };
    case 'frozen':
      return { admitted: false, reason, freeze: freezeOf(freeze) };
    case 'budget':
    case 'currency':
      return { admitted: false, reason, budget: budgetOf(budget) };
    case 'busy':
      return { admitted: false, reason, token_id, until: new Date(until) };
    case 'grant': {
      const [row] = await database.read<Row>(GRANT, [request.grant?.grant_id]);
      return { admitted: false, reason, ...(row && { grant: grantOf(row) }) };
    }
    case 'key':
      return keyRefusal(database, request);
  }
}

async function keyRefusal(database: Database, { idempotency }: Admission): Promise<Refused> {
  const { root_principal, subject, capability, key } = idempotency ?? {};
  const [row] = await database.read<KeyRow>(KEY, [root_principal, subject, capability, key]);
  // Keys are reclaimed, never removed, so whoever had it is there or has a successor.
  if (row === undefined) throw new Error(`Cannot read key "${key}": it is gone`);
  const { answer, ...record } = row;
  return {
    admitted: false,
    reason: 'key',
    record: { ...record, ...(answer && { answer }) },
  };
}

interface KeyRow {
  readonly root_principal: string;
  readonly subject: string;
  readonly capability: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly operation_id: string;
  readonly answer: Uint8Array | null;
}

async function settleOnce(
  database: Database,
  settlement: Settlement,
): Promise<'settled' | 'superseded'> {
  const [row] = await database.write<{ answer: string }>(SETTLE, [
    settlement.operation_id,
    settlement.outcome,
    settlement.actual,
    bindingRows(settlement.bindings),
    settlement.answer,
    settlement.now,
    keepsLeases(settlement),
    settlement.rollback && JSON.stringify(settlement.rollback),
    ...entryValues(settlement.entry),
  ]);
  return row?.answer === 'superseded' ? 'superseded' : 'settled';
}

/** Only a call that may still be running keeps its turn. */
function keepsLeases({ outcome, stillRuns = false }: Settlement): boolean {
  return stillRuns && outcome === 'indeterminate';
}

const ADMIT: Statement = {
  name: 'admit',
  text: 'SELECT writ_admit($1, $2, $3, $4, $5, $6, $7) AS budgets',
};

const TOMBSTONE: Statement = {
  name: 'tombstone',
  text: `INSERT INTO intents (operation_id, state) VALUES ($1, 'aborted')
    ON CONFLICT (operation_id) DO NOTHING`,
};

const INTENT: Statement = {
  name: 'intent',
  text: 'SELECT state, result FROM intents WHERE operation_id = $1',
};

export const GRANT_COLUMNS = `grant_id, approval_request_id, capability, contract_version, scope,
  subject, root_principal, parameters, parameters_digest, preview_digest, grant_type, session_id,
  approved_by, issued_at, expires_at, max_uses, uses, signature, approved_through`;

const GRANT: Statement = {
  name: 'grant',
  text: `SELECT ${GRANT_COLUMNS} FROM grants WHERE grant_id = $1`,
};

const KEY: Statement = {
  name: 'key',
  text: `SELECT root_principal, subject, capability, key, fingerprint, operation_id, answer
    FROM idempotency
    WHERE root_principal = $1 AND subject = $2 AND capability = $3 AND key = $4`,
};

/** The entry's parameters follow the function's; its id is the first of them. */
const SETTLE: Statement = {
  name: 'settle',
  text: `WITH step AS MATERIALIZED (
      SELECT writ_settle($1, $2, $3, $4, $5, $6, $7, $8, $9) AS answer
    ), entry AS (
      ${enqueueFrom(9, "FROM step WHERE answer = 'settled'")}
    )
    SELECT answer FROM step`,
};
