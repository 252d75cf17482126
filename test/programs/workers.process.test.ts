/**
 * Several processes behind one port: all of them serve, one that dies is replaced, and a stop ends all.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { addressOf, DESK, launch } from '../support/launch.ts';
import { freshDatabase } from '../support/postgres.ts';

/** Only to end a test that hangs. */
const PATIENT = { timeout: 120_000 };

function start(args: readonly string[], environment: Record<string, string> = {}) {
  const desk = launch([DESK, ...args], temporaryFolder(), environment);
  return {
    ...desk,
    err: () => desk.output.err,
    /** Those that were ever started, in order. */
    workers: () =>
      [...desk.output.err.matchAll(/"pid":(\d+),"msg":"worker started"/g)].map(([, pid]) =>
        Number(pid),
      ),
  };
}

async function until<Value>(look: () => Value | undefined | false): Promise<Value> {
  for (;;) {
    const found = look();
    if (found) return found;
    await pause(20);
  }
}

/** On a connection of its own, so that each of them may get it. */
function get(url: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request(url + path, { agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      response.on('end', () => resolve(text));
    })
      .on('error', reject)
      .end();
  });
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const STORES = [
  { name: 'SQLite', open: async () => ({ url: '', drop: async () => undefined }) },
  { name: 'PostgreSQL', open: freshDatabase },
];

for (const { name, open } of STORES) {
  test(
    `--workers 2 serves by two processes that share ${name}, and SIGTERM ends all`,
    PATIENT,
    async () => {
      const store = await open();
      const desk = start(['--workers', '2'], store.url ? { WRIT_STORE: store.url } : {});
      const url = await addressOf(desk);
      const [one, other] = desk.workers() as [number, number];

      const issued = await fetch(`${url}/svc/tokens`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer demo-human-key' },
        body: '{"scope":["travel.read"]}',
      });
      const { token } = (await issued.json()) as { token: string };
      const statuses = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const response = await fetch(`${url}/svc/permissions`, {
            method: 'POST',
            headers: { authorization: `Bearer ${token}`, connection: 'close' },
          });
          return response.status;
        }),
      );
      assert.deepEqual(new Set(statuses), new Set([200]));
      assert.ok(lives(one) && lives(other));
      desk.child.kill('SIGTERM');
      assert.equal(await desk.ended, 0);
      assert.deepEqual([one, other].filter(lives), []);
    },
  );
}

test('a worker that crashes is replaced, and the service goes on meanwhile', PATIENT, async () => {
  const desk = start(['--workers', '2']);
  const url = await addressOf(desk);
  const answers = () => get(url, '/healthz').then(Boolean, () => false);
  const [one, other] = desk.workers() as [number, number];

  process.kill(one, 'SIGKILL');
  await until(() => desk.err().includes('worker ended'));
  assert.ok(await answers(), 'by the one that is left');
  const third = await until(() => desk.workers()[2]);
  await until(() => desk.err().split('"msg":"listening"').length === 4);
  process.kill(other, 'SIGKILL');
  await until(() => !lives(other) && desk.err().split('worker ended').length === 3);

  assert.ok(lives(third));
  assert.ok(await answers(), 'by the one that came later');
  desk.child.kill('SIGTERM');
  assert.equal(await desk.ended, 0);
  assert.deepEqual(desk.workers().filter(lives), []);
});

test('a variable that is no setting is warned of once, not by every worker', PATIENT, async () => {
  const desk = start(['--workers', '2'], { WRIT_SERVICE_HOST: '10.0.0.8' });
  await addressOf(desk);

  assert.equal(desk.err().split('"variables":["WRIT_SERVICE_HOST"]').length, 2, desk.err());
  desk.child.kill('SIGTERM');
  assert.equal(await desk.ended, 0);
});

test('SIGTERM while further workers start ends those that serve in order', PATIENT, async () => {
  const desk = start(['--workers', '3']);
  await until(() => desk.err().includes('"msg":"listening"') && desk.workers().length === 3);

  desk.child.kill('SIGTERM');

  assert.equal(await desk.ended, 0);
  assert.match(desk.err(), /"reason":"SIGTERM","msg":"stopping"/);
  assert.deepEqual(desk.workers().filter(lives), []);
});

test('workers that cannot start end the program with a reason', PATIENT, async () => {
  const desk = start(['--workers', '2'], { WRIT_STORE: `sqlite:${temporaryFolder()}` });

  assert.equal(await desk.ended, 1);
  assert.match(desk.err(), /Cannot open the store/);
  assert.match(desk.err(), /Cannot start: a worker ended before it listened/);
  assert.deepEqual(desk.workers().filter(lives), []);
});

test('--workers is refused with memory:, which processes cannot share', PATIENT, async () => {
  const desk = start(['--workers', '2'], { WRIT_STORE: 'memory:' });

  assert.equal(await desk.ended, 1);
  assert.match(desk.err(), /Cannot run 2 workers on "memory:"/);
});
