/**
 * The test world as a running service: its principals, tokens, and what became of each call.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import {
  onEachStore as onStores,
  type Reply,
  type TestOptions,
  type TestService,
  testService,
} from '../support/world.ts';
import { createWorld, type World } from './catalog.ts';
import { ALICE, OPERATOR, SETTINGS } from './principals.ts';

export interface Rig extends TestService {
  readonly world: World;
  /** A root token of alice, held by an agent, unless the request says otherwise. */
  token(request?: object, key?: string): Promise<IssueAnswer>;
  /** Delegates from a token; the child's request needs only what it narrows. */
  child(parent: IssueAnswer, request?: object): Promise<IssueAnswer>;
  /** Every entry of one invocation, of any type, oldest first. */
  entries(invocationId: string): Promise<AuditEntry[]>;
  /** How many entries there are in all. */
  entryCount(): Promise<number>;
  /** Calls of unknown outcome, as operators see them. */
  indeterminate(): Promise<{ invocation_id: string; charged: unknown }[]>;
}

export async function startRig(options: Omit<TestOptions, 'definition'> = {}): Promise<Rig> {
  const world = createWorld();
  const settings = { ...SETTINGS, ...options.settings };
  const service = await testService({ ...options, settings, definition: world.definition });
  return {
    ...service,
    world,
    token: (request = {}, key = ALICE) =>
      service.issue(key, { scope: ['w.use'], subject: 'agent:a', ...request }),
    child: (parent, request = {}) => service.delegate(parent, { subject: 'agent:b', ...request }),
    entries: (invocationId) => service.entriesBy({ invocationId }),
    entryCount: async () => (await service.store.sequence()).size,
    async indeterminate() {
      const { body } = await service.ask('GET', '/svc/operator/indeterminate', {
        bearer: OPERATOR,
      });
      return body.indeterminate;
    },
  };
}

/** Runs the tests of `body` on one rig per kind of store. */
export function onEachStore(body: (rig: () => Rig) => void): void {
  onStores(({ url }) => startRig({ store: url }), body);
}

/** Checks what every refusal keeps: its type, one entry with the same word, and no effect. */
export async function assertRefused(rig: Rig, type: string, call: () => Promise<Reply>) {
  const before = { ran: rig.world.ranAny(), entries: await rig.entryCount() };
  const reply = await call();
  assert.equal(reply.body.failure?.type, type, JSON.stringify(reply.body));
  assert.equal(rig.world.ranAny(), before.ran);
  assert.equal(await rig.entryCount(), before.entries + 1);
  const [entry] = await rig.entries(reply.body.invocation_id);
  assert.equal(entry?.failure_type, type);
  assert.equal(entry?.state, 'refused');
  assert.deepEqual(reply.body.audit, { entry_id: entry?.entry_id, leaf_hash: entry?.leaf_hash });
  return reply;
}
