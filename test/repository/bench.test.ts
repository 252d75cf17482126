/**
 * How the benchmark treats a busy host and a program that does not answer.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { coresOf, TAKEN_MAX, takenShare } from '../../bench/host.ts';
import type { Round } from '../../bench/measure.ts';
import { ABSENT } from '../../bench/processes.ts';
import { roundsLine } from '../../bench/report.ts';
import { interleaved, type Measured, type Tally, undisturbed } from '../../bench/rounds.ts';
import { isAllAnswered } from '../../bench/silence.ts';
import { forTerminal, goalsTable, rowsTable } from '../../bench/tables.ts';

/** In ticks of 10 ms, of two cores together. */
function stat(ticks: { user: number; idle: number; steal?: number }): string {
  const cpu = `${ticks.user} 0 0 ${ticks.idle} 0 0 0 ${ticks.steal ?? 0} 0 0`;
  return `cpu  ${cpu}\ncpu0 ${cpu}\ncpu1 ${cpu}\nintr 12 0\n`;
}

const BEGUN = coresOf(stat({ user: 1_000, idle: 1_000, steal: 7 }), 0);

const hosts = [
  { name: 'nothing', after: { user: 1_150, idle: 1_050, steal: 7 }, taken: 0 },
  {
    name: 'what the host says it took',
    after: { user: 1_120, idle: 1_030, steal: 57 },
    taken: 0.25,
  },
  {
    name: 'a gap of which the host says nothing',
    after: { user: 1_100, idle: 1_000, steal: 7 },
    taken: 0.5,
  },
  {
    name: 'nothing for a step of the clock',
    after: { user: 1_151, idle: 1_050, steal: 7 },
    taken: 0,
  },
];
for (const { name, after, taken } of hosts) {
  test(`takenShare() counts ${name}`, () => {
    const share = takenShare(BEGUN, coresOf(stat(after), 1_000));

    assert.ok(Math.abs(share - taken) < 0.001, String(share));
  });
}

const TAKEN = TAKEN_MAX + 0.1;

function sampler(shares: readonly (number | undefined)[]) {
  const rounds = shares.map((taken): Round => {
    const own = { rate: 1, p50: 1, p99: 1, cpu: 1 };
    return { own, taken };
  });
  return { left: rounds, sample: () => Promise.resolve(rounds.shift()) };
}

function emptyTally(): Tally {
  return { rounds: 0, repeated: 0, marked: 0, isTold: true };
}

test('undisturbed() measures a round again until the host leaves it alone', async () => {
  const tally = emptyTally();

  const round = await undisturbed(sampler([TAKEN, 0.01]).sample, tally);

  assert.equal(round?.taken, 0.01);
  assert.deepEqual(tally, { rounds: 1, repeated: 1, marked: 0, isTold: true });
});

test('undisturbed() keeps the least disturbed of three, marked', async () => {
  const tally = emptyTally();
  const { sample, left } = sampler([TAKEN + 0.2, TAKEN, TAKEN + 0.1, 0]);

  const round = await undisturbed(sample, tally);

  assert.equal(round?.taken, TAKEN);
  assert.equal(left.length, 1);
  assert.deepEqual(tally, { rounds: 1, repeated: 2, marked: 1, isTold: true });
});

test('undisturbed() repeats nothing where the system does not tell', async () => {
  const tally = emptyTally();

  await undisturbed(sampler([undefined]).sample, tally);

  assert.deepEqual(tally, { rounds: 1, repeated: 0, marked: 0, isTold: true });
});

test('undisturbed() bounds what it repeats in the whole run', async () => {
  const tally = emptyTally();

  for (let round = 0; round < 100; round += 1) {
    await undisturbed(sampler([TAKEN, TAKEN, TAKEN]).sample, tally);
  }

  assert.deepEqual(tally, { rounds: 100, repeated: 40, marked: 100, isTold: true });
});

test('interleaved() goes on past a target that does not answer, and its row says so', async () => {
  const target = { name: 'a dead one', program: ABSENT, path: '/', method: 'GET' } as const;

  const { rows } = await interleaved([target], { rounds: 5, seconds: 0.1, warmUpSeconds: 0.1 });

  assert.equal(isAllAnswered(), false);
  assert.match(
    forTerminal(rowsTable(rows)),
    /^a dead one +no answer +no answer in 5 of 5 rounds$/m,
  );
});

const MEASURED: Measured = {
  name: 'one',
  baseline: undefined,
  reach: 0.5,
  aim: undefined,
  isUnsure: false,
  rate: 10,
  p50: 1,
  p99: 2,
  cpu: 3,
  ratio: 0.4,
  rounds: 5,
  silent: 0,
  marked: 2,
};

test('rowsTable() says which rows have rounds that are marked', () => {
  const text = forTerminal(rowsTable([MEASURED]));

  assert.match(text, /^one .* 0\.40 +0\.50 +2 of 5 rounds marked$/m);
});

test('roundsLine() says where nothing can be marked', () => {
  assert.match(roundsLine({ ...emptyTally(), isTold: false }), /^No round is marked: /);
});

test('goalsTable() takes the promises of a read from where they are counted', () => {
  const lines = [
    { name: 'timers', figures: [1, 2] },
    { name: 'promises', figures: [7, 9] },
  ];

  const table = goalsTable(33, { calls: ['another', 'invoke, read capability, SQLite'], lines });

  assert.deepEqual(
    table.lines.map(([, figure]) => figure),
    ['33 ms', '9'],
  );
});

test('goalsTable() says where there was no answer', () => {
  const table = goalsTable(undefined, undefined);

  assert.deepEqual(
    table.lines.map(([, figure]) => figure),
    ['no answer', 'no answer'],
  );
});
