/**
 * What a handler may not call, and what a handler that calls without measure cannot hold: the event loop, memory,
 * slots, or its context after its end.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'vitest';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import type { HandlerContext, InnerAnswer } from '../../src/service/author/handler.ts';
import { HOSTILE_VALUES } from '../support/hostile-values.ts';
import type { Script } from '../support/scripts.ts';
import { countTurns } from '../support/turns.ts';
import { eventually, patientLoad } from '../support/world.ts';
import { type InnerDesk, onEachStore, openInnerDesk } from './inner-desk.ts';

type Invoke = HandlerContext['invoke'];

/** What a call of a handler came to: a success, the type of a failure, or the sentence of an error. */
async function outcomeOf(call: Promise<InnerAnswer<object>>): Promise<string> {
  try {
    const answer = await call;
    return answer.success ? 'success' : answer.failure.type;
  } catch (error) {
    return (error as Error).message;
  }
}

/** What each of these calls came to. */
async function outcomes(
  desk: InnerDesk,
  calls: (invoke: Invoke) => Promise<InnerAnswer<object>>[],
  capability = 'tell',
): Promise<string[]> {
  let all: string[] = [];
  const token = await desk.token({ budget: { currency: 'USD', max_amount: 1_000 } });
  const script: Script = async (_, { invoke }) => {
    all = await Promise.all(calls(invoke).map(outcomeOf));
    return {};
  };
  await desk.run(capability, script, { token });
  return all;
}

function countOf(all: readonly string[], what: string | RegExp): number {
  return all.filter((each) => (typeof what === 'string' ? each === what : what.test(each))).length;
}

const service = await openInnerDesk({ settings: { rate_limits: 'off' }, load: patientLoad(4_000) });
const desk = () => service;
/** Five invocations each, steps not counted. */
const PARENTS = 60;
const MOST = 'Cannot call "sms": a call makes at most 100 calls, together with those below it';

test('a handler that calls 10,000 times at once gets 100 calls, eight of them at a time', async () => {
  let running = 0;
  let most = 0;
  desk().world.script('sms', async () => {
    running += 1;
    most = Math.max(most, running);
    await pause(1);
    running -= 1;
    return {};
  });

  const all = await outcomes(desk(), (invoke) =>
    Array.from({ length: 10_000 }, () => invoke('sms', {})),
  );
  desk().world.script('sms');

  assert.equal(countOf(all, 'success'), 100);
  assert.equal(countOf(all, MOST), 9_900);
  assert.equal(most, 8);
});

test('a call and the calls below it share one count', async () => {
  const sms = desk().world.ran('sms');
  const all = await outcomes(desk(), (invoke) =>
    Array.from({ length: 70 }, () => invoke('mid', {})),
  );

  // A handler of `mid` that may not call fails.
  assert.equal(desk().world.ran('sms') - sms, 30);
  assert.equal(countOf(all, 'success'), 30);
  assert.equal(countOf(all, 'internal_error'), 40);
});

const NOT_NAMED =
  /^Cannot call "\w+": "requires" of "tell" does not name it with called_by: "handler"$/;
test('a handler calls only what its capability lists as called by the handler', async () => {
  for (const name of ['other', 'tell', 'asking', 'nowhere', 'toString', '__proto__']) {
    const ran = desk().world.ranAny();
    const [outcome] = await outcomes(desk(), (invoke) => [invoke(name, {})]);

    assert.match(outcome ?? '', NOT_NAMED);
    assert.equal(desk().world.ranAny(), ran + 1);
  }
});

test('a capability is called by its name or by its object', async () => {
  const all = await outcomes(desk(), (invoke) => [
    invoke('sms', { to: 'ann' }),
    invoke({ name: 'sms' }, { to: 'ann' }),
  ]);

  assert.deepEqual(all, ['success', 'success']);
});

for (const { name, make } of HOSTILE_VALUES) {
  test(`invoke() with ${name} rejects inside the handler, or reads it as JSON`, async () => {
    const all = await outcomes(desk(), (invoke) => [
      invoke(make() as string, {}),
      invoke('look', make() as JsonObject),
      invoke('look', { to: make() } as JsonObject),
      invoke('look', {}),
    ]);

    assert.match(all[0] ?? '', /^Cannot call /);
    for (const each of all.slice(1, 3)) {
      assert.match(each, /^(Cannot call "look": its parameters: |success|invalid_parameters)/);
    }
    assert.equal(all[3], 'success');
  });
}

test('parameters are read when the handler passes them', async () => {
  const parameters = { to: 'ann' };
  let answer: InnerAnswer | undefined;
  await desk().run('tell', async (_, { invoke }) => {
    const calls = Array.from({ length: 20 }, () => invoke('sms', parameters));
    parameters.to = 'eve';
    answer = (await Promise.all(calls)).at(-1);
    return {};
  });

  assert.deepEqual(answer?.success && answer.result, { sent: true, to: 'ann' });
});

test('a handler gets at most 256 KiB of parameters through', async () => {
  const [outcome] = await outcomes(desk(), (invoke) => [
    invoke('sms', { to: 'x'.repeat(262_145) }),
  ]);

  assert.match(outcome ?? '', /^Cannot call "sms": its parameters: /);
});

test('a handler that keeps its context calls nothing after its end', async () => {
  let kept: Invoke | undefined;
  const token = await desk().token();
  await desk().run(
    'tell',
    (_, { invoke }) => {
      kept = invoke;
      return {};
    },
    { token },
  );

  const outcome = await outcomeOf((kept as Invoke)('sms', {}));

  assert.equal(outcome, 'Cannot call "sms": its handler has ended');
  assert.deepEqual(await desk().spent(token), [0n, 5_00n]);
});

test('a call ends after the calls that its handler did not await, also after those that wait for a slot', async () => {
  let end: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (end = resolve));
  desk().world.script('sms', async () => {
    await held;
    return {};
  });
  const before = desk().world.ran('sms');
  const calls: Promise<string>[] = [];
  const running = desk().run('tell', (_, { invoke }) => {
    for (let each = 0; each < 20; each += 1) calls.push(outcomeOf(invoke('sms', {})));
    return { answer: 'early' };
  });
  await eventually(() => desk().world.ran('sms') - before === 8);
  let hasEnded = false;
  void running.then(() => (hasEnded = true));
  await pause(30);
  assert.equal(hasEnded, false);
  end();
  const body = await running;
  desk().world.script('sms');

  const all = await Promise.all(calls);
  assert.deepEqual(body.result, { answer: 'early' });
  assert.equal(countOf(all, 'success'), 20);
  assert.equal((await desk().inner(body.invocation_id)).length, 20);
  const last = (await desk().entriesBy({})).at(-1);
  assert.equal(last?.invocation_id, body.invocation_id);
});

test('an inner call ends with the deadline of its parent, and none begins after it', async () => {
  let isOver = false;
  desk().world.script('slow', () => new Promise(() => undefined));
  desk().world.script('mid', async (_, { signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return {};
  });
  const seen: string[] = [];
  const body = await desk().run('short', async (_, { invoke }) => {
    seen.push(await outcomeOf(invoke('mid', {})));
    seen.push(await outcomeOf(invoke('sms', {})));
    isOver = true;
    return {};
  });
  await eventually(() => isOver);
  desk().world.script('mid');
  desk().world.script('slow');

  assert.equal(body.failure.type, 'outcome_unknown');
  assert.equal(seen[0], 'outcome_unknown');
  assert.match(seen[1] ?? '', /^Cannot call "sms": the deadline has passed$/);
  const [mid] = await desk().inner(body.invocation_id);
  assert.equal(mid?.state, 'indeterminate');
});

const SPINNING: [name: string, call: (invoke: Invoke) => Promise<unknown>][] = [
  ['what it may call', (invoke) => invoke('look', {})],
  ['what it may not call', (invoke) => invoke('nowhere', {})],
  ['with a circle', (invoke) => invoke('look', circle)],
];
const circle: JsonObject = {};
circle.self = circle;

for (const [name, call] of SPINNING) {
  test(`a handler that calls ${name} without an end, also after its deadline, lets others run`, async () => {
    let isOver = false;
    let calls = 0;
    const turns = countTurns();
    const script: Script = async (_, { invoke }) => {
      while (!isOver) {
        calls += 1;
        turns.add(1);
        await call(invoke).catch(() => undefined);
      }
      return {};
    };
    const body = await desk().run('short', script);
    const beside = await desk().run('tell', () => ({ answer: 'here' }));
    const later = calls;
    await pause(250);
    isOver = true;

    assert.equal(body.failure.type, 'outcome_unknown');
    assert.deepEqual(beside.result, { answer: 'here' });
    // After the deadline each attempt waits a tenth of a second.
    assert.ok(calls - later <= 5, `${calls - later} calls`);
  });
}

test('10,000 rejected calls without an await end no process', async () => {
  const body = await desk().run('tell', (_, { invoke }) => {
    for (let each = 0; each < 10_000; each += 1) void invoke('nowhere', {});
    return {};
  });

  assert.equal(body.success, true);
});

onEachStore((each) => {
  test('many calls that all wait for calls of their handlers all end', async () => {
    // An exclusive lease, a shared budget and one token for all the others.
    const [shared, exclusive] = [
      await each().token({ budget: { currency: 'USD', max_amount: 100_000 } }),
      await each().token({ concurrent_branches: 'exclusive' }),
    ];
    const script: Script = async (_, { invoke }) => {
      const answers = await Promise.all([
        invoke('mid', {}),
        invoke('trip', {}),
        invoke('look', {}),
      ]);
      return { answer: answers.every(({ success }) => success) };
    };
    each().world.script('tell', script);
    const tokens = [exclusive, ...Array.from({ length: PARENTS }, () => shared)];
    const replies = await Promise.all(tokens.map(({ token }) => each().invoke(token, 'tell')));
    each().world.script('tell');

    assert.deepEqual(
      [...new Set(replies.map(({ body }) => JSON.stringify(body.result)))],
      ['{"answer":true}'],
    );
    assert.deepEqual(await each().spent(shared), [0n, BigInt(PARENTS) * 7_00n]);
  });
});
