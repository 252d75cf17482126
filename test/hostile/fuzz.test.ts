/**
 * A bounded run of the fuzz of every path, on both stores and of digests of random JSON. `npm run fuzz` runs as long
 * as wanted. Edited tokens are in `src/keyring/wire-fuzz.test.ts`.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { emptyStore } from '../support/empty-store.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { fuzz } from './fuzz.ts';
import { digestFault } from './json-digests.ts';
import { createJudge } from './judge.ts';
import type { HostileRequest } from './requests.ts';
import { served } from './served.ts';
import { OPERATIONS } from './targets.ts';
import { type Answered, readAnswer } from './wire.ts';

const PLACES = [
  {
    name: 'SQLite',
    requests: 1_500,
    seed: 1,
    store: async (folder: string) => `sqlite:${join(folder, 'writ.db')}`,
  },
  { name: 'PostgreSQL', requests: 800, seed: 2, store: async () => (await emptyStore()).url },
];

/** A busy machine must not fail it. */
const PATIENT = { timeout: 180_000 };

for (const { name, requests, seed, store } of PLACES) {
  test(
    `fuzz() finds no answer that may not be given, no defect and no contradiction in the store (${name})`,
    PATIENT,
    async () => {
      const folder = temporaryFolder();
      const service = await served({ store: await store(folder), folder });
      atEnd(() => service.close());

      const { statuses, honest } = await fuzz({ port: service.port, seed, requests });

      // Each class of answers is there: a fuzz that is always refused at the door proves nothing.
      for (const status of [200, 400, 401, 403, 404]) {
        assert.ok((statuses[status] ?? 0) > requests / 100, JSON.stringify(statuses));
      }
      assert.ok(honest > requests / 100);
      assert.deepEqual(await service.findings(), []);
    },
  );
}

test('digestOf() gives the digest that two other implementations give, for random JSON', () => {
  assert.equal(digestFault({ seed: 4, count: 5_000 }), undefined);
});

/** The fuzz itself: what it must not let pass. */
describe('createJudge()', () => {
  const judge = createJudge();
  const target = OPERATIONS.find(({ name }) => name === 'graph') as (typeof OPERATIONS)[number];
  const sent = { method: 'GET', target: target.path, headers: [] };
  const request: HostileRequest = { target, sent, bearer: 'a-long-credential' };
  const answered = (status: number, body: unknown, more: [string, string][] = []): Answered => ({
    status,
    headers: new Map([
      ['content-type', ['application/json; charset=utf-8']],
      ...more.map(([name, value]) => [name, [value]] as const),
    ]),
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    isLast: false,
  });
  const FAILURE = {
    type: 'not_found',
    detail: 'Cannot find it',
    retry: false,
    resolution: { action: 'check_manifest', recovery_class: 'revalidate_then_retry' },
  };

  test('admits an answer of the described shape, and a failure', () => {
    assert.equal(judge(request, answered(200, { nodes: [], edges: [] })), undefined);
    assert.equal(judge(request, answered(404, { success: false, failure: FAILURE })), undefined);
  });

  for (const [what, status, body, more] of [
    ['a status of 500', 500, { success: false, failure: FAILURE }],
    ['a status of 503', 503, { success: false, failure: FAILURE }],
    ['another shape', 200, { nodes: 'many' }],
    ['a failure of another form', 400, { error: 'no' }],
    ['no JSON', 200, '{"nodes":'],
    ['a header of the caller', 200, { nodes: [], edges: [] }, [['x-canary', '1']]],
    [
      'the credential',
      404,
      { success: false, failure: { ...FAILURE, detail: 'a-long-credential' } },
    ],
    ['a stack', 404, { success: false, failure: { ...FAILURE, detail: 'at /src/x.ts:1:2' } }],
  ] as [string, number, unknown, [string, string][]?][]) {
    test(`refuses ${what}`, () => {
      assert.notEqual(judge(request, answered(status, body, more)), undefined);
    });
  }

  test('refuses markup of the caller in a page', () => {
    const headers = new Map([['content-type', ['text/html; charset=utf-8']]]);
    const body = Buffer.from('<p>"><canary x=\'</p>');

    assert.notEqual(judge(request, { status: 200, headers, body, isLast: false }), undefined);
  });
});

for (const [what, text] of [
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}'],
  ['no status line', 'HTTP/1.1 OK\r\n\r\n'],
  ['a line that is no header', 'HTTP/1.1 200 OK\r\na b c\r\n\r\n'],
  ['a chunk of no size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n'],
]) {
  test(`readAnswer() refuses ${what}`, () => {
    const read = readAnswer(Buffer.from(text as string), { isHead: false, isEnded: false });

    assert.ok(read && 'fault' in read);
  });
}

test('readAnswer() gives an answer and its length once it is whole', () => {
  const text = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n';
  const ends = { isHead: false, isEnded: false };
  for (let length = 0; length < text.length; length += 1) {
    assert.equal(readAnswer(Buffer.from(text.slice(0, length)), ends), undefined);
  }

  const read = readAnswer(Buffer.from(`${text}more`), ends);

  assert.ok(read && 'answer' in read);
  assert.equal(read.length, text.length);
  assert.equal(read.answer.body.toString(), '{}');
});
