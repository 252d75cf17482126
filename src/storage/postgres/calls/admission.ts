/**
 * Admission: one trip for concurrent calls, and an answer that is always certain.
 *
 * After a lost connection it is unknown whether the step committed. A tombstone decides for each call: either
 * it inserts the operation id, and the lost step can never commit, or it finds the step's own row and reads
 * its answer.
 *
 * @module
 */

import type { Admission, Admitted, InvocationStore, Refused } from '../../port/invocation-store.ts';
import type { BudgetState } from '../../port/records.ts';
import { StoreUnavailable } from '../../port/store.ts';
import type { Row } from '../../tables/table.ts';
import { BATCH_PATIENCE_MS, createSharing } from '../batch.ts';
import type { Database, Statement } from '../connection.ts';
import { REFUSED, raised } from '../failure.ts';
import { BUDGETS, ceilingsOf, FREEZES, GRANTS, KEYS, sealOf } from '../rows.ts';
import { resolved } from './resolve.ts';

/**
 * Calls in one commit: enough to share its flush, few enough that the next ones wait briefly. Two trips, so
 * that calls of other tokens go on while one waits for a lock; calls under one token take turns anyway.
 */
const ADMIT_BATCH = { sizeMax: 64, tripsMax: 2 };

export function createAdmission(
  database: Database,
  resolveTimeoutMs: number,
): InvocationStore['admit'] {
  const alone = (request: Admission) => admitAlone(database, request);
  const share = createSharing<Admission, Judged>(database.platform, ADMIT_BATCH, {
    together: (requests) => admit(database, requests, BATCH_PATIENCE_MS),
    alone,
  });

  return async (request) => {
    const ask = () => (isSharable(request) ? share(request) : alone(request));
    const find = () => findOut(database, request.intent.operation_id);
    const judged = await resolved(database.platform, resolveTimeoutMs, ask, find);
    if (judged === 'aborted') {
      const { operation_id } = request.intent;
      throw new StoreUnavailable(`Cannot admit "${operation_id}": the connection was lost`);
    }
    if ('refusal' in judged) return refusalOf(database, request, judged.refusal);
    return { admitted: true, budgets: judged.budgets };
  };
}

type Judged = Pick<Admitted, 'budgets'> | { readonly refusal: Raised };

/** Locks of keys and grants would break the lock order in a batch. Composed calls may be large. */
function isSharable({ idempotency, grant, composed }: Admission): boolean {
  return idempotency === undefined && grant === undefined && composed === undefined;
}

async function admit(
  database: Database,
  requests: readonly Admission[],
  patienceMs?: number,
): Promise<Judged[]> {
  const lineages = createLineages();
  const calls = JSON.stringify(
    requests.map((request) => callRow(request, lineages.placeOf(request))),
  );
  const values = [calls, JSON.stringify(lineages.rows), patienceMs];
  const rows = await database.write<JudgedRow>(ADMIT, values);
  return rows.map(({ budgets, refusal }) => (refusal ? { refusal } : budgetsOf(budgets)));
}

interface JudgedRow {
  readonly budgets: Row[] | null;
  readonly refusal: Raised | null;
}

/** A call with more claims than a budget is rolled back by raising its refusal. */
async function admitAlone(database: Database, request: Admission): Promise<Judged> {
  try {
    const [judged] = await admit(database, [request]);
    return judged as Judged;
  } catch (error) {
    const detail = raised(error, REFUSED);
    if (detail === undefined) throw error;
    return { refusal: JSON.parse(detail) };
  }
}

interface LineageRow {
  readonly token_id: string;
  readonly sealed: string | undefined;
  readonly ceilings: Row | undefined;
  /** Whether one of its calls reserves: then its budgets are locked. */
  is_charged: boolean;
}

/** The lineages on which calls were judged, each once: the calls of a batch often share one. */
function createLineages() {
  const rows: LineageRow[] = [];
  const places = new Map<unknown, number>();

  function addedFor({ intent: { token_id }, judged }: Admission): number {
    const [sealed, ceilings] = judged ? [sealOf(judged), ceilingsOf(judged)] : [];
    const row: LineageRow = { token_id, sealed, ceilings, is_charged: false };
    const text = JSON.stringify(row);
    const place = places.get(text) ?? rows.push(row);
    places.set(text, place);
    if (judged) places.set(judged, place);
    return place;
  }

  return {
    rows,
    /** From one on, as the database counts. */
    placeOf(request: Admission): number {
      const known = places.get(request.judged) ?? 0;
      const isOwn = rows[known - 1]?.token_id === request.intent.token_id;
      const place = isOwn ? known : addedFor(request);
      const row = rows[place - 1];
      if (row && request.charge) row.is_charged = true;
      return place;
    },
  };
}

function callRow(request: Admission, lineage: number): Row {
  const { intent, charge, composed } = request;
  const noted = charge ?? intent.charge;
  return {
    lineage,
    operation_id: intent.operation_id,
    invocation_id: intent.invocation_id,
    subject: intent.subject,
    root_principal: intent.root_principal,
    capability: intent.capability,
    facts: intent.facts,
    instance_id: intent.instance_id,
    admitted_at: intent.admitted_at,
    // As text: the parameters may contain what `jsonb` refuses.
    composing: composed && JSON.stringify(composed),
    now: request.now,
    currency: noted?.currency,
    amount: noted?.amount.toString(),
    is_charged: charge !== undefined,
    key: request.idempotency,
    use: request.grant,
    lease_until: request.leaseUntil,
    leased_by: request.leasedBy,
  };
}

/** Waits for the original transaction: its id is taken until it commits or rolls back. */
async function findOut(database: Database, operationId: string): Promise<Judged | 'aborted'> {
  await database.write(TOMBSTONE, [operationId]);
  const [row] = await database.read<{ state: string; result: Row[] }>(INTENT, [operationId]);
  if (row === undefined) throw new Error(`Cannot find intent "${operationId}": it is gone`);
  return row.state === 'aborted' ? 'aborted' : budgetsOf(row.result);
}

function budgetsOf(rows: readonly Row[] | null | undefined): { budgets: BudgetState[] } {
  return { budgets: (rows ?? []).map(BUDGETS.read) };
}

interface Raised {
  readonly reason: Refused['reason'];
  readonly token_id: string;
  readonly freeze: Row;
  readonly budget: Row;
  readonly until: string;
}

/** Reads grants and keys separately, because a server writes raised values into its own log. */
async function refusalOf(
  database: Database,
  request: Admission,
  { reason, token_id, freeze, budget, until }: Raised,
): Promise<Refused> {
  switch (reason) {
    case 'unknown_token':
    case 'altered':
    case 'revoked':
    case 'expired':
      return { admitted: false, reason, token_id };
    case 'frozen':
      return { admitted: false, reason, freeze: FREEZES.read(freeze) };
    case 'budget':
    case 'currency':
      return { admitted: false, reason, budget: BUDGETS.read(budget) };
    case 'busy':
      return { admitted: false, reason, token_id, until: new Date(until) };
    case 'grant': {
      const [row] = await database.read<Row>(GRANT, [request.grant?.grant_id]);
      return { admitted: false, reason, ...(row && { grant: GRANTS.read(row) }) };
    }
    case 'key':
      return keyRefusal(database, request);
  }
}

async function keyRefusal(database: Database, { idempotency }: Admission): Promise<Refused> {
  const { chain, capability, key } = idempotency ?? {};
  const [row] = await database.read<Row>(KEY, [chain, capability, key]);
  // Keys are reclaimed, never removed, so a row exists.
  if (row === undefined) throw new Error(`Cannot read key "${key}": it is gone`);
  return { admitted: false, reason: 'key', record: KEYS.read(row) };
}

const ADMIT: Statement = {
  name: 'admit',
  text: 'SELECT o_budgets AS budgets, o_refusal AS refusal FROM writ_admit($1, $2, $3)',
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

const GRANT: Statement = {
  name: 'grant',
  text: `SELECT ${GRANTS.list()} FROM grants WHERE grant_id = $1`,
};

const KEY: Statement = {
  name: 'key',
  text: `SELECT ${KEYS.list()} FROM idempotency
    WHERE chain = $1 AND capability = $2 AND key = $3`,
};
