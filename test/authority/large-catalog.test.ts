/**
 * A large catalog: its permissions and its documents are made a slice in a turn.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { countedSlicer, countTurns } from '../support/turns.ts';
import { ALICE, testService } from '../support/world.ts';

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

test('permissions evaluates a large catalog in slices, and omits nothing', async () => {
  const judged = countTurns();
  const service = await testService({ definition, slicer: countedSlicer(judged) });
  const { token } = await service.issue(ALICE, { scope: ['travel.search'] });

  const { body } = await service.ask('POST', '/svc/permissions', { bearer: token });

  assert.equal(body.available.length, (COUNT * 2) / 3);
  assert.equal(body.restricted.length, COUNT / 3);
  assert.equal(judged.all(), COUNT);
  assert.ok(judged.most() <= 5, `${judged.most()} in one turn`);
});

/** The first step is done at once, and then five make a slice. */
const STEPS_IN_TURN_MAX = 6;

for (const path of ['/svc/manifest', '/.well-known/svc']) {
  test(`${path} of a large catalog is made in slices, once for all waiting callers`, async () => {
    const steps = countTurns();
    const service = await testService({ definition, slicer: countedSlicer(steps) });
    const replies = await Promise.all([1, 2, 3].map(() => service.ask('GET', path)));
    const made = steps.all();
    const again = await service.ask('GET', path);

    const [{ body, headers } = again] = replies;
    const { capabilities } = body.svc_discovery ?? body;
    assert.equal(Object.keys(capabilities).length, COUNT);
    for (const reply of [...replies, again]) {
      assert.equal(reply.status, 200);
      assert.equal(reply.headers.etag, headers.etag);
      assert.equal(reply.headers['x-svc-signature'], headers['x-svc-signature']);
    }
    assert.ok(made >= COUNT && made < 2 * COUNT, `${made} steps`);
    assert.equal(steps.all(), made);
    assert.ok(steps.most() <= STEPS_IN_TURN_MAX, `${steps.most()} steps in one turn`);
  });
}
