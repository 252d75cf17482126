/**
 * Permissions over a large catalog: every capability judged, a slice in a turn.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { defineCapability } from '../../src/service/define.ts';
import { createService } from '../../src/service/definition.ts';
import { ALICE, testService } from '../service/harness.ts';
import { countedSlicer, countTurns } from '../service/turns.ts';

const COUNT = 300;

const definition = createService({
  id: 'large-desk',
  capabilities: Array.from({ length: COUNT }, (_, i) =>
    defineCapability({
      name: `capability_${i}`,
      description: `Tests number ${i}`,
      contract_version: '1.0.0',
      minimum_scope: [i % 3 === 0 ? 'travel.book' : 'travel.search'],
      side_effect: 'read',
      inputs: [],
      handler: () => ({}),
    }),
  ),
});

test('permissions judges a large catalog in slices, and leaves nothing out', async () => {
  const judged = countTurns();
  const service = await testService({ definition, slicer: countedSlicer(judged) });
  try {
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });

    const { body } = await service.ask('POST', '/svc/permissions', { bearer: token });

    assert.equal(body.available.length, (COUNT * 2) / 3);
    assert.equal(body.restricted.length, COUNT / 3);
    assert.equal(judged.all(), COUNT);
    assert.ok(judged.most() <= 5, `${judged.most()} in one turn`);
  } finally {
    judged.stop();
    await service.close();
  }
});
