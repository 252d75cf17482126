/**
 * Tools of others in the console: who sees what changed, who accepts it, and what the log has of it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { ToolReview } from '../../src/protocol/console/reviews.ts';
import { createService } from '../../src/service/author/definition.ts';
import type { ReviewPort } from '../../src/service/author/review.ts';
import { person } from '../support/person.ts';
import { ALICE, type TestService, testService } from '../support/world.ts';
import { PEOPLE, READER } from './people.ts';
import { atConsole } from './person.ts';

const REVIEWER = 'key-of-the-reviewer';
const REVIEWER_IS = 'human:vera@example.com';

const DIGEST = 'ab'.repeat(32);
const OTHER = 'cd'.repeat(32);

const CHANGED: ToolReview = {
  name: 'write-file',
  kind: 'changed',
  digest: DIGEST,
  now: { name: 'write-file', description: 'Writes any file\u202e' },
  parts: [{ part: 'description', before: 'Writes a file', now: 'Writes any file\u202e' }],
};

const SERVERS = [{ where: 'node files-server.mjs', tools: 3 }];
const OFF = { 'move-file': 'the tool "move-file" changed since its review and needs a new one' };

function portOf(
  changes: () => readonly ToolReview[] | Promise<readonly ToolReview[]>,
  accept: ReviewPort['accept'] = async () => undefined,
): ReviewPort {
  return { changes: async () => changes(), waiting: () => 1, servers: () => SERVERS, accept };
}

async function guarded(review?: ReviewPort): Promise<TestService> {
  const reviewer = person(REVIEWER, REVIEWER_IS, ['operator:read', 'operator:review']);
  const settings = { ...PEOPLE, identities: [...PEOPLE.identities, reviewer] };
  const definition = createService({
    id: 'files',
    capabilities: [],
    off: OFF,
    ...(review && { review }),
  });
  return testService({ definition, settings });
}

async function reviewEntries(service: TestService) {
  const entries = await service.entriesBy({ entryType: 'operator' });
  return entries.map(({ actor_key, success, failure_type, detail }) => ({
    actor_key,
    success,
    failure_type,
    detail,
  }));
}

test('reviews() has what changed, for an operator, and me() says that there is such a page', async () => {
  const service = await guarded(portOf(() => [CHANGED]));
  const reader = await atConsole(service, READER);

  const found = await reader.answer('reviews');

  assert.deepEqual(found, {
    reviews: [{ ...CHANGED, is_whole: true }],
    more: 0,
    servers: SERVERS,
    off: [{ name: 'move-file', why: OFF['move-file'] }],
  });
  assert.equal((await reader.answer('me')).has_reviews, true);
});

test('pulse() counts the tools that need a review, for those who may read them', async () => {
  const service = await guarded(portOf(() => [CHANGED]));
  const [reader, alice] = [await atConsole(service, READER), await atConsole(service, ALICE)];

  assert.equal((await reader.answer('pulse')).reviews, 1);
  assert.equal((await alice.answer('pulse')).reviews, 0);
  const none = await atConsole(await guarded(), READER);
  assert.equal((await none.answer('pulse')).reviews, 0);
});

test('reviews() does not exist at a service without tools of others', async () => {
  const service = await guarded();
  const reviewer = await atConsole(service, REVIEWER);

  for (const method of ['reviews', 'reviews.accept'] as const) {
    const { status, body } = await reviewer.reply(method, { name: 'a', digest: DIGEST });
    assert.deepEqual([status, body.failure.type], [404, 'not_found']);
  }
  assert.equal((await reviewer.answer('me')).has_reviews, false);
});

test('reviews() and reviews.accept() refuse those without the right, and nothing is accepted', async () => {
  const accepted: string[] = [];
  const service = await guarded(
    portOf(
      () => [CHANGED],
      async (name) => void accepted.push(name),
    ),
  );
  const [alice, reader] = [await atConsole(service, ALICE), await atConsole(service, READER)];

  const listed = await alice.reply('reviews');
  const taken = await reader.reply('reviews.accept', { name: CHANGED.name, digest: DIGEST });

  assert.deepEqual(listed.body.failure.resolution.requires, ['operator:read']);
  assert.deepEqual(taken.body.failure.resolution.requires, ['operator:review']);
  assert.deepEqual(accepted, []);
  const [entry] = await reviewEntries(service);
  assert.deepEqual([entry?.success, entry?.failure_type], [false, 'scope_insufficient']);
});

test('reviews.accept() records the person, the tool and the digest before the tool is accepted', async () => {
  let entriesThen = -1;
  const accepted: string[][] = [];
  const service = await guarded(
    portOf(
      () => [CHANGED],
      async (...given) => {
        entriesThen = (await reviewEntries(service)).length;
        accepted.push(given);
      },
    ),
  );
  const reviewer = await atConsole(service, REVIEWER);

  const answer = await reviewer.answer('reviews.accept', { name: CHANGED.name, digest: DIGEST });

  assert.deepEqual(answer, { accepted: true });
  assert.deepEqual(accepted, [[CHANGED.name, DIGEST, REVIEWER_IS]]);
  assert.equal(entriesThen, 1);
  assert.deepEqual(await reviewEntries(service), [
    {
      actor_key: REVIEWER_IS,
      success: true,
      failure_type: null,
      detail: { verb: 'guard_tool_reviewed', tool: CHANGED.name, digest: DIGEST },
    },
  ]);
});

test('reviews.accept() refuses a tool that changed again, is gone or is not listed', async () => {
  const accepted: string[] = [];
  const gone: ToolReview = { name: 'gone', kind: 'gone', parts: [] };
  const again: ToolReview = { ...CHANGED, digest: OTHER };
  const service = await guarded(
    portOf(
      () => [again, gone],
      async (name) => void accepted.push(name),
    ),
  );
  const reviewer = await atConsole(service, REVIEWER);

  for (const name of [CHANGED.name, 'gone', 'unknown']) {
    const { status, body } = await reviewer.reply('reviews.accept', { name, digest: DIGEST });
    assert.deepEqual([status, body.failure.type], [404, 'not_found'], name);
  }
  const malformed = await reviewer.reply('reviews.accept', { name: 'gone', digest: 'undefined' });
  assert.equal(malformed.body.failure.type, 'invalid_parameters');
  assert.deepEqual(accepted, []);
});

test('reviews() bounds what another server can send to a page, and a change is never hidden by new tools', async () => {
  const flood = Array.from({ length: 5_000 }, (_, index): ToolReview => {
    const now = { description: 'x'.repeat(20_000) };
    return { name: `new-${index}`, kind: 'new', digest: OTHER, now, parts: [] };
  });
  const service = await guarded(portOf(() => [...flood, CHANGED]));
  const reader = await atConsole(service, READER);

  const { text = '' } = await reader.reply('reviews');

  const { reviews, more } = JSON.parse(text);
  assert.equal(reviews[0].name, CHANGED.name);
  assert.equal(reviews.length + more, flood.length + 1);
  assert.ok(text.length < 600_000, `${text.length}`);
});

test('reviews.accept() refuses a tool that the page cannot show whole', async () => {
  const long: ToolReview = { ...CHANGED, now: { description: 'y'.repeat(50_001) } };
  const partial: ToolReview = { ...CHANGED, name: 'partial', now: undefined };
  const strange: ToolReview = { ...CHANGED, name: 'a\0b' };
  const service = await guarded(portOf(() => [long, partial, strange]));
  const reviewer = await atConsole(service, REVIEWER);

  const { reviews } = await reviewer.answer('reviews');

  assert.deepEqual(
    reviews.map(({ is_whole, parts }) => [is_whole, parts.length]),
    [
      [false, 0],
      [false, 0],
      [false, 0],
    ],
  );
  for (const { name } of [long, partial, strange]) {
    const { status, body } = await reviewer.reply('reviews.accept', { name, digest: DIGEST });
    assert.ok(status >= 400 && status < 500, JSON.stringify(body));
  }
  const taken = (await reviewEntries(service)).filter(({ success }) => success);
  assert.deepEqual(taken, []);
});

test('what the port throws reaches the log of the operator and no page', async () => {
  const canary = 'canary-of-the-upstream';
  const fails = async () => {
    throw new Error(canary);
  };
  const listing = await guarded(portOf(fails));
  const accepting = await guarded(portOf(() => [CHANGED], fails));

  const listed = await (await atConsole(listing, READER)).reply('reviews');
  const taken = await (await atConsole(accepting, REVIEWER)).reply('reviews.accept', {
    name: CHANGED.name,
    digest: DIGEST,
  });

  for (const { body, text = '' } of [listed, taken]) {
    assert.equal(body.failure.type, 'service_unavailable');
    assert.ok(!text.includes(canary));
  }
  assert.ok(listing.log.join('').includes(canary));
  const [reviewed, refused] = await reviewEntries(accepting);
  assert.deepEqual([reviewed?.success, refused?.success], [true, false]);
});
