/**
 * A service that stops while an agent's call is running, and what it does not keep open for anybody.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { DEMO_IDENTITIES, travelDesk } from '../../examples/travel/service.ts';
import { createClient } from '../../src/client/index.ts';
import { type RunningService, serve } from '../../src/index.ts';
import { createLog } from '../../src/log.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { ALICE } from '../support/world.ts';
import { call, connectAgent, VERSIONS } from './agent.ts';

let service: RunningService;
let token: string;

beforeEach(async () => {
  service = await serve(travelDesk, {
    settings: { store: 'memory:', port: 0, identities: DEMO_IDENTITIES },
    environment: {},
    folder: temporaryFolder(),
    signals: false,
    log: createLog('info', { write: () => undefined }),
  });
  const client = createClient({ url: service.url, credential: ALICE });
  const issued = await client.ask('tokens.issue', { scope: ['travel.read'], subject: 'agent:a' });
  assert.ok(issued.ok);
  ({ token } = issued.answer);
  atEnd(() => service.close());
});

for (const version of VERSIONS) {
  test(`close() lets a running tool call finish in ${version.version}`, async () => {
    const client = await connectAgent({ version, url: service.url, token });
    let closing: Promise<void> | undefined;

    const { answer } = await call(
      client,
      'export_report',
      { months: 4 },
      {
        onprogress() {
          closing ??= service.close();
        },
      },
    );
    await closing;
    await client.close();

    assert.ok(closing);
    assert.equal(answer.result.months, 4);
  });
}

test('/mcp keeps no subscription open', async () => {
  const version = '2026-07-28';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'a', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { _meta, notifications: { toolsListChanged: true } };
  const response = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }),
  });

  assert.match(await response.text(), /Subscription limit reached/);
});
