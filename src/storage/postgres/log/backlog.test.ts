import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createBacklog } from './backlog.ts';

const NONE = { waiting: 0, ageMs: 0 };

function clocked() {
  const clock = { ms: 0 };
  return { clock, backlog: createBacklog(() => clock.ms) };
}

test('state() counts what was added since the last look', () => {
  const { backlog } = clocked();
  backlog.add(3);
  const look = backlog.look();
  backlog.add(2);

  look.done(NONE);

  assert.equal(backlog.state().waiting, 2, 'the three were part of what the look saw');
});

test('state() is overloaded by more than 4,096 entries, and not by 4,096', () => {
  const { backlog } = clocked();

  backlog.add(4_096);
  assert.equal(backlog.state().overloaded, false);
  backlog.add(1);
  assert.equal(backlog.state().overloaded, true);
  backlog.look().done(NONE);
  assert.equal(backlog.state().overloaded, false);
});

test('state() is overloaded when the oldest waits for more than two seconds', () => {
  const { clock, backlog } = clocked();
  backlog.add(1);

  clock.ms = 2_000;
  assert.equal(backlog.state().overloaded, false);
  clock.ms = 2_001;
  assert.equal(backlog.state().overloaded, true);
});

test('state() knows how old the rest of the queue was when it was seen', () => {
  const { clock, backlog } = clocked();
  clock.ms = 10_000;
  backlog.look().done({ waiting: 5, ageMs: 1_500 });

  clock.ms = 10_500;
  assert.deepEqual(backlog.state(), { waiting: 5, overloaded: false });
  clock.ms = 10_501;
  assert.deepEqual(backlog.state(), { waiting: 5, overloaded: true });
});

test('state() does not count the age of entries that have their place', () => {
  const { clock, backlog } = clocked();
  backlog.add(1);
  clock.ms = 1_900;
  const look = backlog.look();
  backlog.add(1);
  look.done(NONE);

  clock.ms = 3_900;
  assert.deepEqual(backlog.state(), { waiting: 1, overloaded: false });
});
