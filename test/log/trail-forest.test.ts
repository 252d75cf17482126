/**
 * Random delegation forests of several root principals that use the same names and ids: each caller reads the entries of
 * its own root principal and no others, by every filter, and an id of another root is answered like one that does not exist.
 *
 * @module
 */

import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { entryView } from '../../src/domain/log/entry.ts';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { person } from '../support/person.ts';
import { rounds } from '../support/rounds.ts';
import { onEachStore, type Reply, type TestService, testService } from '../support/world.ts';

/** On each store. */
const FORESTS = rounds(1);
const TOKENS_MAX = 6;

/** Calls of a forest whose ids every caller asks for. */
const CALLS_ASKED_FOR = 3;

/** Room for a machine that does much else; nothing is concluded from the time. */
const PATIENCE_MS = 240_000;

const TRIP = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
const UNKNOWN_CALL = 'inv-000000000000';
const UNKNOWN_TOKEN = `tok_${'0'.repeat(32)}`;

const ROOTS = [
  { key: 'test-ann-key', principal: 'human:ann' },
  { key: 'test-shop-key', principal: 'service:shop' },
  { key: 'test-desk-key', principal: 'service:desk' },
] as const;

/** A token may be for someone who has the name of a root principal. */
const SUBJECTS = ['agent:a', 'agent:b', 'service:shop', 'service:desk'];

const IDENTITIES = ROOTS.map(({ key, principal }) => person(key, principal, ['travel.search']));

interface Planted {
  readonly root: number;
  /** Which of those before it is its parent; none for a root token. */
  readonly parent: number | null;
  readonly subject: string;
  /** Which call so far it names as the parent of its own, also one of another root. */
  readonly below: number;
}

const anyPlan: fc.Arbitrary<Planted[]> = fc.array(
  fc.record({
    root: fc.nat(ROOTS.length - 1),
    parent: fc.option(fc.nat(TOKENS_MAX), { freq: 4 }),
    subject: fc.constantFrom(...SUBJECTS),
    below: fc.nat(),
  }),
  { minLength: 3, maxLength: TOKENS_MAX },
);

interface Grown {
  readonly token: IssueAnswer;
  /** The principal that the service must take for its root. */
  readonly principal: string;
  readonly depth: number;
}

interface Forest {
  readonly tokens: readonly Grown[];
  /** Ids of all calls with the root principal that each belongs to. */
  readonly calls: ReadonlyMap<string, string>;
}

async function grow(service: TestService, plan: readonly Planted[], id: string): Promise<Forest> {
  const tokens: Grown[] = [];
  const calls = new Map<string, string>();
  for (const { root, parent, subject, below } of plan) {
    const grown = await plant(service, tokens, { root, parent, subject });
    tokens.push(grown);
    const above = [...calls.keys()][below % Math.max(calls.size, 1)];
    // The second lacks its scope. Both name one task and one reference, as all calls of the forest do.
    for (const capability of ['search_flights', 'book_flight']) {
      const fields = {
        task_id: id,
        client_reference_id: id,
        ...(above && { parent_invocation_id: above }),
      };
      const { body } = await service.invoke(grown.token.token, capability, TRIP, { fields });
      calls.set(body.invocation_id, grown.principal);
    }
  }
  return { tokens, calls };
}

async function plant(
  service: TestService,
  tokens: readonly Grown[],
  { root, parent, subject }: Pick<Planted, 'root' | 'parent' | 'subject'>,
): Promise<Grown> {
  const above = parent === null ? undefined : tokens[parent % Math.max(tokens.length, 1)];
  if (above && above.depth < 5) {
    const token = await service.delegate(above.token, { subject });
    return { token, principal: above.principal, depth: above.depth + 1 };
  }
  const { key, principal } = ROOTS[root] as (typeof ROOTS)[number];
  const token = await service.issue(key, { scope: ['travel.search'], subject });
  return { token, principal, depth: 0 };
}

type Filter = readonly [query: string, fits: (entry: AuditEntry) => boolean];

/** Each filter with what it means, written without the code that is tried. */
function filtersFor(forest: Forest, id: string): Filter[] {
  const isCall = ({ entry_type }: AuditEntry) => entry_type === 'invocation';
  const calls = [...forest.calls.keys()];
  const few = calls.filter((_, index) => index % Math.ceil(calls.length / CALLS_ASKED_FOR) === 0);
  const ofCalls = few.flatMap((call): Filter[] => [
    [`invocation_id=${call}`, (entry) => isCall(entry) && entry.invocation_id === call],
    [
      `parent_invocation_id=${call}`,
      (entry) => isCall(entry) && entry.parent_invocation_id === call,
    ],
  ]);
  return [
    ['limit=1000', isCall],
    ['entry_type=all&limit=1000', () => true],
    ['entry_type=all&limit=1000&include=leaf', () => true],
    ['entry_type=issuance&limit=1000', ({ entry_type }) => entry_type === 'issuance'],
    [`task_id=${id}`, (entry) => isCall(entry) && entry.task_id === id],
    [`client_reference_id=${id}`, (entry) => isCall(entry) && entry.client_reference_id === id],
    [
      'capability=book_flight&limit=1000',
      (entry) => isCall(entry) && entry.capability === 'book_flight',
    ],
    ['since=2020-01-01&limit=1000&cursor=999999999', isCall],
    ...ofCalls,
  ];
}

async function wholeLog({ store }: TestService): Promise<AuditEntry[]> {
  const { size } = await store.sequence();
  const entries = await store.scanEntries(0, size);
  return entries.map(entryView);
}

const audit = (service: TestService, bearer: string, query: string): Promise<Reply> =>
  service.ask('POST', `/svc/audit?${query}`, { bearer });

/** The answer without what must differ: the id that was asked for, and the id of the call. */
function blurred({ status, text = '' }: Reply, id: string): string {
  return `${status} ${text.replaceAll(id, '…').replaceAll(/inv-[0-9a-f]{12}/g, 'inv-…')}`;
}

/** What belongs to other roots is not there for this token. */
async function assertBlind(
  service: TestService,
  { token: { token: bearer }, principal }: Grown,
  { tokens, calls }: Forest,
): Promise<void> {
  const find = (id: string) => audit(service, bearer, `invocation_id=${id}`);
  const read = (id: string) => service.ask('GET', `/svc/tokens/${id}`, { bearer });
  const [noCall, noToken] = [await find(UNKNOWN_CALL), await read(UNKNOWN_TOKEN)];
  const foreignCalls = [...calls].filter(([, owner]) => owner !== principal);
  const foreignTokens = tokens.filter((other) => other.principal !== principal);

  assert.deepEqual([noCall.status, noToken.status], [200, 404]);
  for (const [id] of foreignCalls) {
    assert.equal(blurred(await find(id), id), blurred(noCall, UNKNOWN_CALL));
  }
  for (const { token } of foreignTokens) {
    const found = await read(token.token_id);
    assert.equal(blurred(found, token.token_id), blurred(noToken, UNKNOWN_TOKEN));
  }
}

let forests = 0;

onEachStore(
  ({ url }) =>
    testService({ store: url, settings: { identities: IDENTITIES, rate_limits: 'off' } }),
  (rig) => {
    test(
      'audit.query shows each caller the entries of its own root principal and no others, for any forest',
      () =>
        fc.assert(
          fc.asyncProperty(anyPlan, async (plan) => {
            forests += 1;
            const id = `forest-${forests}`;
            const forest = await grow(rig(), plan, id);
            const log = await wholeLog(rig());
            const callers = [
              ...ROOTS.map(({ key, principal }) => ({ bearer: key, principal })),
              ...forest.tokens.map(({ token, principal }) => ({ bearer: token.token, principal })),
            ];

            // What the log says of each call is what was planted, or the comparison below would show nothing.
            for (const entry of log.filter(({ task_id }) => task_id === id)) {
              assert.equal(entry.root_principal, forest.calls.get(entry.invocation_id ?? ''));
            }
            for (const { bearer, principal } of callers) {
              for (const [query, fits] of filtersFor(forest, id)) {
                const { status, body } = await audit(rig(), bearer, query);

                const own = log.filter(
                  (entry) => entry.root_principal === principal && fits(entry),
                );
                assert.equal(status, 200, JSON.stringify(body));
                assert.deepEqual(
                  body.entries.map(({ entry_id }: AuditEntry) => entry_id),
                  own.map(({ entry_id }) => entry_id).reverse(),
                  `${principal} asks for ${query}`,
                );
              }
            }
          }),
          { numRuns: FORESTS },
        ),
      PATIENCE_MS,
    );

    test(
      'ids of calls and tokens of another root are answered like ids that do not exist, for any forest',
      () =>
        fc.assert(
          fc.asyncProperty(anyPlan, async (plan) => {
            forests += 1;
            const forest = await grow(rig(), plan, `forest-${forests}`);

            for (const caller of forest.tokens) await assertBlind(rig(), caller, forest);
          }),
          { numRuns: FORESTS },
        ),
      PATIENCE_MS,
    );
  },
);
