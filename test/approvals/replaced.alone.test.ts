/**
 * An app may replace the global `Promise` (zone.js does): the promises of async functions are no instances of it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { assertRefused, startDesk } from './desk.ts';

class Replaced<Value> extends Promise<Value> {}

test('a grant that does not exist is refused in an app that replaced the global Promise', async () => {
  const desk = await startDesk();
  const token = await desk.token();
  const call = { note: 'replaced' };
  const language = globalThis.Promise;
  globalThis.Promise = Replaced as PromiseConstructor;
  try {
    const fields = { approval_grant: 'gnt_none' };
    const reply = await desk.invoke(token.token, 'sign', call, { fields });

    assertRefused(reply, 'approval_grant_invalid');
    assert.equal(desk.world.runs('sign').length, 0);
  } finally {
    globalThis.Promise = language;
  }
});
