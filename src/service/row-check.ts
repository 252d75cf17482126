/**
 * Row check: whether a row is the one that was kept, and the alarm where it is not.
 *
 * A token's record is verified once: stores give the same record for the same row, so later checks
 * cost one lookup. Other rows are verified each time they are read.
 *
 * @module
 */

import type { RowKeys } from '../keyring/row-keys.ts';
import type { Loaded } from '../storage/invocation-store.ts';
import type {
  ApprovalRecord,
  BindingRecord,
  FreezeRecord,
  GrantRecord,
  LineageLink,
  TokenRecord,
} from '../storage/records.ts';
import { type RowKind, type RowOf, rowText, votesOf } from '../storage/row-forms.ts';
import type { Alarms } from './alarms.ts';

export interface RowCheck {
  /** Tells of a row that does not match. */
  altered(kind: RowKind, id: string): void;
  /** Whether every row of a lineage, root first, is the one that was kept. */
  isLineage(read: Lineage): boolean;
  isBinding(binding: BindingRecord): boolean;
  isGrant(grant: GrantRecord): boolean;
  /** Whether the request and each of its votes is the one that was kept. */
  isApproval(request: ApprovalRecord): boolean;
  /** Those whose time has not passed, and those that do not match: they stay. */
  inForce(freezes: readonly FreezeRecord[], now: Date): readonly FreezeRecord[];
}

interface Lineage {
  readonly token: TokenRecord;
  readonly lineage: Loaded['lineage'];
}

export function createRowCheck(rows: RowKeys, alarms: Alarms): RowCheck {
  const altered: RowCheck['altered'] = (kind, id) => {
    const message = `the MAC of a ${kind} does not match its row: it was changed outside the service`;
    alarms.raise('row_altered', { kind, id }, message);
  };
  const matches: Matches = (kind, id, row) => {
    const isMatch = row.mac !== undefined && isMacOf(rows, kind, row, row.mac);
    if (!isMatch) altered(kind, id);
    return isMatch;
  };
  return {
    altered,
    isLineage: createLineageCheck(rows, matches, altered),
    isBinding: (binding) => matches('binding', binding.binding_id, binding),
    isGrant: (grant) => matches('grant', grant.grant_id, grant),
    isApproval: (request) => {
      const id = request.approval_request_id;
      const isAsKept = matches('approval', id, request);
      return (
        votesOf(request).every((vote) => matches('vote', `${id} ${vote.approver}`, vote)) &&
        isAsKept
      );
    },
    inForce: (freezes, now) =>
      freezes.filter((freeze) => {
        const isAsKept = matches('freeze', `${freeze.what} ${freeze.target}`.trim(), freeze);
        return !isAsKept || freeze.until === undefined || freeze.until > now;
      }),
  };
}

/** Whether the MAC of a row matches; raises the alarm where it does not. */
type Matches = <Kind extends RowKind>(
  kind: Kind,
  id: string,
  row: RowOf<Kind> & { mac?: string | undefined },
) => boolean;

function createLineageCheck(
  rows: RowKeys,
  matches: Matches,
  altered: RowCheck['altered'],
): RowCheck['isLineage'] {
  let verified = new WeakSet<TokenRecord>();
  let revision = rows.revision();

  function isToken(token: TokenRecord): boolean {
    if (verified.has(token)) return true;
    if (!matches('token', token.token_id, token)) return false;
    verified.add(token);
    return true;
  }

  function isLink(link: LineageLink, id: string | undefined): boolean {
    const { token_id, revoked_at, revoked_mac } = link;
    if (token_id !== id || !isToken(link.token)) return false;
    // The revocation counts either way: only the alarm depends on its MAC.
    if (revoked_at) matches('revocation', token_id, { token_id, revoked_at, mac: revoked_mac });
    return true;
  }

  return ({ token, lineage }) => {
    // A key that was withdrawn verifies nothing any more.
    if (revision !== rows.revision()) {
      verified = new WeakSet();
      revision = rows.revision();
    }
    if (!isToken(token)) return false;
    if (lineage.length !== token.lineage.length) {
      altered('token', token.token_id);
      return false;
    }
    return lineage.every((link, place) => isLink(link, token.lineage[place]));
  };
}

/** A row that has no canonical text was not kept by us. */
function isMacOf<Kind extends RowKind>(
  rows: RowKeys,
  kind: Kind,
  row: RowOf<Kind>,
  mac: string,
): boolean {
  let text: string;
  try {
    text = rowText(kind, row);
  } catch {
    return false;
  }
  return rows.isMacOf(text, mac);
}
