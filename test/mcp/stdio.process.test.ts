/**
 * `writ mcp` as an agent starts it: a command of its own, driven by the official client.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { test } from 'vitest';
import { openDesk } from '../client/desk.ts';
import { ALICE, BOB } from '../support/world.ts';
import { call, newAgent, VERSIONS } from './agent.ts';

const SLOW = 60_000;

const desk = await openDesk();

for (const version of VERSIONS) {
  test(`writ mcp serves the official client in ${version.version}`, { timeout: SLOW }, async () => {
    const { token } = await desk.service.issue(ALICE, {
      scope: ['travel.charter', 'travel.read'],
      subject: 'agent:planner',
      budget: { currency: 'USD', max_amount: 30_000 },
    });
    const questions: string[] = [];
    const client = newAgent(version, async (message) => {
      questions.push(message);
      await approve(/apr_[0-9a-f]{32}/.exec(message)?.[0] ?? '');
      return 'accept';
    });
    const told: number[] = [];
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: ['dist/src/cli/bin.js', 'mcp', '--service', desk.url],
        env: { WRIT_CLIENT_CREDENTIAL: token },
      }),
    );

    const { tools } = await client.listTools();
    const report = await call(
      client,
      'export_report',
      { months: 2 },
      { onprogress: ({ progress }) => void told.push(progress) },
    );
    const refused = await call(client, 'search_flights');
    const jet = { route: 'SEA-SFO', date: '2026-12-01' };
    const chartered = await call(client, 'charter_jet', jet);
    await client.close();

    assert.equal(client.getNegotiatedProtocolVersion() ?? version.version, version.version);
    assert.deepEqual(tools.map(({ name }) => name).sort(), [
      'charter_jet',
      'export_report',
      'find_traveler',
      'get_booking',
    ]);
    assert.equal(report.answer.result.months, 2);
    assert.deepEqual(told, [1, 2]);
    assert.equal(refused.answer.failure.type, 'scope_insufficient');
    assert.equal(chartered.answer.cost_actual?.amount, 18_500);
    assert.equal(questions.length, 1);
  });
}

async function approve(approval_request_id: string): Promise<void> {
  const body = { approval_request_id, grant_type: 'one_time' };
  const { status } = await desk.service.ask('POST', '/svc/approval_grants', { bearer: BOB, body });
  assert.equal(status, 200);
}
