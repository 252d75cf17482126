/**
 * The scenarios over every surface on SQLite, and over HTTP on PostgreSQL: a surface does not know its store.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { Runner } from '../../src/conformance/runner.ts';
import { surfaceScenarios } from '../../src/conformance/scenarios.ts';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { group } from '../support/missing.ts';
import { suiteServer } from '../support/postgres.ts';
import { STORES, type TestService, testService } from '../support/world.ts';
import { type OpenSurface, SURFACES } from './open.ts';

/** What was told, by store and surface: each story, and how many of its calls went over tools. */
const told = new Map<string, Map<string, number>>();

/** The scenarios without a step over MCP, with the reason. In every other scenario the calls go over tools. */
const STORIES_WITHOUT_TOOLS = {
  'anyone may learn what the service offers and with which keys it signs': 'no call',
  'the manifest comes with its signature': 'no call',
  'the capabilities tell how they hang together, and which versions fit': 'no call',
  'a delegated token has what it asked for of its parent, and inherits the rest': 'no call',
  'a delegated token never gets more than its parent has': 'no call',
  'a revocation ends everything below the token at once': 'no call',
  'an operator adds a key of its own, lists it and removes it': 'no call',
  'a dry run says what would happen, and nothing happens': 'no call',
  'a stream says that it begins, and each event whose it is': 'a tool tells of its steps alone',
  'an operator sees no call of unknown outcome and no notification': 'no call',
  'streaming_not_supported says what to do next': 'a tool streams where it can',
  'authentication_required says what to do next': 'no call',
  'invalid_token says what to do next': 'no call',
  'token_expired says what to do next': 'no call',
  'scope_escalation says what to do next': 'no call',
  'not_entitled says what to do next': 'no call',
  'delegation_depth_exceeded says what to do next': 'no call',
  'not_found says what to do next': 'no call',
} as const satisfies Readonly<Record<string, string>>;

const OVER_HTTP = SURFACES.filter(({ name }) => name === 'over HTTP');

for (const [order, store] of STORES.entries()) {
  for (const { name, open } of order === 0 ? SURFACES : OVER_HTTP) {
    group(`on ${store.name}`, async () => {
      const place = await store.open();
      let opened: OpenSurface;
      let service: TestService;
      const stories = new Map<string, number>();
      told.set(`${name} on ${store.name}`, stories);
      const undo: (() => Promise<void> | void)[] = [];
      beforeAll(async () => {
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

  // Without it not every transport is there.
  suiteServer();
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
