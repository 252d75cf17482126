/**
 * The scenarios over every surface on SQLite, and over HTTP on PostgreSQL: a surface does not know its store.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { STORIES_WITHOUT_TOOLS, surfaceScenarios } from '../../src/testing/index.ts';
import type { Runner } from '../../src/testing/runner.ts';
import { STORES, type TestService, testService } from '../world.ts';
import { type OpenSurface, SURFACES } from './open.ts';

/** What was told, by store and surface: each story, and how many of its calls went over tools. */
const told = new Map<string, Map<string, number>>();

const OVER_HTTP = SURFACES.filter(({ name }) => name === 'over HTTP');

for (const [order, store] of STORES.entries()) {
  for (const { name, open } of order === 0 ? SURFACES : OVER_HTTP) {
    describe(`on ${store.name}`, () => {
      let opened: OpenSurface;
      let service: TestService;
      const stories = new Map<string, number>();
      told.set(`${name} on ${store.name}`, stories);
      const undo: (() => Promise<void> | void)[] = [];
      beforeAll(async () => {
        const place = await store.open();
        undo.unshift(place.drop);
        service = await testService({ store: place.url });
        undo.unshift(service.close);
        opened = await open(service);
        if (opened.end) undo.unshift(opened.end);
      });
      afterAll(async () => {
        for (const step of undo) await step();
      });

      const counting: Runner['test'] = (sentence, tell, timeoutMs) =>
        test(
          sentence,
          async () => {
            const before = opened.toolCalls?.() ?? 0;
            await tell();
            stories.set(sentence, (opened.toolCalls?.() ?? 0) - before);
          },
          timeoutMs,
        );
      surfaceScenarios(name, () => opened.surface, { describe, test: counting });

      test(`after all requests ${name}, rows and log agree`, async () => {
        const { findings, ledger } = await checkStore(service.store);

        assert.deepEqual(findings, []);
        assert.deepEqual(ledger.notes, []);
        assert.ok(ledger.tokens > 0 && ledger.budgets > 0 && ledger.grants > 0);
      });
    });
  }
}

test('every scenario ran on every transport', () => {
  const named: string[] = [];
  const naming: Runner = {
    describe: (_, body) => body(),
    test: (sentence) => void named.push(sentence),
  };
  surfaceScenarios('by name', () => assert.fail('nothing is asked'), naming);

  assert.equal(told.size, SURFACES.length + (STORES.length - 1) * OVER_HTTP.length);
  assert.equal(OVER_HTTP.length, 1);
  for (const [where, stories] of told) assert.deepEqual([...stories.keys()], named, where);
});

test('every scenario has calls over MCP tools, except those that declare none', () => {
  for (const [where, stories] of told) {
    if (!where.startsWith('over MCP')) continue;
    const without = [...stories].filter(([, calls]) => calls === 0).map(([sentence]) => sentence);
    assert.deepEqual(without.sort(), Object.keys(STORIES_WITHOUT_TOOLS).sort(), where);
  }
});
