/**
 * The terminal sessions of the documentation: their commands still run, and print what the pages show.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { pageOf, recordSession, shapeOf, withSession } from '../scripts/recorded-sessions.ts';
import { SESSIONS } from '../scripts/session-list.ts';

/** Only to end a test that hangs: a session starts many processes. */
const PATIENT = { timeout: 300_000 };

describe('a page shows what is printed in the session', PATIENT, () => {
  for (const session of SESSIONS) {
    test(session.name, async () => {
      const { text } = pageOf(session);

      const recorded = withSession(text, session, await recordSession(session));

      assert.equal(shapeOf(recorded), shapeOf(text), 'run: npm run sessions');
    });
  }
});

test('recordSession() refuses a command that ends with another status', PATIENT, async () => {
  const steps = [{ type: 'echo no; exit 4', status: 3 }];

  await assert.rejects(recordSession({ name: 'a', page: '', steps }), {
    message: 'Cannot record "echo no; exit 4": it ended with 4 and printed\nno\n',
  });
});

test('withSession() refuses a page without the marks of the session', () => {
  assert.throws(() => withSession('', { name: 'a', page: '', steps: [] }, ''), {
    message: 'Cannot find the marks of session "a"',
  });
});
