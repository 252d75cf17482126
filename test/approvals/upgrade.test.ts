/**
 * Starts of a service whose declarations changed: what the log says, and what the store keeps.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { listedRowKeys } from '../../src/keyring/row-keys.ts';
import { createLog } from '../../src/log.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService, type ServiceDefinition } from '../../src/service/author/definition.ts';
import { upgradeWarnings } from '../../src/service/author/upgrade.ts';
import { createAlarms } from '../../src/service/operations/alarms.ts';
import { openRowLogs } from '../../src/service/rows/row-check.ts';
import { serviceStore } from '../../src/service/rows/service-store.ts';
import { openStore } from '../../src/storage/open.ts';
import { type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { approval, entry } from '../support/fixtures.ts';
import { group } from '../support/missing.ts';
import { STORES, testService } from '../support/world.ts';
import { assertRefused, CLERK, createWorld, OPERATOR, SETTINGS, startDesk } from './desk.ts';

function serviceOf(changes: Readonly<Record<string, object>>, id = 'desk'): ServiceDefinition {
  const capabilities = Object.entries(changes).map(([name, more]) =>
    defineCapability({
      name,
      description: `Does ${name}`,
      side_effect: 'read',
      minimum_scope: ['desk.use'],
      handler: () => ({}),
      ...more,
    }),
  );
  return createService({ id, capabilities });
}

for (const { name, open } of STORES) {
  group(name, async () => {
    const place = await open();
    const store = closedAtEnd(await openStore(place.url));
    const started = (changes: Readonly<Record<string, object>>, on: Store = store) =>
      upgradeWarnings(on, serviceOf(changes).catalog);
    const keptNames = async () =>
      (await store.keptDeclarations(99)).map(({ capability }) => capability);

    test('upgradeWarnings() keeps what a first start declares, and says nothing', async () => {
      assert.deepEqual(await started({ pay: {}, look: {} }), []);
      assert.deepEqual(await keptNames(), ['look', 'pay']);
    });

    test('upgradeWarnings() names the fields that changed without a new version, once', async () => {
      const changed = { pay: { description: 'Pays', output: { type: 'x', fields: ['a'] } } };

      const warnings = await started({ ...changed, look: {} });
      const again = await started({ ...changed, look: {} });

      assert.deepEqual(warnings, [
        'Capability "pay" changed without a new contract_version (description, output.type, output.fields): no pending approval depends on it; write a higher contract_version than 1.0.0 when a declaration changes',
      ]);
      assert.deepEqual(again, []);
    });

    test('upgradeWarnings() says nothing about a change with a new version', async () => {
      const warnings = await started({ pay: { contract_version: '1.1.0' }, look: {} });

      assert.deepEqual(warnings, []);
    });

    test('upgradeWarnings() names a removed capability while a request waits for it', async () => {
      await started({ pay: {}, look: {}, sign: {} });
      const now = store.now();
      const expires_at = new Date(now.getTime() + 3_600_000);
      const request = approval({ capability: 'sign', created_at: now, expires_at });
      await store.requestApproval(request, entry(), []);

      const warnings = await started({ pay: {} });
      const later = await started({ pay: {} });
      const names = await keptNames();
      const { approval_request_id } = request;
      const denial = { decided_by: 'human:b', reason: 'gone', now, entry: entry(), deliveries: [] };
      await store.deny({ approval_request_id, ...denial });

      const said =
        'Capability "sign" is no longer declared: 1 pending approval request and 0 unused grants can no longer be used';
      assert.deepEqual(warnings, [said]);
      assert.deepEqual(later, [said]);
      assert.deepEqual(names, ['pay', 'sign']);
      assert.deepEqual(await started({ pay: {} }), []);
      assert.deepEqual(await keptNames(), ['pay']);
    });

    test('upgradeWarnings() of several processes that start at once keep one row each', async () => {
      const changed = { pay: { description: 'At once' } };

      const all = await Promise.all([started(changed), started(changed), started(changed)]);

      assert.ok(all.flat().every((warning) => warning.startsWith('Capability "pay" changed')));
      assert.ok(all.flat().length > 0);
      assert.deepEqual(await keptNames(), ['pay']);
    });

    test('upgradeWarnings() of an older process beside a newer one names the change back', async () => {
      await started({ pay: { description: 'New' } });

      const back = await started({ pay: { description: 'Old' } });

      assert.match(back.join(), /"pay" changed without a new contract_version \(description\)/);
    });

    test('upgradeWarnings() survives rows that were edited by hand', async () => {
      const [row] = await store.keptDeclarations(1);
      assert.ok(row);
      await store.keepDeclarations([{ ...row, digest: 'edited', declaration: '{"no' }], []);

      const warnings = await started({ pay: {} });

      assert.match(warnings.join(), /"pay" changed without a new contract_version \(declaration\)/);
    });

    test('upgradeWarnings() writes nothing while the log is withheld', async () => {
      await started({ pay: {} });
      const withheld = serviceStore(store, {
        rows: listedRowKeys(Buffer.alloc(32, 1).toString('base64'), () => new Date()),
        alarms: createAlarms(createLog('error')),
        logs: await openRowLogs(store),
        withheld: () => 'rolled back',
      });

      const warnings = await started({ pay: { description: 'Withheld' } }, withheld);
      const again = await started({ pay: { description: 'Withheld' } }, withheld);

      assert.equal(warnings.length, 1);
      assert.deepEqual(again, warnings);
    });

    test('upgradeWarnings() reports a bounded number of capabilities', async () => {
      const names = Array.from({ length: 23 }, (_, place) => `cap_${place}`);
      const all = (description: string) =>
        Object.fromEntries(names.map((each) => [each, { description }]));
      await started(all('one'));

      const warnings = await started(all('two'));

      assert.equal(warnings.length, 21);
      assert.equal(warnings.at(-1), '3 more capabilities changed without a new contract_version');
    });
  });
}

test('a start logs what a changed declaration does to requests and grants', async () => {
  const keys = mkdtempSync(join(tmpdir(), 'writ-keys-'));
  const opened = await openStore('memory:');
  const wrap = () => ({ ...opened, close: async () => undefined });
  const before = await startDesk({ wrap, settings: { keys } });
  const token = await before.token();
  await before.granted(await before.asked(token, 'sign'));
  await before.asked(token, 'sign', { note: 'waits' });
  await before.close();

  const world = createWorld({ described: 'Changes' });
  const after = await startDesk({ wrap, settings: { keys }, world });
  await after.close();
  await opened.close();
  rmSync(keys, { recursive: true });

  const warned = after.log.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn');
  const messages = warned.map(({ msg }) => msg);
  assert.ok(
    messages.includes(
      'Capability "sign" changed without a new contract_version (description): 1 pending approval request and 1 unused grant can no longer be used; write a higher contract_version than 1.0.0 when a declaration changes',
    ),
    messages.join('\n'),
  );
});

test('an approver of a capability that asks no more is told the same by reading and by approving', async () => {
  const keys = temporaryFolder();
  const opened = closedAtEnd(await openStore('memory:'));
  const wrap = () => ({ ...opened, close: async () => undefined });
  const before = await startDesk({ wrap, settings: { keys } });
  const id = await before.asked(await before.token(), 'sign');
  await before.close();
  const definition = serviceOf(
    { sign: {}, pay: { approval: { when: 'always' } } },
    'approval-desk',
  );

  const after = await startDesk({
    wrap,
    settings: { keys },
    world: { ...createWorld(), definition },
  });

  assert.equal((await after.read(CLERK, id)).status, 200);
  assert.equal((await after.approve(CLERK, id)).status, 200);
  assertRefused(await after.approve(OPERATOR, id), 'not_found');
});

test('a start goes on when the declarations cannot be compared', async () => {
  const fails = async () => {
    throw new StoreUnavailable('away');
  };
  const service = await testService({
    settings: SETTINGS,
    definition: serviceOf({ pay: {} }),
    wrap: (store) => ({ ...store, keptDeclarations: fails }),
  });

  const ready = await service.ask('GET', '/readyz');
  await service.close();

  assert.equal(ready.status, 200);
  assert.ok(service.log.some((line) => line.includes('could not compare the declarations')));
});
