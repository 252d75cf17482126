/**
 * The store as the service uses it: every row that carries authority is authenticated by a MAC.
 *
 * A row gets its MAC when it is written, and the MAC is verified when the row is read. No operation
 * has to do it. A row that gives authority and does not match counts as absent, with the same
 * answer for every caller. A row that ends authority (a revocation, a freeze) stays in force when
 * it does not match: ignoring it would restore what was taken away. Both raise an alarm.
 *
 * Admission and delegation pass the rows that were verified here (`judged`). The store compares
 * them with its rows in the same transaction, so a row cannot change in between.
 *
 * `row-check.ts` verifies the MACs. `row-seal.ts` gives rows of an older version their MACs at the
 * first start.
 *
 * @module
 */

import { entryView, type StoredEntry } from '../../domain/log/entry.ts';
import { toMinor } from '../../domain/values/money.ts';
import type { RowKeys } from '../../keyring/row-keys.ts';
import type { RemovedIdentity } from '../../storage/port/identity-store.ts';
import type {
  Admission,
  Loaded,
  Overrun,
  Settlement,
} from '../../storage/port/invocation-store.ts';
import type { StoredPasskey } from '../../storage/port/passkey-store.ts';
import type { BindingRecord, IntentRecord } from '../../storage/port/records.ts';
import { type RowKind, type RowOf, rowText } from '../../storage/port/row-forms.ts';
import type { ConsentRecord } from '../../storage/port/sign-in-store.ts';
import { type Store, StoreUnavailable } from '../../storage/port/store.ts';
import type { Alarms } from '../core/alarms.ts';
import type { RowLogs } from './row-check.ts';
import { createRowCheck, type RowCheck } from './row-check.ts';

export function authenticStore(store: Store, parts: AuthenticStoreOptions): Store {
  const rows = createRowSealing(parts);
  const check = createRowCheck(parts.rows, parts.alarms, parts.logs);
  const own: Partial<Store> = {
    ...tokenRows(store, rows, check),
    ...callRows(store, rows, check),
    ...approvalRows(store, rows, check),
    ...sessionRows(store, rows, check),
    ...consentRows(store, rows, check),
    ...passkeyRows(store, rows, check),
    ...connectedRows(store, rows, check),
    ...identityRows(store, rows, check),
    freeze: (freeze, ...rest) => store.freeze(rows.sealed('freeze', freeze), ...rest),
    freezesUnder: async (keys) => check.inForce(await store.freezesUnder(keys), store.now()),
    async listFreezes(...query) {
      const page = await store.listFreezes(...query);
      return { ...page, freezes: check.inForce(page.freezes, store.now()) };
    },
  };
  // All other methods are those of the store.
  return Object.assign(Object.create(store) as Store, own);
}

export interface AuthenticStoreOptions {
  readonly rows: RowKeys;
  readonly alarms: Alarms;
  readonly logs: RowLogs;
}

interface RowSealing {
  /** The row with its MAC under the current log. */
  sealed<Kind extends RowKind, Row extends RowOf<Kind>>(
    kind: Kind,
    row: Row,
  ): Row & { mac: string };
}

function createRowSealing({ rows, logs }: AuthenticStoreOptions): RowSealing {
  return {
    sealed: (kind, row) =>
      Object.assign({}, row, { mac: rows.macOf(rowText(kind, row, logs.current())) }),
  };
}

/** The MAC of a revocation, which `revokeToken` stores in the row of the token. */
export function revocationMac(rows: RowKeys, token_id: string, revoked_at: Date): string {
  return rows.macOf(rowText('revocation', { token_id, revoked_at }));
}

function tokenRows(store: Store, rows: RowSealing, check: RowCheck): Partial<Store> {
  return {
    insertRoot: (token, entry) => store.insertRoot(rows.sealed('token', token), entry),
    async insertChild(token, entry, bounds) {
      demand(bounds.judged, `store token "${token.token_id}"`);
      const answer = await store.insertChild(rows.sealed('token', token), entry, bounds);
      if (answer === 'parent_altered') check.altered('token', token.parent_token_id ?? '');
      return answer;
    },
    revokeToken: (tokenId, now, entry, by) => {
      const { mac } = rows.sealed('revocation', { token_id: tokenId, revoked_at: now });
      return store.revokeToken(tokenId, now, entry, { ...by, mac });
    },
    async describeToken(tokenId, childrenMax) {
      const described = await store.describeToken(tokenId, childrenMax);
      const lineage = described && check.lineageOf(described);
      if (!described || !lineage) return undefined;
      return { ...described, lineage, debts: check.debtsOf(tokenId, described.debts) };
    },
  };
}

function callRows(store: Store, rows: RowSealing, check: RowCheck): Partial<Store> {
  const bound = (bindings: readonly BindingRecord[]) =>
    bindings.length === 0 ? bindings : bindings.map((each) => rows.sealed('binding', each));
  /** The results of a call that have a MAC: its bindings, and a freeze after an overrun. */
  const sealedResults = ({ bindings, overrun }: Pick<Settlement, 'bindings' | 'overrun'>) => ({
    bindings: bound(bindings),
    overrun: sealedOverrun(rows, overrun),
  });
  return {
    load: (request) => store.load(request).then((loaded) => authentic(loaded, check, store)),
    admit: (admission) => {
      demand(admission.judged, `admit "${admission.intent.operation_id}"`);
      return store.admit(admission).then((answer) => {
        if (answer.admitted) return answer;
        if (answer.reason === 'altered') check.altered('token', answer.token_id);
        const isLost = answer.reason === 'grant' && answer.grant && !check.isGrant(answer.grant);
        return isLost ? { admitted: false, reason: 'grant' } : answer;
      });
    },
    settle: (settlement) => {
      if (settlement.bindings.length === 0 && !settlement.overrun) return store.settle(settlement);
      return store.settle({ ...settlement, ...sealedResults(settlement) });
    },
    append: (entries, bindings = [], overrun = undefined, isRepeat = false) =>
      store.append(entries, bound(bindings), sealedOverrun(rows, overrun), isRepeat),
    async reconcile(invocationId, refund, entry, by) {
      const isRecorded = refund ? await recordedCharge(store, invocationId) : undefined;
      try {
        const matches: typeof entry = (intent) => {
          if (isRecorded && !isRecorded(intent)) throw new AlteredCall();
          return entry(intent);
        };
        const overrun = sealedOverrun(rows, by?.overrun);
        return await store.reconcile(invocationId, refund, matches, { ...by, overrun });
      } catch (error) {
        if (!(error instanceof AlteredCall)) throw error;
        check.altered('call', invocationId);
        return undefined;
      }
    },
    endStep: (step, instanceId, results) => {
      return store.endStep(step, instanceId, { ...results, ...sealedResults(results) });
    },
  };
}

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

function sealedOverrun(rows: RowSealing, overrun: Overrun | undefined): Overrun | undefined {
  if (!overrun?.freeze) return overrun;
  const { record, entry } = overrun.freeze;
  return { ...overrun, freeze: { record: rows.sealed('freeze', record), entry } };
}

/** A request with a vote that does not match counts as absent. */
function approvalRows(store: Store, rows: RowSealing, check: RowCheck): Partial<Store> {
  return {
    async requestApproval(request, ...rest) {
      const stored = await store.requestApproval(rows.sealed('approval', request), ...rest);
      if (typeof stored === 'string' || 'exceeded' in stored) return stored;
      if (check.isApproval(stored)) return stored;
      throw new StoreUnavailable('Cannot store the request: an equal one cannot be authenticated');
    },
    async loadApproval(id) {
      const request = await store.loadApproval(id);
      return request && check.isApproval(request) ? request : undefined;
    },
    async waitingGrants(...query) {
      return (await store.waitingGrants(...query)).filter(check.isGrant);
    },
    async listApprovals(query) {
      const page = await store.listApprovals(query);
      return { ...page, requests: page.requests.filter(check.isApproval) };
    },
    async pendingApprovals(query) {
      const page = await store.pendingApprovals(query);
      return { ...page, requests: page.requests.filter(check.isApproval) };
    },
    async approvalsOf(query) {
      const page = await store.approvalsOf(query);
      return { ...page, requests: page.requests.filter(check.isApproval) };
    },
    approve: (decision) => {
      const { approval_request_id, approver, now: approved_at, terms, credential_id } = decision;
      const { grant } = decision;
      const vote = { approval_request_id, approver, approved_at, terms, credential_id };
      const { mac } = rows.sealed('vote', { ...vote, place: decision.approvalsSeen });
      return store.approve({ ...decision, mac, grant: grant && rows.sealed('grant', grant) });
    },
  };
}

/** A session that does not match counts as absent. It can still end, with an alarm. */
function sessionRows(store: Store, rows: RowSealing, check: RowCheck): Partial<Store> {
  return {
    beginSession: (session, account, ...rest) => {
      const sealed = rows.sealed('account', account);
      return store.beginSession(rows.sealed('session', session), sealed, ...rest);
    },
    async findSession(secretHash) {
      const stored = await store.findSession(secretHash);
      return stored && check.isSession(stored) ? stored : undefined;
    },
    endSessions: (selector, now, entry) =>
      store.endSessions(selector, now, (session) => {
        check.isSession({ session, seen_at: now });
        return entry(session);
      }),
    async listSessions(...query) {
      return (await store.listSessions(...query)).filter(check.isSession);
    },
    async livingSessions(...query) {
      const page = await store.livingSessions(...query);
      return { ...page, sessions: page.sessions.filter(check.isSession) };
    },
    async findAccount(accountId) {
      const account = await store.findAccount(accountId);
      return account && check.isAccount(account) ? account : undefined;
    },
    replaceAccount: (next, seen) => store.replaceAccount(rows.sealed('account', next), seen),
  };
}

function consentRows(store: Store, rows: RowSealing, check: RowCheck): Partial<Store> {
  return {
    insertConsent: (consent, token, entry) =>
      store.insertConsent(rows.sealed('consent', consent), rows.sealed('token', token), entry),
    async findConsent(by) {
      const consent = await store.findConsent(by);
      return consent && check.isConsent(consent) ? consent : undefined;
    },
    async listConsents(principal, limit, before) {
      const listed: ConsentRecord[] = [];
      // A shorter page means that none is left, so consents that do not match must not shorten it.
      for (let place = before; ; ) {
        const page = await store.listConsents(principal, limit, place);
        listed.push(...page.filter(check.isConsent));
        place = page.at(-1);
        const isLast = page.length < limit || Number.isNaN(place?.created_at.getTime());
        if (isLast || listed.length >= limit) return listed.slice(0, limit);
      }
    },
    async renewConsent(next, seen, child, ...[entry, bounds]) {
      demand(bounds.judged, `renew consent "${next.consent_id}"`);
      const [consent, token] = [rows.sealed('consent', next), rows.sealed('token', child)];
      const answer = await store.renewConsent(consent, seen, token, entry, bounds);
      if (answer === 'parent_altered') check.altered('token', child.parent_token_id ?? '');
      return answer;
    },
  };
}

/**
 * A passkey that does not match counts as one that was removed: it confirms nothing, nothing that it says is shown,
 * and the next passkey of its person waits.
 */
function passkeyRows(store: Store, rows: RowSealing, check: RowCheck): Partial<Store> {
  return {
    insertPasskey: (passkey, ...rest) =>
      store.insertPasskey(rows.sealed('passkey', passkey), ...rest),
    async listPasskeys(...query) {
      const found = await store.listPasskeys(...query);
      return found.map((each) => (check.isPasskey(each) ? each : removedOf(each)));
    },
  };
}

function removedOf({ passkey }: StoredPasskey): StoredPasskey {
  const { credential_id } = passkey;
  return { passkey: { ...passkey, label: credential_id }, removed_at: new Date(0) };
}

/**
 * A connected account that does not match counts as absent, and a new login of the person replaces it. It can still
 * be listed and end: its tokens open only for the person and the account that they were sealed for.
 */
function connectedRows(store: Store, rows: RowSealing, check: RowCheck): Partial<Store> {
  return {
    async findConnected(place) {
      const found = await store.findConnected(place);
      return found && check.isConnected(found) ? found : undefined;
    },
    async connect(record, seen, entry) {
      const found = await store.findConnected(record);
      const isHidden = found !== undefined && seen === undefined && !check.isConnected(found);
      const replaced = isHidden ? found.connection_id : seen;
      return store.connect(rows.sealed('connected_account', record), replaced, entry);
    },
    replaceConnected: (next, seen) =>
      store.replaceConnected(rows.sealed('connected_account', next), seen),
  };
}

/**
 * An identity that does not match counts as absent, and so does one of a log that ended. It can still be removed, with
 * an alarm: its row could match again later.
 */
function identityRows(store: Store, rows: RowSealing, check: RowCheck): Partial<Store> {
  return {
    insertIdentity: (identity, ...rest) =>
      store.insertIdentity(rows.sealed('identity', identity), ...rest),
    async findIdentity(keySha256) {
      const identity = await store.findIdentity(keySha256);
      return identity && check.isIdentity(identity) ? identity : undefined;
    },
    async identitiesOf(...query) {
      return (await store.identitiesOf(...query)).filter(check.isIdentity);
    },
    async listIdentities(...query) {
      const page = await store.listIdentities(...query);
      return { ...page, identities: page.identities.filter(check.isIdentity) };
    },
    removeIdentity: (identityId, removed, ...rest) => {
      const sealed = (kept: RemovedIdentity) => rows.sealed('identity', kept);
      return store.removeIdentity(
        identityId,
        // An altered row gets no MAC, so fsck names it for as long as it is there.
        (kept) =>
          check.isIdentity(kept) ? sealed(removed(kept)) : { ...removed(kept), mac: undefined },
        ...rest,
      );
    },
  };
}

/**
 * Without `judged` the store would compare nothing and accept an altered row: a defect of the
 * caller.
 */
function demand(judged: Admission['judged'], what: string): void {
  if (judged === undefined) throw new Error(`Cannot ${what}: its lineage was not checked`);
}

/** The loaded rows without those that do not match. */
function authentic(loaded: Loaded, check: RowCheck, { now }: Pick<Store, 'now'>): Loaded {
  const { token, lineage, freezes, grant, bindings } = loaded;
  const counted = token && check.lineageOf({ token, lineage });
  const isPlain = !grant && freezes.length === 0 && bindings.length === 0;
  if (counted === lineage && isPlain) return loaded;
  return {
    ...loaded,
    ...(counted ? { lineage: counted } : { token: undefined, lineage: [], idempotency: undefined }),
    freezes: check.inForce(freezes, now()),
    grant: grant && check.isGrant(grant) ? grant : undefined,
    bindings: bindings.filter(check.isBinding),
  };
}
