import assert from 'node:assert/strict';
import { test } from 'vitest';
import { CommandFault } from '../../shell/exit.ts';
import { Busy, type Patience, patiently } from './patience.ts';

function patience(tries: number, signal = new AbortController().signal) {
  const [pauses, said]: [number[], string[]] = [[], []];
  const parts: Patience = {
    signal,
    tries,
    pause: async (ms) => void pauses.push(ms),
    say: (text) => void said.push(text),
  };
  return { parts, pauses, said };
}

/** Fails so often, then succeeds. */
function failing(times: number, error: () => Error) {
  let left = times;
  return async () => {
    left -= 1;
    if (left >= 0) throw error();
    return 'done';
  };
}

test('patiently() never returns sooner than the other side asks, and says once that it waits', async () => {
  const { parts, pauses, said } = patience(Number.POSITIVE_INFINITY);
  const busy = failing(40, () => new Busy('it answered 429', { retryAfterMs: 7_000 }));

  assert.equal(await patiently(parts, busy), 'done');
  assert.equal(pauses.length, 40);
  assert.ok(pauses.every((ms) => ms >= 7_000 && ms <= 20_000));
  assert.deepEqual(said, ['Waiting: it answered 429']);
});

test('patiently() cuts a pause of years', async () => {
  const { parts, pauses } = patience(Number.POSITIVE_INFINITY);
  await patiently(
    parts,
    failing(1, () => new Busy('later', { retryAfterMs: 1e12 })),
  );

  assert.ok((pauses[0] ?? 0) <= 310_000);
});

test('patiently() gives up with 5 after its tries, and at once on another error', async () => {
  const { parts, pauses } = patience(3);
  const gaveUp = await patiently(
    parts,
    failing(3, () => new Busy('away')),
  ).catch((error) => error);
  const broken = patiently(
    parts,
    failing(1, () => new Error('broken')),
  );

  assert.ok(gaveUp instanceof CommandFault);
  assert.equal(gaveUp.exit, 5);
  assert.equal(pauses.length, 2);
  await assert.rejects(broken, /^Error: broken$/);
});

test('patiently() ends when the command is stopped', async () => {
  const stop = new AbortController();
  const { parts } = patience(Number.POSITIVE_INFINITY, stop.signal);
  const stopping = failing(1, () => {
    stop.abort(new Error('stopped'));
    return new Busy('away');
  });

  await assert.rejects(patiently(parts, stopping), /^Error: stopped$/);
});
