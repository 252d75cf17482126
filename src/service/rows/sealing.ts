/**
 * Sealing: the MACs of rows that carry authority, as changes of the store's methods.
 *
 * A row gets its MAC when it is written, and the MAC is verified when the row is read. No operation has to do it:
 * `service-store.ts` names the change of each method. A row that gives authority and does not match counts as absent,
 * with the same answer for every caller. A row that ends authority (a revocation, a freeze) stays in force when it
 * does not match: ignoring it would restore what was taken away. Both raise an alarm.
 *
 * Admission and delegation pass the rows that were verified here (`judged`). The store compares them with its rows in
 * the same transaction, so a row cannot change in between.
 *
 * `sealing-people.ts` has the rows of people. `row-check.ts` verifies the MACs. `row-seal.ts` seals the store at the first start.
 *
 * @module
 */

import { entryView, type StoredEntry } from '../../domain/log/entry.ts';
import { toMinor } from '../../domain/values/money.ts';
import type { RowKeys } from '../../keyring/row-keys.ts';
import type {
  Admission,
  Loaded,
  Overrun,
  Settlement,
} from '../../storage/port/invocation-store.ts';
import type { BindingRecord, IntentRecord } from '../../storage/port/records.ts';
import { type RowKind, type RowOf, rowText } from '../../storage/port/row-forms.ts';
import { type Store, StoreUnavailable } from '../../storage/port/store.ts';
import type { Alarms } from '../operations/alarms.ts';
import type { RowLogs } from './row-check.ts';
import { createRowCheck, type RowCheck } from './row-check.ts';

export interface SealingOptions {
  readonly rows: RowKeys;
  readonly alarms: Alarms;
  readonly logs: RowLogs;
}

/** What all changes of one store share. */
export interface Sealing {
  /** The row with its MAC under the current log. */
  readonly seal: <Kind extends RowKind, Row extends RowOf<Kind>>(
    kind: Kind,
    row: Row,
  ) => Row & { mac: string };
  readonly check: RowCheck;
  /** The database, for changes that read before they write. */
  readonly store: Store;
}

/** Makes the method of the service from the next one on the way to the database. */
export type Sealed<Name extends keyof Store> = (
  next: Extract<Store[Name], (...args: never[]) => unknown>,
  sealing: Sealing,
) => Store[Name];

export function createSealing(store: Store, { rows, alarms, logs }: SealingOptions): Sealing {
  return {
    seal: (kind, row) =>
      Object.assign({}, row, { mac: rows.macOf(rowText(kind, row, logs.current())) }),
    check: createRowCheck(rows, alarms, logs),
    store,
  };
}

// Changes that several methods share.

/** The row in the first argument gets its MAC. */
export function sealsFirst<Kind extends RowKind>(kind: Kind) {
  return <Row extends RowOf<Kind>, Rest extends unknown[], Answer>(
    next: (row: Row, ...rest: Rest) => Answer,
    { seal }: Sealing,
  ) =>
    (row: Row, ...rest: Rest): Answer =>
      next(seal(kind, row), ...rest);
}

/** The checks of one row. */
type RowTest = {
  [Name in keyof RowCheck]: RowCheck[Name] extends (row: never) => boolean ? Name : never;
}[keyof RowCheck];

type Tested<Name extends RowTest> = Parameters<RowCheck[Name]>[0];

/** A row that does not match counts as absent. */
export function absentUnless<Name extends RowTest>(name: Name) {
  return <By extends unknown[], Row extends Tested<Name>>(
    next: (...by: By) => Promise<Row | undefined>,
    { check }: Sealing,
  ) => {
    const isAuthentic = check[name] as (row: Row) => boolean;
    return async (...by: By): Promise<Row | undefined> => {
      const row = await next(...by);
      return row && isAuthentic(row) ? row : undefined;
    };
  };
}

/** Rows that do not match are left out. */
export function onlyRows<Name extends RowTest>(name: Name) {
  return <Query extends unknown[], Row extends Tested<Name>>(
    next: (...query: Query) => Promise<readonly Row[]>,
    { check }: Sealing,
  ) => {
    const isAuthentic = check[name] as (row: Row) => boolean;
    return async (...query: Query): Promise<readonly Row[]> =>
      (await next(...query)).filter(isAuthentic);
  };
}

/** Rows that do not match are left out of the page. */
export function onlyRowsOfPage<Field extends string, Name extends RowTest>(
  field: Field,
  name: Name,
) {
  return <Query extends unknown[], Page extends Record<Field, readonly Tested<Name>[]>>(
    next: (...query: Query) => Promise<Page>,
    { check }: Sealing,
  ) => {
    const isAuthentic = check[name] as (row: Tested<Name>) => boolean;
    return async (...query: Query): Promise<Page> => {
      const page = await next(...query);
      return { ...page, [field]: page[field].filter(isAuthentic) };
    };
  };
}

// Tokens.

export const sealsRoot: Sealed<'insertRoot'> =
  (next, { seal }) =>
  (token, entry) =>
    next(seal('token', token), entry);

export const sealsChild: Sealed<'insertChild'> =
  (next, { seal, check }) =>
  async (token, entry, bounds) => {
    demand(bounds.judged, `store token "${token.token_id}"`);
    const answer = await next(seal('token', token), entry, bounds);
    if (answer === 'parent_altered') check.altered('token', token.parent_token_id ?? '');
    return answer;
  };

export const sealsRevocation: Sealed<'revokeToken'> =
  (next, { seal }) =>
  (tokenId, now, entry, by) => {
    const { mac } = seal('revocation', { token_id: tokenId, revoked_at: now });
    return next(tokenId, now, entry, { ...by, mac });
  };

export const verifiesToken: Sealed<'describeToken'> =
  (next, { check }) =>
  async (tokenId, childrenMax) => {
    const described = await next(tokenId, childrenMax);
    const lineage = described && check.lineageOf(described);
    if (!described || !lineage) return undefined;
    return { ...described, lineage, debts: check.debtsOf(tokenId, described.debts) };
  };

/** Without `judged` the store would compare nothing and accept an altered row: a defect of the caller. */
export function demand(judged: Admission['judged'], what: string): void {
  if (judged === undefined) throw new Error(`Cannot ${what}: its lineage was not checked`);
}

// Calls.

export const verifiesLoaded: Sealed<'load'> = (next, sealing) => (request) =>
  next(request).then((loaded) => authentic(loaded, sealing));

/** The loaded rows without those that do not match. */
function authentic(loaded: Loaded, { check, store }: Sealing): Loaded {
  const { token, lineage, freezes, grant, bindings } = loaded;
  const counted = token && check.lineageOf({ token, lineage });
  const isPlain = !grant && freezes.length === 0 && bindings.length === 0;
  if (counted === lineage && isPlain) return loaded;
  return {
    ...loaded,
    ...(counted ? { lineage: counted } : { token: undefined, lineage: [], idempotency: undefined }),
    freezes: check.inForce(freezes, store.now()),
    grant: grant && check.isGrant(grant) ? grant : undefined,
    bindings: bindings.filter(check.isBinding),
  };
}

export const verifiesAdmission: Sealed<'admit'> =
  (next, { check }) =>
  (admission) => {
    demand(admission.judged, `admit "${admission.intent.operation_id}"`);
    return next(admission).then((answer) => {
      if (answer.admitted) return answer;
      if (answer.reason === 'altered') check.altered('token', answer.token_id);
      const isLost = answer.reason === 'grant' && answer.grant && !check.isGrant(answer.grant);
      return isLost ? { admitted: false, reason: 'grant' } : answer;
    });
  };

export const sealsSettlement: Sealed<'settle'> = (next, sealing) => (settlement) => {
  if (settlement.bindings.length === 0 && !settlement.overrun) return next(settlement);
  return next({ ...settlement, ...sealedResults(sealing, settlement) });
};

export const sealsResults: Sealed<'endStep'> = (next, sealing) => (step, instanceId, results) =>
  next(step, instanceId, { ...results, ...sealedResults(sealing, results) });

export const sealsAppended: Sealed<'append'> =
  (next, sealing) =>
  (entries, bindings = [], overrun = undefined, isRepeat = false) =>
    next(entries, sealedBindings(sealing, bindings), sealedOverrun(sealing, overrun), isRepeat);

/** The results of a call that have a MAC: its bindings, and a freeze after an overrun. */
function sealedResults(
  sealing: Sealing,
  { bindings, overrun }: Pick<Settlement, 'bindings' | 'overrun'>,
): Pick<Settlement, 'bindings' | 'overrun'> {
  return {
    bindings: sealedBindings(sealing, bindings),
    overrun: sealedOverrun(sealing, overrun),
  };
}

function sealedBindings(
  { seal }: Sealing,
  bindings: readonly BindingRecord[],
): readonly BindingRecord[] {
  return bindings.length === 0 ? bindings : bindings.map((each) => seal('binding', each));
}

function sealedOverrun({ seal }: Sealing, overrun: Overrun | undefined): Overrun | undefined {
  if (!overrun?.freeze) return overrun;
  const { record, entry } = overrun.freeze;
  return { ...overrun, freeze: { record: seal('freeze', record), entry } };
}

/** Refunds only what the entry of the call confirms. */
export const verifiesCharge: Sealed<'reconcile'> =
  (next, sealing) => async (invocationId, refund, entry, by) => {
    const isRecorded = refund ? await recordedCharge(sealing.store, invocationId) : undefined;
    try {
      const matches: typeof entry = (intent) => {
        if (isRecorded && !isRecorded(intent)) throw new AlteredCall();
        return entry(intent);
      };
      const overrun = sealedOverrun(sealing, by?.overrun);
      return await next(invocationId, refund, matches, { ...by, overrun });
    } catch (error) {
      if (!(error instanceof AlteredCall)) throw error;
      sealing.check.altered('call', invocationId);
      return undefined;
    }
  };

/** The row of a call has another token or charge than the entry of the call. */
class AlteredCall extends Error {
  override readonly name = 'AlteredCall';
}

/**
 * Returns a check that compares the row of a call of unknown outcome with its entries. A refund
 * pays the charge in the row, and that row has no MAC. A call whose outcome a later entry states
 * gets no refund. Where retention has erased entries, a row without an entry is accepted, because
 * the row is kept for this question.
 */
async function recordedCharge(
  store: Store,
  invocationId: string,
): Promise<((intent: IntentRecord) => boolean) | undefined> {
  await store.sequence();
  const { entries } = await store.queryEntries({ invocationId, limit: ENTRIES_OF_A_CALL });
  if (entries.some(statesOutcome)) return () => false;
  const entry = entries
    .map(entryView)
    .find(({ entry_type, state }) => entry_type === 'invocation' && state === 'indeterminate');
  if (entry) {
    const { cost_actual } = entry;
    const amount = cost_actual ? toMinor(cost_actual.amount, cost_actual.currency) : 0n;
    return ({ token_id, charge }) =>
      token_id === entry.token_id &&
      (charge?.amount ?? 0n) === amount &&
      (amount === 0n || charge?.currency === cost_actual?.currency);
  }
  const erased = [...(await store.erasures()).keys()];
  return erased.some((what) => what !== 'personal') ? undefined : () => false;
}

/** A call has one entry, one more when two processes closed it, and those of its late end. */
const ENTRIES_OF_A_CALL = 8;

/** True for an entry in which an operator or a late handler states the outcome. */
function statesOutcome({ entry_type, state }: StoredEntry): boolean {
  if (entry_type === 'operator') return state === 'completed';
  return entry_type === 'settlement' && state !== 'indeterminate';
}

// Approvals. A request with a vote that does not match counts as absent.

export const sealsApprovalRequest: Sealed<'requestApproval'> =
  (next, { seal, check }) =>
  async (request, ...rest) => {
    const stored = await next(seal('approval', request), ...rest);
    if (typeof stored === 'string' || 'exceeded' in stored) return stored;
    if (check.isApproval(stored)) return stored;
    throw new StoreUnavailable('Cannot store the request: an equal one cannot be authenticated');
  };

export const sealsVote: Sealed<'approve'> =
  (next, { seal }) =>
  (decision) => {
    const { approval_request_id, approver, now: approved_at, terms, credential_id } = decision;
    const { grant } = decision;
    const vote = { approval_request_id, approver, approved_at, terms, credential_id };
    const { mac } = seal('vote', { ...vote, place: decision.approvalsSeen });
    return next({ ...decision, mac, grant: grant && seal('grant', grant) });
  };

// Operators.

export const verifiesFreezes: Sealed<'freezesUnder'> =
  (next, { check, store }) =>
  async (keys) =>
    check.inForce(await next(keys), store.now());

export const verifiesFreezePage: Sealed<'listFreezes'> =
  (next, { check, store }) =>
  async (...query) => {
    const page = await next(...query);
    return { ...page, freezes: check.inForce(page.freezes, store.now()) };
  };
