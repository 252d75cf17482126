/**
 * The simulation in the suite: a bounded number of seeds. `npm run simulate` runs more (docs/simulation.md).
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { chanceOf } from './chance.ts';
import { Broken, type Checker } from './checker.ts';
import { FAULT_KINDS, type FaultKind } from './faults.ts';
import { STORE_MODES, type StoreMode } from './modes.ts';
import { MUTANTS } from './mutants/all.ts';
import { knownSeeds } from './mutants/hunt.ts';
import { runSeed } from './run.ts';
import { commandOf, failureText, shrink } from './shrink.ts';

/** The first seeds make every kind of fault. More than these take longer than the rest of the suite. */
const FIRST_SEEDS = Array.from({ length: 20 }, (_, at) => at + 1);

/** Seeds of each mode: the first ones, and those that find a deliberate bug where there is one. */
const SEEDS: Readonly<Record<StoreMode, readonly number[]>> = {
  remote: seedsOf('remote'),
  embedded: seedsOf('embedded'),
};

function seedsOf(wanted: StoreMode): number[] {
  const known = knownSeeds();
  const seeds = MUTANTS.filter(({ mode }) => mode === wanted).map(({ name }) => known[name] ?? 1);
  return [...new Set([...FIRST_SEEDS, ...seeds])];
}

/** A process knows what its own commit did, so a store in it always answers. */
const UNKNOWN_TO: Readonly<Record<StoreMode, readonly FaultKind[]>> = {
  remote: [],
  embedded: ['store-never'],
};

/** In milliseconds: ends a test that hangs. A machine with much other work takes most of it. */
const LONG_MS = 180_000;

for (const mode of STORE_MODES) {
  describe(mode, () => {
    test(
      `runSeed() keeps every invariant for ${SEEDS[mode].length} seeds`,
      async () => {
        const seen = new Set<FaultKind>();
        let [effects, crashes, idle] = [0, 0, 0];
        for (const seed of SEEDS[mode]) {
          const report = await runSeed(seed, { mode });
          if (report.broken) {
            assert.fail(failureText(await shrink(report, { mode }), report));
          }
          for (const kind of report.hits.keys()) seen.add(kind);
          effects += report.effects;
          crashes += report.crashes;
          if (report.admitted === 0) idle += 1;
        }

        // A simulation in which nothing happens keeps every invariant too.
        const expected = FAULT_KINDS.filter((kind) => !UNKNOWN_TO[mode].includes(kind));
        assert.deepEqual([...seen].sort(), expected.sort());
        assert.ok(idle < SEEDS[mode].length / 10, `${idle} runs without a call`);
        assert.ok(effects > SEEDS[mode].length, `${effects} effects`);
        assert.ok(crashes > SEEDS[mode].length / 10, `${crashes} crashes`);
      },
      LONG_MS,
    );

    test(
      'runSeed() repeats a seed, event by event',
      async () => {
        for (const seed of [3, 17, 58]) {
          const first = await runSeed(seed, { mode, trace: true });
          const second = await runSeed(seed, { mode, trace: true });

          assert.ok(first.trace.length > 100);
          assert.deepEqual(second.trace, first.trace);
        }
      },
      LONG_MS,
    );
  });
}

test('chanceOf() gives a fork the same stream, whatever was drawn before', () => {
  const [one, other] = [chanceOf(7), chanceOf(7)];
  one.below(100);
  one.fork('first').bytes(10);

  assert.deepEqual(one.fork('second').bytes(32), other.fork('second').bytes(32));
  assert.notDeepEqual(chanceOf(8).fork('second').bytes(32), other.fork('second').bytes(32));
});

/** A rule that the service does not promise: a run that breaks it is easy to find. */
function onePayment(): Checker {
  let payments = 0;
  return {
    see(event) {
      if (event.kind !== 'effect' || event.phase !== 'done' || event.capability !== 'pay') return;
      payments += 1;
      if (payments > 1) throw new Broken('budget', 'two payments happened');
    },
    atRest: async () => undefined,
  };
}

test(
  'shrink() finds a smaller run that breaks the same rule, and replays it',
  async () => {
    const options = { mode: 'remote', checker: onePayment } as const;
    let found = await runSeed(1, options);
    for (let seed = 2; !found.broken; seed++) found = await runSeed(seed, options);

    const shrunk = await shrink(found, options);
    const { acts = [], ...rest } = shrunk.options;
    const again = await runSeed(found.seed, { ...rest, acts, trace: true });
    const smaller = await Promise.all(
      acts.map((left) =>
        runSeed(found.seed, { ...rest, acts: acts.filter((act) => act !== left) }),
      ),
    );

    assert.equal(shrunk.report.broken?.message, 'budget: two payments happened');
    assert.ok(acts.length < found.acts.length, `${acts.length} of ${found.acts.length} acts`);
    assert.deepEqual(again.trace, shrunk.report.trace);
    assert.match(again.trace.at(-1) ?? '', /BROKEN budget/);
    // Each act that is left is needed.
    assert.deepEqual(smaller.filter(({ broken }) => broken).length, 0);
    assert.match(
      failureText(shrunk, found),
      /npm run simulate -- --seed \d+ --mode remote --acts=\d/,
    );
  },
  LONG_MS,
);

test('commandOf() names everything that was left out', () => {
  const options = { mode: 'remote', acts: [1, 4], without: ['crash'], replicas: 2 } as const;

  assert.equal(
    commandOf(42, options),
    'npm run simulate -- --seed 42 --mode remote --acts=1,4 --without crash --replicas 2',
  );
  // A run without any act: the option keeps its empty value.
  assert.equal(
    commandOf(42, { mode: 'remote', acts: [], without: ['crash'] }),
    'npm run simulate -- --seed 42 --mode remote --acts= --without crash',
  );
});
