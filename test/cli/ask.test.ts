/**
 * `writ ask`: operations by the names that the client has.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { operations } from '../../src/protocol/operations.ts';
import { openDesk } from '../client/desk.ts';
import { ALICE } from '../support/world.ts';
import { atService } from './run.ts';

const BY_ALICE = { credential: ALICE };

test('writ ask asks for an operation by its name and prints the answer of the service', async () => {
  const desk = await openDesk();
  const writ = atService(desk.url);

  const issued = await writ(
    ['ask', 'tokens.issue', '--input', '{"scope":["travel.search"]}'],
    BY_ALICE,
  );
  const { token_id } = JSON.parse(issued.out);
  const read = await writ(['ask', 'tokens.get', '--input', JSON.stringify({ token_id })], BY_ALICE);
  const open = await writ(['ask', 'discovery']);

  assert.deepEqual(
    [issued.status, read.status, open.status],
    [0, 0, 0],
    issued.err + read.err + open.err,
  );
  assert.equal(JSON.parse(read.out).token_id, token_id);
  assert.ok(JSON.parse(open.out).svc_discovery);
});

test('writ ask lists every operation with its summary', async () => {
  const { out } = await atService('http://127.0.0.1:9')(['ask']);

  for (const [name, { summary }] of Object.entries(operations)) {
    assert.match(out, new RegExp(`^${name.replaceAll('.', '\\.')} +${summary.slice(0, 20)}`, 'm'));
  }
});

for (const [what, words, status, said] of [
  ['an operation that does not exist', ['tokens.gte'], 2, /no such operation; write "tokens\.get"/],
  ['a call of a capability', ['invoke'], 2, /called with "writ invoke"/],
  [
    'an input that is no object',
    ['tokens.get', '--input', '[1]'],
    2,
    /a JSON object after --input/,
  ],
] as const) {
  test(`writ ask refuses ${what}`, async () => {
    const ran = await atService('http://127.0.0.1:9')(['ask', ...words], BY_ALICE);

    assert.equal(ran.status, status, ran.err);
    assert.match(ran.err, said);
  });
}

test('writ ask ends with the status of a refusal, and says what the service said', async () => {
  const desk = await openDesk();

  const ran = await atService(desk.url)(
    ['ask', 'tokens.get', '--input', '{"token_id":"tok_0"}'],
    BY_ALICE,
  );

  assert.equal(ran.status, 1, ran.err);
  assert.match(ran.err, /not_found|invalid_parameters/);
});
