/**
 * What an entry keeps of a call's parameters and result, as the capability declares it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Observability } from '../../src/protocol/capability.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { group } from '../support/missing.ts';
import { STORES, testService } from '../support/world.ts';
import { ALICE, SETTINGS } from './principals.ts';

function booking(name: string, observability?: Observability) {
  return defineCapability({
    name,
    description: 'Books',
    side_effect: 'write',
    minimum_scope: ['w.use'],
    inputs: [
      { name: 'who', type: 'string' },
      { name: 'card', type: 'string' },
    ],
    output: { type: 'object', fields: ['booking', 'receipt'] },
    ...(observability && { observability }),
    handler({ who }) {
      if (who === 'nobody') throw new Error('broken');
      return { booking: 'b-1', receipt: 'private' };
    },
  });
}

const fields_logged = ['who', 'booking'];
const definition = createService({
  id: 'careful-desk',
  capabilities: [
    booking('quiet'),
    booking('told', { retention: 'P30D', fields_logged }),
    booking('silent', { logged: false, fields_logged }),
  ],
});

for (const place of STORES) {
  group(place.name, async () => {
    const opened = await place.open();
    const service = await testService({ store: opened.url, definition, settings: SETTINGS });
    const token = await service.issue(ALICE, { scope: ['w.use'], subject: 'agent:a' });
    const bearer = token.token;

    async function entryOf(capability: string, who: string) {
      const { body } = await service.invoke(bearer, capability, { who, card: '4111' });
      const query = `/svc/audit?invocation_id=${body.invocation_id}&include=leaf`;
      const audit = await service.ask('POST', query, { bearer });
      assert.equal(audit.body.count, 1);
      const [entry] = audit.body.entries;
      return { entry, leaf: Buffer.from(entry.leaf, 'base64').toString() };
    }

    test('invoke() records the digest of the parameters and no value by default', async () => {
      const { entry, leaf } = await entryOf('quiet', 'ann');

      assert.equal(entry.detail, null);
      assert.match(entry.parameters_digest, /^sha256:/);
      assert.doesNotMatch(leaf, /ann|4111|b-1|private/);
    });

    test('invoke() records only the listed fields and the retention', async () => {
      const { entry, leaf } = await entryOf('told', 'ann');

      assert.deepEqual(entry.detail, {
        parameters: { who: 'ann' },
        result: { booking: 'b-1' },
      });
      assert.equal(entry.retention, 'P30D');
      assert.doesNotMatch(leaf, /4111|private/);
    });

    test('invoke() records the sent parameters of a failed call', async () => {
      const { entry } = await entryOf('told', 'nobody');

      assert.equal(entry.state, 'failed');
      assert.deepEqual(entry.detail, { parameters: { who: 'nobody' } });
    });

    test('invoke() records no value of a capability that is not logged', async () => {
      const { entry, leaf } = await entryOf('silent', 'ann');

      assert.equal(entry.detail, null);
      assert.doesNotMatch(leaf, /ann|b-1/);
    });
  });
}
