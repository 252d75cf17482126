import assert from 'node:assert/strict';
import { test } from 'vitest';
import { testService } from '../support/world.ts';

test('discovery names the path where MCP is spoken, and not among the operations', async () => {
  const service = await testService();
  const { body } = await service.ask('GET', '/.well-known/svc');
  const { surfaces, endpoints } = body.svc_discovery;
  const { status } = await service.ask('POST', surfaces.mcp, { body: {} });

  assert.deepEqual(surfaces, { mcp: '/mcp' });
  assert.ok(!Object.values(endpoints).includes('/mcp'));
  assert.equal(status, 401);
});
