import assert from 'node:assert/strict';
import { test } from 'vitest';
import { system } from '../platform.ts';
import { NoEffect } from '../service/author/handler.ts';
import { openGate } from './gate.ts';
import type { Upstream, UpstreamCall, UpstreamTool } from './upstream.ts';

const READ: UpstreamTool = { name: 'read', description: 'Reads', inputSchema: { type: 'object' } };
const OTHER: UpstreamTool = { ...READ, description: 'Reads, and sends it elsewhere' };

/** An upstream whose tools the test decides, with a clock that stands still until the test moves it. */
function rig(first: readonly UpstreamTool[] | Error) {
  const state = { tools: first, calls: 0, listings: 0, now: 0, notices: 0 };
  let notify = () => {};
  const upstream: Upstream = {
    async tools() {
      state.listings += 1;
      if (state.tools instanceof Error) throw state.tools;
      return state.tools;
    },
    async call() {
      state.calls += 1;
      return { passed: true };
    },
    watch(onChange) {
      notify = onChange;
    },
    close: async () => {},
  };
  const gate = openGate(upstream, { monotonic: () => state.now }, () => {
    state.notices += 1;
  });
  return { state, gate, notify: () => notify() };
}

function callOf(tool: UpstreamTool, signal = new AbortController().signal): UpstreamCall {
  return { tool, parameters: {}, invocationId: 'inv-1', isRead: true, signal };
}

const refusedCall = (why: RegExp) => (error: unknown) =>
  NoEffect.is(error) && error.type === 'service_unavailable' && why.test(error.message);

test('call() passes to a tool that is the reviewed one, and lists the tools once for many calls', async () => {
  const { gate, state } = rig([READ]);

  const answers = await Promise.all([gate.call(callOf(READ)), gate.call(callOf(READ))]);

  assert.deepEqual(answers, [{ passed: true }, { passed: true }]);
  assert.equal(state.listings, 1);
});

test('call() refuses a tool that changed, from the notice of the change on', async () => {
  const { gate, state, notify } = rig([READ]);
  await gate.call(callOf(READ));
  state.tools = [OTHER];
  notify();

  await assert.rejects(gate.call(callOf(READ)), refusedCall(/changed this tool/));

  assert.equal(state.calls, 1);
  assert.equal(state.notices, 1);
  assert.equal(gate.isCurrent(READ), false);
  assert.equal(gate.isCurrent(OTHER), true);
});

test('call() refuses a tool that is gone', async () => {
  const { gate, state } = rig([]);

  await assert.rejects(gate.call(callOf(READ)), refusedCall(/changed this tool/));

  assert.equal(state.calls, 0);
});

test('call() compares the tools of an upstream that came back before it passes', async () => {
  const { gate, state } = rig(new Error('secret words of the upstream'));
  await assert.rejects(gate.call(callOf(READ)), refusedCall(/does not list its tools/));
  await assert.rejects(gate.call(callOf(READ)), (error: Error) => !/secret/.test(error.message));
  assert.equal(state.listings, 1);
  assert.equal(gate.isCurrent(READ), true);
  state.tools = [OTHER];
  state.now = 1_000;

  await assert.rejects(gate.call(callOf(READ)), refusedCall(/changed this tool/));

  assert.equal(state.calls, 0);
});

test('call() passes again to an upstream that came back unchanged', async () => {
  const { gate, state, notify } = rig(new Error('away'));
  await assert.rejects(gate.call(callOf(READ)));
  state.tools = [READ];
  notify();

  assert.deepEqual(await gate.call(callOf(READ)), { passed: true });
});

test('call() does not wait for a listing longer than its deadline', async () => {
  const hung: Upstream = {
    tools: () => new Promise(() => {}),
    call: async () => ({}),
    watch: () => {},
    close: async () => {},
  };
  const gate = openGate(hung, system, () => {});
  const ended = new AbortController();

  const call = gate.call(callOf(READ, ended.signal));
  ended.abort();

  await assert.rejects(call, refusedCall(/deadline/));
  await assert.rejects(gate.call(callOf(READ, ended.signal)), refusedCall(/deadline/));
});

test('listing() gives up on an upstream that reports a change during every listing', async () => {
  let notify = () => {};
  let listings = 0;
  const restless: Upstream = {
    async tools() {
      listings += 1;
      notify();
      return [READ];
    },
    call: async () => ({}),
    watch(onChange) {
      notify = onChange;
    },
    close: async () => {},
  };
  const gate = openGate(restless, { monotonic: () => 0 }, () => {});

  const listing = await gate.listing();

  assert.match('fault' in listing ? listing.fault : '', /faster/);
  assert.equal(listings, 4);
});
