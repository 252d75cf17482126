/**
 * A guard in memory, for the tests of its policy: the real checks before an MCP server that the test brings.
 *
 * @module
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { guardService } from '../guard/definition.ts';
import { openGate } from '../guard/gate.ts';
import type { Ending } from '../guard/mcp/child.ts';
import { connectClient } from '../guard/mcp/client.ts';
import { secretsOf } from '../guard/mcp/foreign-text.ts';
import { createMcpUpstream } from '../guard/mcp/mcp-upstream.ts';
import { NO_PINS, pinned } from '../guard/pins.ts';
import { type GuardPolicy, readPolicy } from '../guard/policy/read.ts';
import type { Upstream } from '../guard/upstream.ts';
import { createLog } from '../log.ts';
import { system } from '../platform.ts';
import { type TestServiceOptions, testService } from './test-service.ts';
import type { TestedService } from './types.ts';

/**
 * The policy of a guard in a test, and what stands behind the guard.
 *
 * @example
 * import { McpServer } from '@modelcontextprotocol/server';
 * import { testGuard, type TestGuardOptions } from 'writ/testing';
 *
 * const server = new McpServer({ name: 'clock', version: '1.0.0' });
 * server.registerTool('look', {}, async () => ({ content: [{ type: 'text', text: 'noon' }] }));
 * const options: TestGuardOptions = {
 *   policy: `
 *     guard: clock
 *     upstream: { command: [node, clock.mjs] }
 *     tools: { look: { effect: read } }`,
 *   server,
 * };
 * const guard = await testGuard(options);
 * console.log((await (await guard.caller('planner')).invoke('look')).ok);
 * await guard.close();
 */
export interface TestGuardOptions extends TestServiceOptions {
  /** The text of the policy. What it says about starting or finding the upstream is not used. */
  readonly policy: string;
  /** The upstream, such as an `McpServer` of the official package. Its tools as they are now count as reviewed. */
  readonly server: { connect(transport: Transport): Promise<void> };
}

/**
 * A guard that runs in memory for a test.
 *
 * @example
 * import { McpServer } from '@modelcontextprotocol/server';
 * import { type TestedGuard, testGuard } from 'writ/testing';
 *
 * const server = new McpServer({ name: 'empty', version: '1.0.0' }, { capabilities: { tools: {} } });
 * const policy = `
 *   guard: files
 *   upstream: { command: [node, files.mjs] }
 *   tools: { erase: { effect: irreversible } }`;
 * const guard: TestedGuard = await testGuard({ policy, server });
 * console.log(guard.off.get('erase'));
 * await guard.close();
 */
export interface TestedGuard extends TestedService {
  /** Why a tool of the policy is off, by the name of its capability. */
  readonly off: ReadonlyMap<string, string>;
}

/**
 * Runs a guard in memory before an MCP server of the test. Throws with the faults of the policy.
 *
 * @example
 * import { McpServer } from '@modelcontextprotocol/server';
 * import { expectFailure, testGuard } from 'writ/testing';
 *
 * const server = new McpServer({ name: 'till', version: '1.0.0' });
 * server.registerTool('refund', {}, async () => ({ content: [{ type: 'text', text: 'paid' }] }));
 * const policy = `
 *   guard: till
 *   upstream: { command: [node, till.mjs] }
 *   tools: { refund: { effect: irreversible, approval: { when: always } } }`;
 * const till = await testGuard({ policy, server });
 * const clerk = await till.caller('clerk');
 * console.log(expectFailure(await clerk.invoke('refund'), 'approval_required').type);
 * await till.close();
 */
export async function testGuard(options: TestGuardOptions): Promise<TestedGuard> {
  const policy = policyOf(options.policy);
  const gate = openGate(upstreamOf(options), system, () => undefined);
  try {
    const listing = await gate.listing();
    if ('fault' in listing) throw new Error(`Cannot test the guard: ${listing.fault}`);
    const { service, off } = guardService({
      policy,
      pins: pinned(NO_PINS, listing.tools, { at: new Date(), who: 'the test' }),
      live: listing.tools,
      upstream: gate,
      isCurrent: gate.isCurrent,
    });
    const tested = await testService(service, options);
    const close = async () => {
      await tested.close();
      await gate.close();
    };
    return { ...tested, off, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await gate.close();
    throw error;
  }
}

function policyOf(text: string): GuardPolicy {
  const reading = readPolicy(text);
  if ('policy' in reading) return reading.policy;
  const lines = reading.faults.map(({ line, where, why }) => `  line ${line}: ${where}: ${why}`);
  throw new Error(['Cannot test the guard: its policy has faults', ...lines].join('\n'));
}

/** In milliseconds: both sides are in this process. */
const DEADLINE_MS = 10_000;

function upstreamOf({ server }: TestGuardOptions): Upstream {
  return createMcpUpstream({
    name: 'the server of the test',
    deadlineMs: DEADLINE_MS,
    platform: system,
    log: createLog('silent'),
    secrets: secretsOf([]),
    async open(_signal, onToolsChanged) {
      const [near, far] = linkedTransports();
      const ended = new Promise<Ending>((resolve) => {
        far.closed = () => resolve({ why: 'the server of the test has closed', isRefused: false });
      });
      await server.connect(far);
      const client = await connectClient(near, {
        platform: system,
        startMs: DEADLINE_MS,
        onToolsChanged,
      });
      return { client, ended, lose: () => void near.close(), close: () => client.close() };
    },
  });
}

/** Two ends of one connection in this process. Each message arrives in a later turn, as over a pipe. */
function linkedTransports(): [Linked, Linked] {
  const [near, far] = [new Linked(), new Linked()];
  near.other = far;
  far.other = near;
  return [near, far];
}

class Linked implements Transport {
  other: Linked | undefined;
  closed?: () => void;
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    const { other } = this;
    if (!other) throw new Error('Cannot send: the connection is closed');
    setImmediate(() => other.onmessage?.(structuredClone(message)));
  }

  async close(): Promise<void> {
    const { other } = this;
    if (!other) return;
    this.other = undefined;
    await other.close();
    this.closed?.();
    this.onclose?.();
  }
}
