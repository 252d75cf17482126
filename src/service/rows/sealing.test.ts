import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { outcomeEntry } from '../../../test/support/entries.ts';
import {
  admission,
  admitCall,
  approval,
  at,
  binding,
  cents,
  childToken,
  entry,
  freezeOf,
  newId,
  rootToken,
  settlement,
  usd,
} from '../../../test/support/fixtures.ts';
import { listedRowKeys } from '../../keyring/row-keys.ts';
import { createLog } from '../../log.ts';
import { checkMacs } from '../../storage/fsck/macs.ts';
import { openStore } from '../../storage/open.ts';
import type { IntentRecord } from '../../storage/port/records.ts';
import { rowText } from '../../storage/port/row-forms.ts';
import type { Store } from '../../storage/port/store.ts';
import { createAlarms } from '../operations/alarms.ts';
import { openRowLogs, type RowLogs } from './row-check.ts';
import { serviceStore } from './service-store.ts';

const keyOf = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const clock = () => new Date();

let raw: Store;
let store: Store;
let logs: RowLogs;
let lines: string[];
let raised: string[];
const rows = listedRowKeys(keyOf(1), clock);

beforeEach(async () => {
  raw = closedAtEnd(await openStore('memory:'));
  lines = [];
  raised = [];
  const alarms = createAlarms(createLog('error', { write: (line) => void lines.push(line) }));
  alarms.watch((alarm) => raised.push(alarm));
  logs = await openRowLogs(raw);
  store = serviceStore(raw, { rows, alarms, logs });
});

test('serviceStore() returns the rows it wrote and raises no alarm', async () => {
  const root = rootToken();
  await store.insertRoot(root, entry());

  const { token, lineage } = await store.load({ tokenId: root.token_id });

  assert.equal(token?.token_id, root.token_id);
  assert.equal(lineage.length, 1);
  assert.deepEqual(raised, []);
});

test('serviceStore() counts every read of a row without a MAC and logs one line', async () => {
  const root = rootToken();
  await raw.insertRoot(root, entry());

  for (let times = 0; times < 3; times += 1) {
    assert.equal((await store.load({ tokenId: root.token_id })).token, undefined);
  }

  assert.deepEqual(raised, ['row_altered', 'row_altered', 'row_altered']);
  assert.equal(lines.length, 1);
});

test('serviceStore() hides a child whose parent does not match', async () => {
  const root = rootToken();
  await raw.insertRoot(root, entry());
  const child = childToken(root);
  const mac = rows.macOf(rowText('token', child));
  await raw.insertChild({ ...child, mac }, entry(), { now: at(0), childrenMax: 9 });

  const { token, lineage } = await store.load({ tokenId: child.token_id });

  assert.deepEqual([token, lineage], [undefined, []]);
});

/** A call of unknown outcome whose row has a charge of 90 dollars. `changed` alters its entry. */
async function unknownCall(changed?: (intent: IntentRecord, other: string) => IntentRecord) {
  const root = rootToken({ budget: cents(10_000) });
  const other = rootToken();
  for (const each of [root, other]) await store.insertRoot(each, entry());
  const { lineage: judged } = await store.load({ tokenId: root.token_id });
  const call = await admitCall(store, root, { charge: usd(9_000n), judged });
  const intent = changed ? changed(call.intent, other.token_id) : call.intent;
  const outcome = 'indeterminate';
  await store.settle(settlement(call, { outcome, entry: outcomeEntry(intent, { outcome }) }));
  const spent = async () =>
    (await store.load({ tokenId: root.token_id })).lineage[0]?.budget?.consumed;
  return { id: call.intent.invocation_id, spent };
}

test('serviceStore() refunds a charge that the entry of the call confirms', async () => {
  const { id, spent } = await unknownCall();

  const intent = await store.reconcile(id, true, () => entry());

  assert.notEqual(intent, undefined);
  assert.deepEqual([await spent(), raised], [0n, []]);
});

for (const [name, changed] of [
  ['another amount', (intent) => ({ ...intent, charge: usd(10n) })],
  ['another currency', (intent) => ({ ...intent, charge: { currency: 'EUR', amount: 9_000n } })],
  ['another token', (intent, token_id) => ({ ...intent, token_id })],
  ['no charge', (intent) => ({ ...intent, charge: undefined })],
  ['another call', (intent) => ({ ...intent, invocation_id: newId('inv-') })],
] as [string, (intent: IntentRecord, other: string) => IntentRecord][]) {
  test(`serviceStore() refunds nothing when the entry has ${name}`, async () => {
    const { id, spent } = await unknownCall(changed);

    const intent = await store.reconcile(id, true, () => entry());

    assert.equal(intent, undefined);
    assert.deepEqual([await spent(), raised], [9_000n, ['row_altered']]);
    assert.match(lines.join(), /the entry of a call does not match its row/);
  });
}

test('serviceStore() refunds nothing when a later entry states the outcome', async () => {
  const { id, spent } = await unknownCall();
  const stated = { entry_type: 'operator', invocation_id: id, state: 'completed' } as const;
  await store.append([entry(stated)]);

  assert.equal(await store.reconcile(id, true, () => entry()), undefined);

  assert.deepEqual([await spent(), raised], [9_000n, ['row_altered']]);
});

/** Begins the next log, as `writ recover` does when nothing is left to void. */
async function breakLog(): Promise<void> {
  await raw.beginOrigin(await raw.sequence(), `log-${(await raw.origins()).length}`, entry());
  await logs.look();
}

test('serviceStore() returns tokens of an ended log as revoked', async () => {
  const root = rootToken();
  const child = childToken(root);
  await store.insertRoot(root, entry());
  const { lineage: judged } = await store.load({ tokenId: root.token_id });
  await store.insertChild(child, entry(), { now: at(0), childrenMax: 9, judged });

  for (let breaks = 0; breaks < 2; breaks += 1) {
    await breakLog();
    const { token, lineage } = await store.load({ tokenId: child.token_id });
    const described = await store.describeToken(child.token_id, 0);

    assert.equal(token?.token_id, child.token_id);
    for (const each of [lineage, described?.lineage ?? []]) {
      assert.deepEqual(
        each.map(({ revoked_at }) => revoked_at),
        [root.issued_at, child.issued_at],
      );
    }
  }
  assert.deepEqual(raised, []);
});

test('serviceStore() accepts rows of the current log only', async () => {
  const before = rootToken();
  await store.insertRoot(before, entry());
  const held = binding(before);
  await store.append([entry()], [held]);
  const asked = approval({ root_principal: before.root_principal });
  await store.requestApproval(asked, entry(), []);
  const frozen = freezeOf({ until: new Date('2000-01-01') });
  await store.freeze(frozen, entry());
  await breakLog();
  const after = rootToken();
  await store.insertRoot(after, entry());
  const fresh = binding(after);
  await store.append([entry()], [fresh]);

  const seen = await store.load({
    tokenId: after.token_id,
    bindingIds: [held.binding_id, fresh.binding_id],
  });

  assert.equal(seen.lineage[0]?.revoked_at, undefined);
  assert.deepEqual(
    seen.bindings.map(({ binding_id }) => binding_id),
    [fresh.binding_id],
  );
  assert.equal(await store.loadApproval(asked.approval_request_id), undefined);
  const { requests } = await store.listApprovals({ now: at(0), status: 'pending', limit: 9 });
  assert.deepEqual(requests, []);
  assert.deepEqual((await store.listFreezes(2)).freezes, [], 'a freeze ends at its time');
  assert.deepEqual(raised, []);
  const { voided, altered } = await checkMacs(raw, rows.isMacOf);
  assert.deepEqual([voided, altered], [[`binding "${held.binding_id}"`], []]);
});

test('serviceStore() shows a decided request of an ended log', async () => {
  const asked = approval();
  await store.requestApproval(asked, entry(), []);
  const { approval_request_id } = asked;
  const denial = { approval_request_id, decided_by: 'human:x', reason: 'no' };
  await store.deny({ ...denial, now: at(1), entry: entry(), deliveries: [] });
  await breakLog();

  assert.equal((await store.loadApproval(approval_request_id))?.status, 'denied');
});

test('serviceStore() accepts a revocation written by another tool', async () => {
  const root = rootToken();
  await store.insertRoot(root, entry());
  const mac = rows.macOf(rowText('revocation', { token_id: root.token_id, revoked_at: at(1) }));
  await raw.revokeToken(root.token_id, at(1), () => entry(), { mac });

  const { lineage } = await store.load({ tokenId: root.token_id });

  assert.deepEqual(lineage[0]?.revoked_at, at(1));
  assert.deepEqual(raised, []);
});

test('serviceStore() throws when admission or delegation passes no judged lineage', async () => {
  const root = rootToken();
  await store.insertRoot(root, entry());

  assert.throws(() => store.admit(admission(root)), /its lineage was not checked/);
  await assert.rejects(
    async () => store.insertChild(childToken(root), entry(), { now: at(0), childrenMax: 9 }),
    /its lineage was not checked/,
  );
});
