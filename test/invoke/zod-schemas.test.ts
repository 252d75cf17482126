/**
 * Schemas of zod in calls: asynchronous checks, defaults that functions make, references, and compensations.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import * as z from 'zod';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { person } from '../support/person.ts';
import { ALICE, type TestService, testService } from '../support/world.ts';

const COMMON = {
  description: 'Tests zod',
  side_effect: 'write',
  minimum_scope: ['b.use'],
} as const;
const SETTINGS = { identities: [person(ALICE, 'human:alice', ['b.*'])] };

describe('a schema of zod', () => {
  let checks = 0;
  let isCollecting = false;
  let isHanging = true;
  const made = createService({
    id: 'zod',
    capabilities: [
      defineCapability({
        ...COMMON,
        name: 'checked',
        inputs: z.object({
          a: z.string().refine(async (text) => {
            checks += 1;
            if (text === 'down') throw new Error('the database is down');
            return true;
          }),
        }),
        handler: () => ({}),
      }),
      defineCapability({
        ...COMMON,
        name: 'named',
        inputs: z
          .object({
            at: z.number().default(() => Date.now()),
            id: z.string().default(() => `id-${Math.random()}`),
            least: z.number().min(5).default(7),
            parent: z.object({ name: z.string() }).meta({ id: 'Parent' }).nullable(),
          })
          .meta({ id: 'Named' }),
        handler: (parameters) => ({ got: parameters }),
      }),
      defineCapability({
        ...COMMON,
        name: 'book',
        side_effect: { type: 'transactional', compensation: 'cancel', rollback_window: 'PT1H' },
        output: z.object({ id: z.string() }),
        handler: () => ({ id: 'B-1' }),
      }),
      defineCapability({
        ...COMMON,
        name: 'cancel',
        inputs: z.object({ id: z.string().toLowerCase() }),
        handler: ({ id }) => ({ cancelled: id }),
      }),
      defineCapability({
        ...COMMON,
        name: 'rent',
        side_effect: { type: 'transactional', compensation: 'give_back', rollback_window: 'PT1H' },
        inputs: z.object({ note: z.string() }),
        output: z.object({ id: z.string() }),
        handler: () => ({ id: 'R-1' }),
      }),
      defineCapability({
        ...COMMON,
        name: 'give_back',
        inputs: z.object({ id: z.string().toLowerCase(), note: z.string().max(5).optional() }),
        handler: ({ id }) => ({ returned: id }),
      }),
      defineCapability({
        ...COMMON,
        name: 'lend',
        side_effect: { type: 'transactional', compensation: 'collect', rollback_window: 'PT1H' },
        output: z.object({ id: z.string() }),
        handler: () => ({ id: 'L-1' }),
      }),
      defineCapability({
        ...COMMON,
        name: 'collect',
        inputs: z.object({ id: z.string().refine(() => isCollecting) }),
        handler: ({ id }) => ({ collected: id }),
      }),
      defineCapability({
        ...COMMON,
        name: 'order',
        side_effect: { type: 'transactional', compensation: 'recall', rollback_window: 'PT1H' },
        output: z.object({ id: z.string() }),
        handler: () => ({ id: 'O-1' }),
      }),
      defineCapability({
        ...COMMON,
        name: 'recall',
        deadline: 'PT10M',
        inputs: z.object({
          id: z.string().refine(() => !isHanging || new Promise<boolean>(() => undefined)),
        }),
        handler: ({ id }) => ({ recalled: id }),
      }),
    ],
  });
  let zodService: TestService;
  let bearer: string;
  beforeAll(async () => {
    zodService = await testService({ definition: made, settings: SETTINGS });
    ({ token: bearer } = await zodService.issue(ALICE, { scope: ['b.use'], ttl_hours: 24 }));
  });
  afterAll(() => zodService.close());

  test('is asked once in a call, and a check that rejects refuses that call only', async () => {
    const refused = await zodService.invoke(bearer, 'checked', { a: 'down' });
    const answered = await zodService.invoke(bearer, 'checked', { a: 'up' });

    assert.equal(refused.body.failure.type, 'internal_error');
    assert.equal(answered.status, 200);
    assert.equal(checks, 2);
  });

  test('makes its own defaults for each call, and the manifest shows only those that stay', async () => {
    const first = await zodService.invoke(bearer, 'named', {});
    const second = await zodService.invoke(bearer, 'named', {});

    assert.equal(first.status, 200, JSON.stringify(first.body));
    assert.equal(first.body.result.got.least, 7);
    assert.equal(first.body.result.got.parent, null);
    assert.notEqual(first.body.result.got.id, second.body.result.got.id);
    const { inputs, input_schema } = made.catalog.capabilities.get('named') ?? {};
    const shown = inputs?.filter((input) => 'default' in input).map(({ name }) => name);
    assert.deepEqual(shown, ['least']);
    assert.doesNotMatch(JSON.stringify(input_schema), /id-/);
  });

  test('of a compensation does not open a rollback window that has closed', async () => {
    await zodService.invoke(bearer, 'book', {});
    zodService.advance(7_200_000);

    for (const id of ['B-1', 'b-1']) {
      const { body } = await zodService.invoke(bearer, 'cancel', { id });

      assert.equal(body.failure?.type, 'rollback_window_closed', id);
    }
  });

  test('of a compensation keeps the window though an input that identifies nothing does not match', async () => {
    await zodService.invoke(bearer, 'rent', { note: 'a long note' });
    zodService.advance(7_200_000);

    for (const id of ['R-1', 'r-1']) {
      const { body } = await zodService.invoke(bearer, 'give_back', { id });

      assert.equal(body.failure?.type, 'rollback_window_closed', id);
    }
  });

  test('of a compensation that refuses what the call left is logged, and the window applies to equal values', async () => {
    const { status } = await zodService.invoke(bearer, 'lend', {});
    zodService.advance(7_200_000);

    isCollecting = true;
    const { body } = await zodService.invoke(bearer, 'collect', { id: 'L-1' });

    assert.equal(status, 200);
    assert.equal(body.failure?.type, 'rollback_window_closed');
    assert.ok(zodService.log.some((line) => /"compensation":"collect"/.test(line)));
  });

  test('of a compensation that does not answer delays no call until the deadline of the compensation', async () => {
    const { status } = await zodService.invoke(bearer, 'order', {});
    zodService.advance(7_200_000);
    isHanging = false;
    const { body } = await zodService.invoke(bearer, 'recall', { id: 'O-1' });

    assert.equal(status, 200);
    assert.equal(body.failure?.type, 'rollback_window_closed');
    assert.ok(zodService.log.some((line) => /"compensation":"recall"/.test(line)));
  });
});
