/**
 * The store as the service uses it: every row that carries authority is authenticated.
 *
 * Rows get their MAC on the way in and are verified on the way out, so no operation has to remember
 * to. A row that gives authority and does not match is absent, for every caller in the same words. A
 * row that ends authority (a revocation, a freeze) stays in force when it does not match: to leave it
 * out would give back what somebody took away. Either raises an alarm.
 *
 * A token's record is verified once: stores give the same record for the same row, so for the rest
 * of its life it costs one lookup. What admission and delegation hold is compared in the store with
 * what was verified here (`judged`), so that no row can be changed in between.
 *
 * @module
 */

import type { RowKeys } from '../keyring/row-keys.ts';
import type { Admission, Loaded } from '../storage/invocation-store.ts';
import type { BindingRecord, FreezeRecord, LineageLink, TokenRecord } from '../storage/records.ts';
import { type RowKind, type RowOf, rowText } from '../storage/row-forms.ts';
import type { Store } from '../storage/store.ts';
import type { Alarms } from './alarms.ts';

export function authenticStore(store: Store, rows: RowKeys, alarms: Alarms): Store {
  const check = createRowCheck(rows, alarms);
  const own: Partial<Store> = {
    ...tokenRows(store, rows, check),
    ...callRows(store, rows, check),
    freeze: (freeze, ...rest) => store.freeze(sealed(rows, 'freeze', freeze), ...rest),
    frozen: async () => check.inForce(await store.frozen(), store.now()),
  };
  // Everything else is the store's own.
  return Object.assign(Object.create(store) as Store, own);
}

/** The row with its MAC. */
export function sealed<Kind extends RowKind, Row extends RowOf<Kind>>(
  rows: RowKeys,
  kind: Kind,
  row: Row,
): Row & { mac: string } {
  return { ...row, mac: rows.macOf(rowText(kind, row)) };
}

/** The MAC of a revocation: what `revokeToken` keeps in the token's row beside the time. */
export function revocationMac(rows: RowKeys, token_id: string, revoked_at: Date): string {
  return rows.macOf(rowText('revocation', { token_id, revoked_at }));
}

function tokenRows(store: Store, rows: RowKeys, check: RowCheck): Partial<Store> {
  return {
    insertRoot: (token, entry) => store.insertRoot(sealed(rows, 'token', token), entry),
    async insertChild(token, entry, bounds) {
      demand(bounds.judged, `keep token "${token.token_id}"`);
      const answer = await store.insertChild(sealed(rows, 'token', token), entry, bounds);
      if (answer === 'parent_altered') check.altered('token', token.parent_token_id ?? '');
      return answer;
    },
    revokeToken: (tokenId, now, entry, by) => {
      const mac = revocationMac(rows, tokenId, now);
      return store.revokeToken(tokenId, now, entry, { ...by, mac });
    },
    async describeToken(tokenId, childrenMax) {
      const described = await store.describeToken(tokenId, childrenMax);
      return described && check.isLineage(described) ? described : undefined;
    },
  };
}

function callRows(store: Store, rows: RowKeys, check: RowCheck): Partial<Store> {
  const bound = (bindings: readonly BindingRecord[]) =>
    bindings.length === 0 ? bindings : bindings.map((each) => sealed(rows, 'binding', each));
  return {
    load: (request) => store.load(request).then((loaded) => check.loaded(loaded, store.now)),
    admit: (admission) => {
      demand(admission.judged, `admit "${admission.intent.operation_id}"`);
      return store.admit(admission).then((answer) => {
        if (!answer.admitted && answer.reason === 'altered')
          check.altered('token', answer.token_id);
        return answer;
      });
    },
    settle: (settlement) => {
      if (settlement.bindings.length === 0) return store.settle(settlement);
      return store.settle({ ...settlement, bindings: bound(settlement.bindings) });
    },
    append: (entries, bindings = []) => store.append(entries, bound(bindings)),
    endStep: (step, instanceId, kept) => {
      return store.endStep(step, instanceId, { ...kept, bindings: bound(kept.bindings) });
    },
  };
}

/** A step that compares nothing would let an altered row through: a defect of the caller. */
function demand(judged: Admission['judged'], what: string): void {
  if (judged === undefined) throw new Error(`Cannot ${what}: its lineage was not judged`);
}

interface RowCheck {
  /** Tells of a row that does not match. */
  altered(kind: RowKind, id: string): void;
  /** Whether every row of a lineage, root first, is the one that was kept. */
  isLineage(read: { token: TokenRecord; lineage: readonly LineageLink[] }): boolean;
  loaded(loaded: Loaded, now: () => Date): Loaded;
  /** Those whose time has not passed, and those that do not match: they stay. */
  inForce(freezes: readonly FreezeRecord[], now: Date): readonly FreezeRecord[];
}

function createRowCheck(rows: RowKeys, alarms: Alarms): RowCheck {
  let verified = new WeakSet<TokenRecord>();
  let revision = rows.revision();

  function altered(kind: RowKind, id: string): void {
    const message = `the MAC of a ${kind} does not match its row: it was changed outside the service`;
    alarms.raise('row_altered', { kind, id }, message);
  }

  function isMatch<Kind extends RowKind>(kind: Kind, row: RowOf<Kind>, mac: string | undefined) {
    return mac !== undefined && isMacOf(rows, kind, row, mac);
  }

  function isToken(token: TokenRecord): boolean {
    if (verified.has(token)) return true;
    if (!isMatch('token', token, token.mac)) {
      altered('token', token.token_id);
      return false;
    }
    verified.add(token);
    return true;
  }

  function checkRevocation({ token_id, revoked_at, revoked_mac }: LineageLink): void {
    if (revoked_at && !isMatch('revocation', { token_id, revoked_at }, revoked_mac)) {
      altered('revocation', token_id);
    }
  }

  function isLineage({ token, lineage }: { token: TokenRecord; lineage: Loaded['lineage'] }) {
    // A key that was withdrawn verifies nothing any more.
    if (revision !== rows.revision()) {
      verified = new WeakSet();
      revision = rows.revision();
    }
    if (lineage.length !== token.lineage.length) {
      altered('token', token.token_id);
      return false;
    }
    for (let place = 0; place < lineage.length; place += 1) {
      const link = lineage[place] as LineageLink;
      if (link.token_id !== token.lineage[place] || !isToken(link.token)) return false;
      if (link.revoked_at !== undefined) checkRevocation(link);
    }
    return lineage.at(-1)?.token === token || isToken(token);
  }

  function isBinding(binding: BindingRecord): boolean {
    if (isMatch('binding', binding, binding.mac)) return true;
    altered('binding', binding.binding_id);
    return false;
  }

  function inForce(freezes: readonly FreezeRecord[], now: Date): readonly FreezeRecord[] {
    return freezes.filter((freeze) => {
      const isAsKept = isMatch('freeze', freeze, freeze.mac);
      if (!isAsKept) altered('freeze', `${freeze.what} ${freeze.target}`.trim());
      return !isAsKept || freeze.until === undefined || freeze.until > now;
    });
  }

  return {
    altered,
    isLineage,
    inForce,
    loaded(loaded, now) {
      const { token, lineage, freezes, bindings } = loaded;
      const isKnown = token !== undefined && isLineage({ token, lineage });
      if (isKnown && freezes.length === 0 && bindings.length === 0) return loaded;
      const held = isKnown
        ? loaded
        : { ...loaded, token: undefined, lineage: [], idempotency: undefined };
      return {
        ...held,
        freezes: inForce(freezes, now()),
        bindings: bindings.filter(isBinding),
      };
    },
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
