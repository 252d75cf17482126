/**
 * A guard that follows its files and its upstream, before a real service: what the console accepts, and what becomes
 * of an upstream that is replaced, away or back.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, vi } from 'vitest';
import { openLiveGuard } from '../../src/cli/guard/live.ts';
import type { GivenSettings } from '../../src/config/config.ts';
import { toolDigest, type Upstream, type UpstreamTool } from '../../src/guard/upstream.ts';
import { serve } from '../../src/http/serve.ts';
import { system } from '../../src/platform.ts';
import type { OwnAct } from '../../src/service/caller/own-act.ts';
import { atConsole } from '../console/person.ts';
import { closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { person } from '../support/person.ts';
import { testService } from '../support/world.ts';
import { invoke, tokenFor } from './command.ts';

const NOTE: UpstreamTool = {
  name: 'read_note',
  description: 'Reads a note',
  inputSchema: { type: 'object', properties: {} },
};
const CHANGED: UpstreamTool = { ...NOTE, description: 'Reads a note, and more' };

const KEY = 'owner-key-of-this-test';
const OWNER = {
  principal: 'human:owner@localhost',
  key: KEY,
  scopes: ['notes.*'],
  subjects: ['agent:*'],
};

/** An upstream in this process, whose tools a test decides. */
function upstreamOf(name: string, ended: string[]) {
  const state: {
    tools: readonly UpstreamTool[] | undefined;
    calls: number;
    until: Promise<unknown> | undefined;
  } = { tools: [NOTE], calls: 0, until: undefined };
  let notify = () => {};
  const upstream: Upstream = {
    async tools() {
      if (!state.tools) throw new Error('it is away');
      return state.tools;
    },
    async call() {
      state.calls += 1;
      await state.until;
      if (ended.includes(name)) throw new Error('it was ended in the middle of a call');
      return { from: name };
    },
    watch(onChange) {
      notify = onChange;
    },
    async close() {
      ended.push(name);
    },
  };
  const become = (tools: readonly UpstreamTool[] | undefined) => {
    state.tools = tools;
    notify();
  };
  return { upstream, state, become };
}

const POLICY = (program: string) =>
  `guard: notes\nupstream: { command: [${program}] }\ntools:\n  read_note: { effect: read }\n`;

/** A service with a guard, whose tool was accepted as the console does it. */
async function rig({ lock = 'writ-guard.lock.json' } = {}) {
  const folder = temporaryFolder();
  const files = { policy: join(folder, 'writ-guard.yaml'), lock: join(folder, lock) };
  writeFileSync(files.policy, POLICY('first'));
  const [ended, told, acts]: [string[], string[], OwnAct[]] = [[], [], []];
  const upstreams = new Map(
    ['first', 'second'].map((name) => [name, upstreamOf(name, ended)] as const),
  );
  const live = await openLiveGuard({
    files,
    platform: system,
    tell: (text) => void told.push(text),
    open({ command: [program = ''] = [] }) {
      const found = upstreams.get(program);
      if (!found) throw new Error(`there is no "${program}"`);
      return found.upstream;
    },
  });
  const settings: GivenSettings = {
    port: 0,
    store: 'memory:',
    log_level: 'silent',
    identities: [OWNER],
  };
  const running = await serve(live.state().definition, {
    settings,
    environment: {},
    folder,
    signals: false,
  });
  closedAtEnd(running);
  closedAtEnd(live);
  await live.follow({
    reload: running.reload,
    async record(act) {
      acts.push(act);
      await running.record(act);
    },
  });
  const token = await tokenFor(running.url, KEY, ['notes.read']);
  const read = () => invoke(running.url, token, 'read_note', {});
  const port = () => live.state().definition.review ?? assert.fail();
  const upstream = (name: string) => upstreams.get(name) ?? assert.fail();
  return { files, live, port, read, upstream, ended, told, acts };
}

test('accept() puts a tool into force as it was shown, and leaves the entry to the service', async () => {
  const { port, read, files, acts } = await rig();
  const before = await read();

  const waiting = port().waiting();
  const [shown] = await port().changes();
  await port().accept('read_note', shown?.digest ?? '', 'human:owner@localhost');

  assert.equal(before.body.failure.type, 'unknown_capability');
  assert.equal(shown?.kind, 'new');
  assert.ok(shown?.parts.some(({ part, now }) => part === 'description' && now === 'Reads a note'));
  assert.equal((await read()).body.success, true);
  const { reviewed_by } = JSON.parse(readFileSync(files.lock, 'utf8')).tools.read_note;
  assert.equal(reviewed_by, 'human:owner@localhost');
  assert.deepEqual(await port().changes(), []);
  assert.deepEqual([waiting, port().waiting()], [1, 0]);
  assert.ok(!acts.some(({ verb }) => verb === 'guard_tool_reviewed'));
});

test('an operator sees a whole tool in the console, and accepts it there', async () => {
  const { live, files } = await rig();
  const { definition } = live.state();
  const owner = person('key-of-the-operator', 'human:vera@example.com', ['operator:*']);
  const service = await testService({ definition, settings: { identities: [owner] } });
  const operator = await atConsole(service, owner.key);

  const { reviews } = await operator.answer('reviews');
  const digest = reviews[0]?.digest ?? '';
  const accepted = await operator.reply('reviews.accept', { name: 'read_note', digest });

  assert.deepEqual([reviews[0]?.is_whole, reviews[0]?.now], [true, NOTE]);
  assert.equal(accepted.status, 200, JSON.stringify(accepted.body));
  const { reviewed_by } = JSON.parse(readFileSync(files.lock, 'utf8')).tools.read_note;
  assert.equal(reviewed_by, 'human:vera@example.com');
});

test('accept() refuses a tool that changed after it was shown, and writes nothing', async () => {
  const { port, upstream, files } = await rig();
  upstream('first').become([CHANGED]);

  await assert.rejects(port().accept('read_note', toolDigest(NOTE), 'human:a'), /look again/);

  assert.equal(existsSync(files.lock), false);
});

test('accept() refuses a tool whose schema takes too much work to check, and writes nothing', async () => {
  const { port, upstream, files } = await rig();
  const anyOf = Array.from({ length: 400 }, () => ({ minimum: 0 }));
  const heavy = { ...NOTE, inputSchema: { type: 'object', properties: { a: { anyOf } } } };
  upstream('first').become([heavy]);

  await assert.rejects(
    port().accept('read_note', toolDigest(heavy), 'human:a'),
    /cannot be offered: its input schema cannot be used: .* steps to check$/,
  );

  assert.equal(existsSync(files.lock), false);
});

test('accept() refuses in one line where the lock cannot be written', async () => {
  const { port, read } = await rig({ lock: 'no-such-folder/lock.json' });

  await assert.rejects(
    port().accept('read_note', toolDigest(NOTE), 'human:a'),
    /^Error: Cannot write ".*lock\.json": ENOENT$/,
  );

  assert.equal((await read()).body.success, false);
});

test('servers() counts the tools of the upstream, and none of one that is away', async () => {
  const { port, upstream } = await accepted();
  const before = port().servers();
  upstream('first').become(undefined);

  await vi.waitFor(() => assert.equal(port().servers()[0]?.tools, null), { timeout: 20_000 });

  assert.deepEqual(before, [{ where: 'first', tools: 1 }]);
});

test('accept() refuses while the upstream is away', async () => {
  const { port, upstream } = await rig();
  upstream('first').become(undefined);

  await assert.rejects(port().accept('read_note', toolDigest(NOTE), 'human:a'), /does not answer/);
});

/** A rig in which the tool is in force. */
async function accepted() {
  const made = await rig();
  await made.port().accept('read_note', toolDigest(NOTE), 'human:owner@localhost');
  return made;
}

test('a changed upstream in the policy takes over, and the one before is closed', async () => {
  const { files, read, upstream, ended } = await accepted();

  writeFileSync(files.policy, POLICY('second'));
  await vi.waitFor(() => assert.deepEqual(ended, ['first']), { timeout: 20_000 });

  assert.equal((await read()).body.result.from, 'second');
  assert.equal(upstream('first').state.calls, 0);
});

test('an upstream that is replaced finishes its calls before it is closed', async () => {
  const { files, read, upstream, ended, told } = await accepted();
  let finish = () => {};
  upstream('first').state.until = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const reading = read();
  await vi.waitFor(() => assert.equal(upstream('first').state.calls, 1), { timeout: 20_000 });

  writeFileSync(files.policy, POLICY('second'));
  await vi
    .waitFor(() => assert.match(told.join(''), /policy is in force/), { timeout: 20_000 })
    .finally(() => finish());

  assert.equal((await reading).body.result?.from, 'first');
  assert.equal((await read()).body.result?.from, 'second');
  await vi.waitFor(() => assert.deepEqual(ended, ['first']), { timeout: 20_000 });
});

test('a policy whose upstream cannot be opened changes nothing', async () => {
  const { files, read, ended, told, acts } = await accepted();

  writeFileSync(files.policy, POLICY('third'));
  await vi.waitFor(() => assert.match(told.join(''), /there is no "third"/), { timeout: 20_000 });

  assert.equal((await read()).body.result.from, 'first');
  assert.deepEqual(ended, []);
  await vi.waitFor(() => assert.ok(acts.some(({ verb }) => verb === 'guard_policy_refused')));
});

test('no call passes to an upstream that comes back with another tool', async () => {
  const { read, upstream } = await accepted();
  const { become, state } = upstream('first');
  become(undefined);
  const away = await read();
  // No notice: the gate finds out by itself, before the guard has followed.
  state.tools = [CHANGED];

  await vi.waitFor(async () => assert.match((await read()).body.failure.detail, /changed/), {
    timeout: 20_000,
    interval: 100,
  });

  assert.equal(away.body.failure.type, 'service_unavailable');
  assert.equal(state.calls, 0);
});

test('an upstream that goes away and comes back unchanged is passed calls again', async () => {
  const { read, upstream, acts } = await accepted();
  const { become } = upstream('first');
  become(undefined);
  await read();
  become([NOTE]);

  assert.equal((await read()).body.success, true);
  assert.ok(!acts.some(({ verb, about }) => verb === 'guard_tool_off' && about.change !== 'new'));
});

test('a tool that goes leaves one entry, however often the upstream reports a change', async () => {
  const { upstream, acts, told } = await accepted();
  const { become } = upstream('first');
  const off = () => acts.filter(({ about }) => about.change === 'gone');

  become([]);
  become([]);
  await vi.waitFor(() => assert.equal(off().length, 1), { timeout: 20_000 });
  become([]);

  assert.match(told.join(''), /Off: "read_note" \(gone\)/);
  assert.equal(off().length, 1);
});
