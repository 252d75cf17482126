/**
 * The API page and the examples in it as they are generated: the page of any service, and the same text
 * on any day.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { pageParts } from '../../scripts/api-page.ts';
import { withStandIns } from '../../scripts/stand-ins.ts';
import { apiPage } from '../../src/http/reference.ts';
import { openApiDocument } from '../../src/openapi/openapi.ts';
import { builtPage } from '../../src/openapi/page.ts';
import { makeSchemas } from '../../src/openapi/schemas.ts';
import { type OperationName, operations } from '../../src/protocol/operations.ts';

const BUILT = builtPage();
const NAMES = Object.keys(operations) as OperationName[];

/** The page that the description of these operations alone comes to. */
function rendered(offered: readonly OperationName[], gated: readonly OperationName[]): string {
  const document = openApiDocument(offered, BUILT.schemas, { gated });
  return pageParts(document, document)
    .map(({ html }) => html)
    .join('');
}

for (const name of NAMES) {
  test(`apiPage() is rendered from what is offered, without and with nothing but ${name}`, () => {
    const others = NAMES.filter((each) => each !== name);

    for (const offered of [others, [name]]) {
      assert.ok(apiPage(BUILT, offered, []) === rendered(offered, []));
      assert.ok(apiPage(BUILT, offered, [name]) === rendered(offered, [name]));
    }
  });
}

test('builtPage() has the schemas that are made from the sources', () => {
  assert.deepEqual(BUILT.schemas, JSON.parse(JSON.stringify(makeSchemas())));
});

test('withStandIns() makes the same text of the same exchange on another day', () => {
  const day = (digit: string, time: string) => ({
    token_id: `tok_${digit.repeat(32)}`,
    parent: [`tok_${digit.repeat(31)}0`, `tok_${digit.repeat(32)}`],
    invocation_id: `inv-${digit.repeat(12)}`,
    leaf_hash: `sha256:${digit.repeat(64)}`,
    origin: `travel-desk/log/${digit.repeat(8)}-1111-2222-3333-${digit.repeat(12)}`,
    jwks_uri: `http://127.0.0.1:${digit}000/jwks`,
    note: `\n${digit.repeat(43)}=\n— key ${digit.repeat(90 + Number(digit))}==\n`,
    task_id: `trail-${digit.repeat(13)}-${digit.repeat(7)}`,
    expires_at: time,
  });

  const one = withStandIns(day('1', '2026-01-01T02:00:00.010Z'), Date.UTC(2026, 0, 1));
  const other = withStandIns(day('2', '2031-05-05T01:59:59.000Z'), Date.UTC(2031, 4, 5));

  assert.deepEqual(one, other);
  assert.match(one.token_id, /^tok_[0-9a-f]{32}$/);
  assert.deepEqual([one.parent[0] === one.token_id, one.parent[1] === one.token_id], [false, true]);
  assert.equal(one.expires_at, '2026-12-01T11:00:00.000Z');
});
