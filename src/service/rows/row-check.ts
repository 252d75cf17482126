/**
 * Verifies the MAC of each row that carries authority, and raises an alarm when it does not match.
 *
 * A token record is verified once: stores return the same record for the same row, so later checks
 * cost one lookup. Other rows are verified each time they are read.
 *
 * A MAC is made for the log that is current when the row is inserted. When an operator accepts that
 * signed entries are lost, a new log begins, and the rows of the old log are void, even if they are
 * restored later. The first log has an empty label, so in a store with one log the label changes no
 * MAC.
 *
 * @module
 */

import { type Origin, rowLabelOf } from '../../domain/log/origin.ts';
import { isWritable } from '../../domain/values/money.ts';
import type { RowKeys } from '../../keyring/row-keys.ts';
import type { ConnectedRecord } from '../../storage/port/connected-store.ts';
import type { IdentityRecord } from '../../storage/port/identity-store.ts';
import type { StoredInvitation } from '../../storage/port/invitation-store.ts';
import type { Loaded } from '../../storage/port/invocation-store.ts';
import type { StoredPasskey } from '../../storage/port/passkey-store.ts';
import type {
  ApprovalRecord,
  BindingRecord,
  Charge,
  FreezeRecord,
  GrantRecord,
  LineageLink,
  TokenRecord,
} from '../../storage/port/records.ts';
import { type RowKind, type RowOf, rowText, votesOf } from '../../storage/port/row-forms.ts';
import type {
  AccountRecord,
  ConsentRecord,
  StoredSession,
} from '../../storage/port/sign-in-store.ts';
import type { Store } from '../../storage/port/store.ts';
import type { Alarms } from '../operations/alarms.ts';

export interface RowCheck {
  /** Raises the alarm for a row that does not match. */
  altered(kind: RowKind | 'call', id: string): void;
  /** The debts whose amount can be written. Others were not written by this service. */
  debtsOf(tokenId: string, debts: readonly Charge[]): readonly Charge[];
  /**
   * The lineage, root first. Tokens of a log that an operator ended are returned as revoked,
   * whatever their rows contain. Returns `undefined` when a row was altered.
   */
  lineageOf(read: Lineage): readonly LineageLink[] | undefined;
  isBinding(binding: BindingRecord): boolean;
  isGrant(grant: GrantRecord): boolean;
  /**
   * Whether the request and each of its votes match. A request of an ended log counts only when
   * decided.
   */
  isApproval(request: ApprovalRecord): boolean;
  isSession(stored: StoredSession): boolean;
  isAccount(account: AccountRecord): boolean;
  isConsent(consent: ConsentRecord): boolean;
  isPasskey(stored: StoredPasskey): boolean;
  isIdentity(identity: IdentityRecord): boolean;
  isInvitation(stored: StoredInvitation): boolean;
  isConnected(record: ConnectedRecord): boolean;
  /** Freezes whose time has not passed, and those that do not match, which stay in force. */
  inForce(freezes: readonly FreezeRecord[], now: Date): readonly FreezeRecord[];
}

interface Lineage {
  readonly token: TokenRecord;
  readonly lineage: Loaded['lineage'];
}

export function createRowCheck(rows: RowKeys, alarms: Alarms, logs: RowLogs): RowCheck {
  const altered: RowCheck['altered'] = (kind, id) => {
    const other = kind === 'call' ? 'the entry of a call' : `the MAC of a ${kind}`;
    const message = `${other} does not match its row: it was changed outside the service`;
    alarms.raise('row_altered', { kind, id }, message);
  };
  const standingOf: StandingOf = (kind, id, row) => {
    const { mac } = row;
    if (mac !== undefined) {
      if (isMacOf(rows, kind, [row, logs.current()], mac)) return 'valid';
      if (logs.older().some((log) => isMacOf(rows, kind, [row, log], mac))) return 'void';
    }
    altered(kind, id);
    return 'altered';
  };
  return {
    altered,
    debtsOf: (id, debts) =>
      debts.filter(({ currency, amount }) => {
        const isReadable = isWritable(amount, currency);
        const message = 'a debt cannot be read: its row was changed outside the service';
        if (!isReadable) alarms.raise('row_altered', { kind: 'debt', id }, message);
        return isReadable;
      }),
    lineageOf: createLineageCheck({ rows, logs, standingOf, altered }),
    isBinding: (binding) => standingOf('binding', binding.binding_id, binding) === 'valid',
    isGrant: (grant) => standingOf('grant', grant.grant_id, grant) === 'valid',
    isApproval: (request) => {
      const id = request.approval_request_id;
      const standing = standingOf('approval', id, request);
      // The MAC does not cover `decided_at`, and an unreadable time cannot be shown.
      if (Number.isNaN(request.decided_at?.getTime())) {
        altered('approval', id);
        return false;
      }
      const votes = votesOf(request).map((vote) =>
        standingOf('vote', `${id} ${vote.approver}`, vote),
      );
      if (votes.some((vote) => vote !== standing)) return false;
      return standing === 'valid' || (standing === 'void' && request.status !== 'pending');
    },
    isSession: ({ session, seen_at }) => {
      const id = session.session_id;
      const standing = standingOf('session', id, session);
      // The MAC does not cover `seen_at`, and a session whose last use is unreadable would never be idle.
      const isReadable = !Number.isNaN(seen_at.getTime());
      if (!isReadable && standing !== 'altered') altered('session', id);
      return isReadable && standing === 'valid';
    },
    isAccount: (account) => standingOf('account', account.account_id, account) === 'valid',
    isPasskey: ({ passkey, last_used_at, removed_at }) => {
      const id = passkey.credential_id;
      const standing = standingOf('passkey', id, passkey);
      // The MAC does not cover these, and an unreadable time cannot be shown.
      const isReadable = ![last_used_at, removed_at].some((at) => Number.isNaN(at?.getTime()));
      if (!isReadable && standing !== 'altered') altered('passkey', id);
      return isReadable && standing === 'valid';
    },
    isIdentity: (identity) => standingOf('identity', identity.identity_id, identity) === 'valid',
    isInvitation: ({ invitation }) =>
      standingOf('invitation', invitation.invitation_id, invitation) === 'valid',
    isConnected: (record) => {
      const id = `${record.account} ${record.principal}`;
      return standingOf('connected_account', id, record) === 'valid';
    },
    isConsent: (consent) => standingOf('consent', consent.consent_id, consent) === 'valid',
    inForce: (freezes, now) =>
      freezes.filter((freeze) => {
        const standing = standingOf('freeze', `${freeze.what} ${freeze.target}`.trim(), freeze);
        return standing !== 'valid' || freeze.until === undefined || freeze.until > now;
      }),
  };
}

/** `void`: the row matches, under a log that an operator ended. */
type Standing = 'valid' | 'void' | 'altered';

/** Compares a row with its MAC. Raises the alarm when they do not match. */
type StandingOf = <Kind extends RowKind>(
  kind: Kind,
  id: string,
  row: RowOf<Kind> & { mac?: string | undefined },
) => Standing;

interface LineageCheckOptions extends Pick<RowCheck, 'altered'> {
  readonly rows: RowKeys;
  readonly logs: RowLogs;
  readonly standingOf: StandingOf;
}

function createLineageCheck(parts: LineageCheckOptions): RowCheck['lineageOf'] {
  const { rows, logs, standingOf, altered } = parts;
  let verified = new WeakSet<TokenRecord>();
  let revision = rows.revision();
  let log = logs.current();

  function tokenStanding(token: TokenRecord): Standing {
    if (verified.has(token)) return 'valid';
    const standing = standingOf('token', token.token_id, token);
    if (standing === 'valid') verified.add(token);
    return standing;
  }

  function linkStanding(link: LineageLink, id: string | undefined): Standing {
    const { token_id, revoked_at, revoked_mac } = link;
    const standing = token_id === id ? tokenStanding(link.token) : 'altered';
    if (standing === 'altered') return standing;
    // The revocation is in force either way. Its MAC decides only about the alarm.
    if (revoked_at) standingOf('revocation', token_id, { token_id, revoked_at, mac: revoked_mac });
    return standing;
  }

  /** Forgets verified tokens when a key was withdrawn or a new log began. */
  function forget(): void {
    if (revision === rows.revision() && log === logs.current()) return;
    verified = new WeakSet();
    revision = rows.revision();
    log = logs.current();
  }

  return ({ token, lineage }) => {
    forget();
    if (tokenStanding(token) === 'altered') return undefined;
    if (lineage.length !== token.lineage.length) {
      altered('token', token.token_id);
      return undefined;
    }
    let isVoid = false;
    for (const [index, link] of lineage.entries()) {
      const standing = linkStanding(link, token.lineage[index]);
      if (standing === 'altered') return undefined;
      if (standing === 'void') isVoid = true;
    }
    return isVoid ? lineage.map(voided) : lineage;
  };
}

/** A token of an ended log counts as revoked since it was issued. */
function voided(link: LineageLink): LineageLink {
  return { ...link, revoked_at: link.revoked_at ?? link.token.issued_at };
}

/** A row without a canonical text was not written by this service. */
function isMacOf<Kind extends RowKind>(
  rows: RowKeys,
  kind: Kind,
  [row, log]: [row: RowOf<Kind>, log: string],
  mac: string,
): boolean {
  let text: string;
  try {
    text = rowText(kind, row, log);
  } catch {
    return false;
  }
  return rows.isMacOf(text, mac);
}

export interface RowLogs {
  /** The label of the current log in MACs. */
  current(): string;
  /** The labels of earlier logs. */
  older(): readonly string[];
  /** Reads the logs of the store again. */
  look(): Promise<void>;
}

/** The logs of a store. */
export interface StoreLogs extends RowLogs {
  /** The log that entries are appended to, as of the last look. */
  origin(): Origin;
}

export async function openRowLogs(store: Pick<Store, 'origins'>): Promise<StoreLogs> {
  let current = '';
  let older: readonly string[] = [];
  let origin: Origin = { logId: '', first: 0 };
  const look = async () => {
    const origins = await store.origins();
    const labels = origins.map(rowLabelOf);
    origin = origins.at(-1) ?? origin;
    current = labels.at(-1) ?? '';
    older = labels.slice(0, -1);
  };
  await look();
  return { current: () => current, origin: () => origin, older: () => older, look };
}
