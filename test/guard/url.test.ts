/**
 * `writ guard --url`: the MCP server behind it is another guard, whose token is the credential.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { call, connectAgent, VERSIONS } from '../mcp/agent.ts';
import { closedAtEnd } from '../support/ends.ts';
import { textsIn } from './calls.ts';
import { ask, guard, guardFolder, ownerKey, tokenFor } from './command.ts';

test('writ guard --url passes calls on with its credential, which appears nowhere', async () => {
  const [behind, before] = [guardFolder(), guardFolder()];
  const upstream = await guard(behind, ['--id', 'notes', ...behind.command]).url();
  const credential = await tokenFor(upstream, ownerKey(behind), ['notes.read']);
  const header = ['--header', 'Authorization: Bearer $UPSTREAM_TOKEN'];
  const words = ['--url', `${upstream}/mcp`, '--inside', '--id', 'front', ...header];

  const running = guard(before, words, { env: { UPSTREAM_TOKEN: credential } });
  const url = await running.url();
  const key = ownerKey(before);
  const token = await tokenFor(url, key, ['front.read']);
  const agent = closedAtEnd(await connectAgent({ version: VERSIONS[1], url, token }));
  const read = await call(agent, 'read_note', { id: 'a' });
  const refused = await connectAgent({ version: VERSIONS[1], url, token: credential }).catch(
    String,
  );
  const { body: audit } = await ask(url, '/svc/audit?limit=200', key, {});
  await running.stop();

  assert.match(read.text, /read_note was called/);
  assert.deepEqual(behind.calls(), [{ name: 'read_note', given: { id: 'a' } }]);
  assert.equal(typeof refused, 'string', 'the credential of the upstream opens no door here');
  const kept = textsIn(before.folder);
  assert.ok(kept.length >= 5, 'the policy, the lock, the store, its keys and the key of the owner');
  const shown = [running.printed(), JSON.stringify([read, audit]), ...kept];
  assert.ok(shown.every((each) => !each.includes(credential)));
});
