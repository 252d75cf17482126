/**
 * The pipe under load: more requests than are taken at once, a client that pauses, and an input that
 * ends while calls run. Nothing is lost, and nothing is answered twice.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, test } from 'vitest';
import { serveStdio } from '../../src/stdio/serve.ts';
import { ALICE, SETTINGS } from '../invoke/principals.ts';
import { type Rig, startRig } from '../invoke/rig.ts';
import { eventually } from '../support/world.ts';
import { asking, type Message, openPipe, type PipeClient } from './pipe.ts';

/** As decision 03 has it. */
const IN_WORK_MAX = 256;

let rig: Rig;
let pipe: PipeClient;
let bearer: string;
let gate: Gate;
/** How many entries there are before anything is called. */
let before: number;

beforeEach(async () => {
  rig = await startRig();
  pipe = openPipe(rig.runtime);
  bearer = (await rig.token()).token;
  gate = gated(rig, 'look');
  before = await rig.entryCount();
});
afterEach(async () => {
  gate.open();
  await pipe.hangUp();
  await rig.close();
});

interface Gate {
  /** How many calls wait at it. */
  waiting(): number;
  /** Lets go of those that wait, and of all that come. */
  open(): void;
}

/** Makes the handler of a capability wait. */
function gated({ world }: Rig, capability: string): Gate {
  let waiting = 0;
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  world.script(capability, async () => {
    waiting += 1;
    await opened;
    waiting -= 1;
    return {};
  });
  return { waiting: () => waiting, open };
}

function call(id: number): object {
  const params = { auth: { bearer }, capability: 'look', parameters: {} };
  return asking(id, 'svc.invoke', { ...params, client_reference_id: `call-${id}` });
}

async function answers(count: number): Promise<Message[]> {
  const messages: Message[] = [];
  while (messages.length < count) messages.push(await pipe.next());
  return messages;
}

/** Enough for whatever would still happen to happen. */
async function manyTurns(): Promise<void> {
  for (let turns = 0; turns < 200; turns += 1) await turn();
}

test('converse() runs 256 calls at once, leaves the others in the pipe, and answers all', async () => {
  const sent = Array.from({ length: 3 * IN_WORK_MAX }, (_, id) => id);
  // In one piece, so that the line that waits is one that was read already.
  pipe.input.write(sent.map((id) => `${JSON.stringify(call(id))}\n`).join(''));
  await eventually(() => gate.waiting() === IN_WORK_MAX);
  await manyTurns();
  assert.equal(gate.waiting(), IN_WORK_MAX);

  gate.open();
  const told = await answers(sent.length);

  for (const { id, result } of told) {
    assert.equal(result.success, true);
    assert.equal(result.client_reference_id, `call-${id}`);
  }
  assert.deepEqual(
    told.map(({ id }) => id).sort((a, b) => a - b),
    sent,
  );
  assert.deepEqual(await pipe.hangUp(), []);
  assert.equal(await rig.entryCount(), before + sent.length);
});

test('converse() loses no answer when a client pauses reading', async () => {
  const sent = Array.from({ length: 2_000 }, (_, id) => id);
  for (const half of [sent.slice(0, 1_000), sent.slice(1_000)]) {
    pipe.output.pause();
    for (const id of half) pipe.say(asking(id, 'svc.manifest'));
    await eventually(() => pipe.output.writableNeedDrain);
    await manyTurns();
    pipe.output.resume();
  }

  const told = await answers(sent.length);

  assert.deepEqual(
    told.map(({ id }) => id).sort((a, b) => a - b),
    sent,
  );
  assert.ok(told.every(({ result }) => result.manifest_metadata));
  assert.deepEqual(await pipe.hangUp(), []);
});

test('converse() waits for every running call when its input ends, and answers it', async () => {
  for (const id of [1, 2, 3]) pipe.say(call(id));
  await eventually(() => gate.waiting() === 3);
  let isEnded = false;
  void pipe.ended.then(() => {
    isEnded = true;
  });
  pipe.input.end();
  await manyTurns();
  assert.equal(isEnded, false);

  gate.open();
  await pipe.ended;

  const told = await answers(3);
  assert.deepEqual(told.map(({ id }) => id).sort(), [1, 2, 3]);
  assert.ok(told.every(({ result }) => result.success));
});

test('converse() waits at most the grace period once it is stopped, and records the call', async () => {
  pipe.say(call(1));
  await eventually(() => gate.waiting() === 1);
  pipe.input.end();
  pipe.stop(1);

  await pipe.ended;
  assert.equal(gate.waiting(), 1);
  assert.equal(await rig.entryCount(), before);

  gate.open();
  await eventually(async () => (await rig.entryCount()) === before + 1);
});

test('serveConversation() ends when it is stopped while its client does not read', async () => {
  pipe.output.pause();
  for (let id = 0; id < 1_000; id += 1) pipe.say(asking(id, 'svc.manifest'));
  await eventually(() => pipe.output.writableNeedDrain);
  await manyTurns();

  pipe.stop(1);

  await pipe.ended;
});

test('serveConversation() ends when it is stopped while it has no room for another call', async () => {
  const sent = Array.from({ length: IN_WORK_MAX + 1 }, (_, id) => id);
  pipe.input.write(sent.map((id) => `${JSON.stringify(call(id))}\n`).join(''));
  await eventually(() => gate.waiting() === IN_WORK_MAX);
  await manyTurns();

  pipe.stop(1);

  await pipe.ended;
  assert.equal(gate.waiting(), IN_WORK_MAX);
});

test('serveStdio() has one grace period for answers and calls, and ends before a longer call', async () => {
  const { definition, script } = rig.world;
  const folder = mkdtempSync(join(tmpdir(), 'writ-grace-'));
  const [input, output] = [new PassThrough(), new PassThrough()];
  const settings = { ...SETTINGS, store: 'memory:', stop_grace_seconds: 1 };
  const options = { settings, folder, input, output, signals: false };
  const service = await serveStdio(definition, options);
  const ends: string[] = [];
  const called = new Promise<void>((resolve) => {
    script('look', async () => {
      resolve();
      await sleep(1_600);
      ends.push('call');
      return {};
    });
  });
  const say = (line: object) => input.write(`${JSON.stringify(line)}\n`);
  say(asking(1, 'svc.tokens.issue', { auth: { bearer: ALICE }, scope: ['w.use'] }));
  const { result } = JSON.parse(String((await once(output, 'data'))[0]));
  const params = { auth: { bearer: result.token }, capability: 'look', parameters: {} };
  say(asking(2, 'svc.invoke', params));
  await called;

  await service.close().then(() => ends.push('service'));
  await eventually(() => ends.length === 2);
  rmSync(folder, { recursive: true, force: true });

  assert.deepEqual(ends, ['service', 'call']);
});
