/**
 * Tests the tester: each deliberate bug of a store makes an answer differ from the model within a few seeds.
 *
 * The bugs are those that a cache invites: a state that is kept too long, forgotten, or read for another token.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Loaded } from '../../src/storage/port/invocation-store.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { drawActs } from './draw.ts';
import { ONE_SQLITE, type Place, TWO_SQLITE } from './place.ts';
import { type Difference, runActs } from './run.ts';
import { differenceText, shrink } from './shrink.ts';

const ACTS = 60;
const SEEDS_MAX = 30;

/** Acts that are left of a run, at most. */
const SHORT_MAX = 5;

/** In milliseconds: ends a test that hangs. */
const LONG_MS = 120_000;

/** A store with some methods replaced. */
function changed(store: Store, own: Partial<Store>): Store {
  return Object.assign(Object.create(store) as Store, own);
}

/** A store whose answers about calls are changed. */
function reading(store: Store, change: (loaded: Loaded) => Loaded): Store {
  return changed(store, { load: async (request) => change(await store.load(request)) });
}

/** Keeps the first state of each token in memory, and never looks again. */
function keepsTokens(store: Store): Store {
  const kept = new Map<string, Loaded>();
  return changed(store, {
    async load(request) {
      const loaded = await store.load(request);
      const before = kept.get(request.tokenId) ?? loaded;
      kept.set(request.tokenId, before);
      return { ...loaded, lineage: before.lineage };
    },
  });
}

/** Keeps what its own service revoked, and does not learn of revocations by the other one. */
function keepsOwnRevocations(store: Store): Store {
  const revoked = new Set<string>();
  return changed(
    reading(store, (loaded) => ({
      ...loaded,
      lineage: loaded.lineage.map(({ revoked_at, ...link }) => ({
        ...link,
        revoked_at: revoked.has(link.token_id) ? revoked_at : undefined,
        ...(!revoked.has(link.token_id) && { revoked_mac: undefined }),
      })),
    })),
    {
      revokeToken(tokenId, ...rest) {
        revoked.add(tokenId);
        return store.revokeToken(tokenId, ...rest);
      },
    },
  );
}

interface Bug {
  readonly name: string;
  readonly place: typeof ONE_SQLITE;
  readonly wrap: (store: Store) => Store;
}

const BUGS: readonly Bug[] = [
  { name: 'the state of a token is kept for ever', place: ONE_SQLITE, wrap: keepsTokens },
  {
    name: 'a service learns only of its own revocations',
    place: TWO_SQLITE,
    wrap: keepsOwnRevocations,
  },
  {
    name: 'the revocation of a parent does not count',
    place: ONE_SQLITE,
    wrap: (store) =>
      reading(store, (loaded) => ({
        ...loaded,
        lineage: loaded.lineage.map(({ revoked_at, revoked_mac, ...link }) =>
          link.token_id === loaded.token?.token_id
            ? { ...link, revoked_at, revoked_mac }
            : { ...link, revoked_at: undefined, revoked_mac: undefined },
        ),
      })),
  },
  {
    name: 'a read does not ask about freezes',
    place: ONE_SQLITE,
    wrap: (store) => reading(store, (loaded) => ({ ...loaded, freezes: [] })),
  },
  {
    name: 'a freeze is not lifted',
    place: ONE_SQLITE,
    wrap: (store) => changed(store, { unfreeze: async () => true }),
  },
  {
    name: 'time stands a millisecond back',
    place: ONE_SQLITE,
    wrap: (store) => changed(store, { now: () => new Date(store.now().getTime() - 1) }),
  },
  {
    name: 'a key is not found again',
    place: ONE_SQLITE,
    wrap: (store) =>
      changed(
        reading(store, (loaded) => ({ ...loaded, idempotency: undefined })),
        {
          admit: (admission) => store.admit({ ...admission, idempotency: undefined }),
        },
      ),
  },
  {
    name: 'a budget counts the calls of its own token only',
    place: ONE_SQLITE,
    wrap: (store) =>
      reading(store, (loaded) => ({
        ...loaded,
        lineage: loaded.lineage.map(({ budget, ...link }) => ({
          ...link,
          budget: link.token_id === loaded.token?.token_id ? budget : undefined,
        })),
      })),
  },
];

for (const { name, place, wrap } of BUGS) {
  test(`runActs() finds a store in which ${name}`, { timeout: LONG_MS }, async () => {
    const found = await firstDifference(await place.open(wrap));

    assert.ok(found, `no seed of ${SEEDS_MAX} found it`);
  });
}

test('shrink() leaves the few acts that show a bug', { timeout: LONG_MS }, async () => {
  const place = await ONE_SQLITE.open(keepsTokens);
  const found = await firstDifference(place);
  assert.ok(found);

  const short = await shrink(place, found);

  // A token is issued, used, ended and used again.
  assert.ok(short.acts.length <= SHORT_MAX, differenceText(short));
  assert.match(differenceText(short), /\n {2}\{"label":.+\nservice: .+\nmodel: {3}./);
});

async function firstDifference(place: Place): Promise<Difference | undefined> {
  for (let seed = 1; seed <= SEEDS_MAX; seed++) {
    const acts = drawActs(seed, { acts: ACTS, services: place.services.length });
    const found = await runActs(place, acts);
    if (found) return found;
  }
  return undefined;
}
