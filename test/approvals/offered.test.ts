/**
 * Approvals are offered where a capability may need one, and nowhere else.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createService, defineCapability } from '../../src/index.ts';
import { type TestService, testService } from '../support/world.ts';

test('a service without an approval policy neither offers nor advertises approvals', async () => {
  const look = defineCapability({
    name: 'look',
    description: 'Looks',
    minimum_scope: [],
    side_effect: 'read',
    handler: () => ({}),
  });
  const plain = await testService({
    definition: createService({ id: 'plain', capabilities: [look] }),
  });
  const desk = await testService();
  const asked = async (service: TestService) => {
    const { body } = await service.ask('GET', '/.well-known/svc');
    const { body: api } = await service.ask('GET', '/openapi.json');
    const statuses = [
      await service.ask('POST', '/svc/approval_grants', { body: {} }),
      await service.ask('GET', '/svc/approval_requests'),
      await service.ask('GET', '/svc/approval_requests/apr_x'),
      await service.ask('GET', '/svc/approval_requests/apr_x/decision'),
      await service.ask('POST', '/svc/approval_requests/apr_x/deny', { body: {} }),
    ].map(({ status }) => status);
    const named = (names: object) => Object.keys(names).filter((name) => name.includes('approval'));
    return {
      statuses,
      endpoints: named(body.svc_discovery.endpoints),
      paths: named(api.paths),
      methods: named(service.runtime.methods),
    };
  };
  assert.deepEqual(await asked(plain), {
    statuses: [404, 404, 404, 404, 404],
    endpoints: [],
    paths: [],
    methods: [],
  });
  const offered = await asked(desk);
  assert.deepEqual(offered.statuses, [401, 401, 401, 401, 401]);
  assert.equal(offered.endpoints.length, 5);
  assert.equal(offered.methods.length, 5);
});
