/**
 * What a stranger, or a person who is signed in, sends in the address of a page and to MCP: it is answered, no
 * connection is cut instead of an answer, and nothing is logged as a defect.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { exchanged, listening, replyIn } from '../http/socket.ts';
import { CLIENT, personAt } from '../sign-in/browser.ts';
import { group } from '../support/missing.ts';
import { ALICE, STORES, type TestService, testService } from '../support/world.ts';

function defectsOf({ log }: TestService): string[] {
  return log.filter((line) => /"level":"(?:error|fatal)"/.test(line));
}

/** Characters that an HTTP parser lets through in an address, and that no header may have. */
const ODD = ['\f', '\t', '\x80', '\xff', '\x80\f\t'];

test('no answer is cut when an address has characters that a header cannot have', async () => {
  let port = 0;
  const service = await testService({ baseUrl: () => `http://127.0.0.1:${port}` });
  port = await listening(service);
  const paths = ['/agents', '/sign-in', '/authorize', '/console/', '/svc/graph', '/nowhere', '/'];
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) {
    for (const path of paths) {
      for (const odd of ODD) {
        for (const target of [`${path}?a=${odd}`, `${path}${odd}`]) {
          const head = `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
          const { status } = replyIn(await exchanged(port, head));

          assert.ok(status >= 200 && status < 500, `${JSON.stringify(target)} ${host}: ${status}`);
        }
      }
    }
  }
  assert.deepEqual(defectsOf(service), []);
});

for (const { name, open } of STORES) {
  group(`U+0000 in the address of a page (${name})`, async () => {
    const service = await testService({ store: (await open()).url });
    const person = personAt(service);
    await person.signIn(ALICE);
    const asked = new URLSearchParams({ response_type: 'code', client_id: CLIENT });
    for (const path of [
      '/agents/end?agent=%00',
      '/agents/end?agent=a%00b',
      `/authorize?${asked}&state=%00`,
      `/authorize?${asked}&scope=%00&resource=%00`,
      '/authorize?client_id=%00',
      '/sign-in/callback?state=%00&code=%00',
      '/sign-in/callback/%00?state=a',
      '/sign-in/start?provider=%00',
      '/sign-in?return_to=%00',
      '/console/approvals/%00',
    ]) {
      test(`${path} is answered`, async () => {
        const { status, text = '' } = await person.open(path);

        assert.ok(status >= 200 && status < 500, `${status} ${text.slice(0, 300)}`);
        assert.deepEqual(defectsOf(service), []);
      });
    }
  });
}

const CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'search_flights', arguments: { origin: 'SEA', destination: 'SFO' } },
};

test('a tool call with a token that has ended is refused with an entry where the manifest is gated', async () => {
  const service = await testService({ settings: { manifest_access: 'authenticated' } });
  const token = await service.issue(ALICE, { scope: ['travel.search'] });
  await service.ask('POST', '/svc/tokens/revoke', {
    bearer: ALICE,
    body: { token_id: token.token_id },
  });
  const headers = { accept: 'application/json, text/event-stream' };
  const refused = async () =>
    (await service.entriesBy({ entryType: 'invocation' })).filter(
      ({ state }) => state === 'refused',
    ).length;

  for (const bearer of [token.token, `${token.token}x`, 'no-token-at-all']) {
    const { status, text = '' } = await service.ask('POST', '/mcp', {
      bearer,
      body: CALL,
      headers,
    });

    assert.ok(status < 500, `${status} ${text}`);
    assert.match(text, /invalid_token|authentication_required/);
  }
  // The token that has ended is known; the two others are not.
  assert.equal(await refused(), 1);
  assert.deepEqual(defectsOf(service), []);
});
