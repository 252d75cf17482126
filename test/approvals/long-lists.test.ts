/**
 * Long lists of approval requests: cut into pages by their bytes, and made in slices whatever the
 * requesters wrote.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { rowText } from '../../src/storage/port/row-forms.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { approval, entry } from '../support/fixtures.ts';
import { countedSlicer, countTurns } from '../support/turns.ts';
import { AGENT, BOB, STORES, type TestService, testService } from '../support/world.ts';

/** Keeps so many requests, each with these parameters. */
async function fill(
  { store, rows }: TestService,
  count: number,
  parameters: object,
): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const now = store.now();
    const request = approval({
      parameters: { ...parameters },
      created_at: new Date(now.getTime() - count + i),
      expires_at: new Date(now.getTime() + 3_600_000),
    });
    const mac = rows.macOf(rowText('approval', request));
    await store.requestApproval({ ...request, mac }, entry(), []);
    ids.push(request.approval_request_id);
  }
  return ids.reverse();
}

for (const { name, open } of STORES) {
  test(`GET /svc/approval_requests gives pages of at most 1 MiB, and all of them (${name})`, async () => {
    const place = await open();
    const service = await testService({ store: place.url });
    const ids = await fill(service, 9, { note: '語'.repeat(50_000) });

    const found: string[] = [];
    let cursor = '';
    let pages = 0;
    do {
      const { body, text = '' } = await service.ask(
        'GET',
        `/svc/approval_requests?limit=7${cursor}`,
        {
          bearer: BOB,
        },
      );
      assert.ok(Buffer.byteLength(text) <= 1_048_576, `${Buffer.byteLength(text)} bytes`);
      const page: { approval_request_id: string }[] = body.approval_requests;
      found.push(...page.map(({ approval_request_id }) => approval_request_id));
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
      pages += 1;
    } while (cursor !== '');

    assert.deepEqual(found, ids);
    assert.ok(pages >= 3, `${pages} pages`);
  });
}

test('a request full of hidden characters is shown in slices, listed and alone', async () => {
  const steps = countTurns();
  const service = await testService({ slicer: countedSlicer(steps) });
  const [id] = await fill(service, 3, { note: '\u200B'.repeat(20_000) });

  const listed = await service.ask('GET', '/svc/approval_requests', { bearer: BOB });
  const alone = await service.ask('GET', `/svc/approval_requests/${id}`, { bearer: BOB });

  assert.equal(listed.body.approval_requests.length, 3);
  assert.equal(alone.body.safe.parameters.note, '⟨U+200B⟩'.repeat(20_000));
  assert.ok(steps.all() >= 4 * 40, `${steps.all()} steps`);
  // The first step is done at once, and then five make a slice.
  assert.ok(steps.most() <= 6, `${steps.most()} steps in one turn`);
});

test('a caller that may decide nothing causes no query of the store', async () => {
  let lists = 0;
  const wrap = (store: Store): Store => ({
    ...store,
    listApprovals(query) {
      lists += 1;
      return store.listApprovals(query);
    },
  });
  const service = await testService({ wrap });

  const { status, body } = await service.ask('GET', '/svc/approval_requests', { bearer: AGENT });

  assert.equal(status, 200);
  assert.deepEqual(body, { approval_requests: [], next_cursor: null });
  assert.equal(lists, 0);
});
