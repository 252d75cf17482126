/**
 * A small ledger for tests of fsck: tokens, money, decisions and freezes of every kind, each with the
 * entry that the service would have made.
 *
 * @module
 */

import { canonicalJson, textDigest } from '../../src/domain/wire/canonical.ts';
import type { Store } from '../../src/storage/port/store.ts';
import {
  approvalEntry,
  entry,
  freezeEntry,
  reconcileEntry,
  requestEntry,
  revocationEntry,
  unfreezeEntry,
} from '../support/entries.ts';
import {
  admission,
  admitCall,
  approval,
  at,
  cents,
  chain,
  freezeOf,
  grantFor,
  HOUR,
  SECOND,
  settlement,
  TERMS,
  usd,
  useOf,
} from '../support/fixtures.ts';

/** Ids of what there is. */
export interface SmallLedger {
  readonly root: string;
  /** Below the root; both have spent 15 cents, and 7 are reserved. */
  readonly child: string;
  /** A root without a budget. */
  readonly revoked: string;
  /** A root whose call reported 5 cents more than was reserved. */
  readonly owing: string;
  readonly pending: string;
  readonly denied: string;
  /** By two approvers; the grant was used twice, once by a call that is open. */
  readonly granted: string;
  readonly grant: string;
  /** A failed invocation of the child that cost 5 cents of 10. */
  readonly closed: string;
  /** The invocation whose unknown outcome an operator told. */
  readonly reconciled: string;
  /** The one whose outcome is unknown still: 10 cents of the child. */
  readonly unknown: string;
}

const upTo = (at_most: number) => ({
  book_flight: { inputs: { seats: 'integer' }, where: { seats: { at_least: 1, at_most } } },
});

export async function fillLedger(store: Store): Promise<SmallLedger> {
  const budget = cents(1_000);
  const [root, child] = await chain(store, [
    { budget, conditions: upTo(9) },
    { budget, conditions: upTo(5), purpose: { task_id: 'trip' }, capability: 'book_flight' },
  ]);
  const [revoked] = await chain(store, [{}]);
  const [owing] = await chain(store, [{}]);
  if (!root || !child || !revoked || !owing)
    throw new Error('Cannot fill the ledger: a token is missing');
  await store.revokeToken(revoked.token_id, at(1), () => revocationEntry(revoked.token_id));

  const spend = async (changed: Parameters<typeof settlement>[1]) => {
    const call = await admitCall(store, child, { charge: usd(10n) });
    await store.settle(settlement(call, changed));
    return call.intent.invocation_id;
  };
  const over = await admitCall(store, owing, { charge: usd(10n) });
  const overrun = { token_id: owing.token_id, debt: usd(5n) };
  await store.settle(settlement(over, { overrun }));
  const closed = await spend({ outcome: 'failed', actual: 5n });
  await spend({ outcome: 'no_effect' });
  const unknown = await spend({ outcome: 'indeterminate' });
  const reconciled = await spend({ outcome: 'indeterminate' });
  await store.reconcile(reconciled, true, () => reconcileEntry(reconciled, true));

  const pending = approval();
  await store.requestApproval(pending, requestEntry(pending), []);
  const denied = await deny(store);
  const { subject, root_principal, chain: asker } = child;
  const request = approval({ subject, root_principal, chain: asker, approvals_required: 2 });
  const grant = grantFor(request, { max_uses: 3, grant_type: 'one_time' });
  await approve(store, request, grant);
  const first = await admitCall(store, child, { grant: useOf(grant) });
  await store.settle(settlement(first));
  await store.admit(admission(child, { grant: useOf(grant), charge: usd(7n) }));

  await freeze(store);
  const declaration = canonicalJson({ contract_version: '1.0.0', description: 'Books a flight' });
  const kept = { capability: 'book_flight', contract_version: '1.0.0', kept_at: at(SECOND) };
  await store.keepDeclarations([{ ...kept, declaration, digest: textDigest(declaration) }], []);
  return {
    root: root.token_id,
    child: child.token_id,
    revoked: revoked.token_id,
    owing: owing.token_id,
    pending: pending.approval_request_id,
    denied,
    granted: request.approval_request_id,
    grant: grant.grant_id,
    closed,
    reconciled,
    unknown,
  };
}

async function deny(store: Store): Promise<string> {
  const request = approval();
  const { approval_request_id, capability } = request;
  await store.requestApproval(request, requestEntry(request), []);
  const decided_by = 'human:approver@example.com';
  const detail = { decision: 'denied', reason: 'no' };
  await store.deny({
    approval_request_id,
    decided_by,
    reason: 'no',
    now: at(SECOND),
    deliveries: [],
    entry: entry({
      entry_type: 'approval_decision',
      approval_request_id,
      capability,
      detail,
      root_principal: decided_by,
    }),
  });
  return approval_request_id;
}

async function approve(
  store: Store,
  request: ReturnType<typeof approval>,
  grant: ReturnType<typeof grantFor>,
): Promise<void> {
  const { approval_request_id } = request;
  await store.requestApproval(request, requestEntry(request), []);
  for (const [approvalsSeen, approver] of ['human:one', 'human:two'].entries()) {
    const given = approvalsSeen === 1 ? grant : undefined;
    await store.approve({
      approval_request_id,
      approver,
      now: at(SECOND),
      approvalsSeen,
      grant: given,
      terms: TERMS,
      deliveries: [],
      entry: approvalEntry(request, { approver, terms: TERMS }, given),
    });
  }
}

async function freeze(store: Store): Promise<void> {
  const service = freezeOf();
  await store.freeze(service, freezeEntry(service));
  await store.unfreeze(service, unfreezeEntry(service));
  const capability = freezeOf({ what: 'capability', target: 'book_flight', until: at(9 * HOUR) });
  await store.freeze(capability, freezeEntry(capability));
}
