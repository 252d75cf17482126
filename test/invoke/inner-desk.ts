/**
 * A service whose handlers call other capabilities: what each does is set by the test.
 *
 * @module
 */

import type { AuditEntry } from '../../src/protocol/audit.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { type DefinedCapability, defineCapability } from '../../src/service/author/define.ts';
import { createService, type ServiceDefinition } from '../../src/service/author/definition.ts';
import { createScripts, ONE_TIME, type Script, type Scripts } from '../support/scripts.ts';
import {
  onEachStore as onStores,
  type TestOptions,
  type TestService,
  testService,
} from '../support/world.ts';
import { ALICE, SETTINGS } from './principals.ts';

export interface InnerWorld extends Scripts {
  readonly definition: ServiceDefinition;
}

const calls = (...names: string[]) =>
  names.map((capability) => ({ capability, reason: 'a test', called_by: 'handler' as const }));

/** `tell` calls `sms`, `look`, `locked`, `mid` and `trip`; `mid` calls `sms`; the whole `trip` runs `mid`, and `round` runs `tell`. */
export function createInnerWorld(): InnerWorld {
  const scripts = createScripts();
  const plain = (name: string, usual?: Script) => ({
    name,
    description: `Tests ${name}`,
    inputs: [{ name: 'to', type: 'string', required: false }] as const,
    output: { type: 'object', fields: ['sent', 'to', 'answer'] },
    side_effect: 'write' as const,
    minimum_scope: ['w.use'],
    handler: scripts.handler(name, usual),
  });
  const whole = (name: string, step: string): DefinedCapability =>
    defineCapability({
      name,
      description: `Runs ${step}`,
      kind: 'composed',
      output: { type: 'object', fields: ['answer'] },
      side_effect: 'write',
      minimum_scope: ['w.use'],
      composition: {
        authority_boundary: 'same_service',
        steps: [{ id: 'only', capability: step }],
        input_mapping: {},
        output_mapping: { answer: '$.steps.only.output.answer' },
        failure_policy: 'propagate',
        audit_policy: { record_child_invocations: true, parent_task_lineage: true },
      },
    });
  const relay: Script = async (_, context) => ({
    answer: await context.invoke('sms', { to: 'm' }),
  });
  const called = calls('sms', 'look', 'locked', 'mid', 'trip', 'slow', 'paced');
  const capabilities = [
    defineCapability({
      ...plain('sms', ({ to = 'nobody' }) => ({ sent: true, to })),
      cost: { currency: 'USD', amount: 1 },
    }),
    defineCapability({ ...plain('look', () => ({ sent: false })), side_effect: 'read' }),
    defineCapability({ ...plain('locked'), minimum_scope: ['w.secret'] }),
    defineCapability({ ...plain('slow'), deadline: '60ms' }),
    defineCapability({ ...plain('paced'), rate_limit: { limit: 2, window: 'P1D' } }),
    defineCapability({ ...plain('mid', relay), requires: calls('sms') }),
    whole('trip', 'mid'),
    defineCapability({
      ...plain('tell'),
      requires: [...called, { capability: 'other', reason: 'an agent calls it first' }],
      cost: { currency: 'USD', amount: 5 },
      response_modes: ['unary', 'streaming'],
    }),
    defineCapability({ ...plain('short'), requires: called, deadline: '150ms' }),
    defineCapability({ ...plain('peek'), side_effect: 'read', requires: calls('look') }),
    defineCapability({ ...plain('other') }),
    defineCapability({
      ...plain('asking'),
      requires: called,
      approval: { when: 'always', grant_policy: ONE_TIME },
    }),
    defineCapability({
      ...plain('wavering'),
      requires: called,
      approval: { when: { condition: 'never', needed: () => false }, grant_policy: ONE_TIME },
    }),
    defineCapability({ ...plain('walk'), requires: called }),
    whole('round', 'walk'),
  ];
  const trust = { level: 'signed' } as const;
  return { ...scripts, definition: createService({ id: 'inner', capabilities, trust }) };
}

export interface InnerDesk extends TestService {
  readonly world: InnerWorld;
  /** A root token of alice, held by an agent, with a budget of 100 USD unless it says otherwise. */
  token(request?: object): Promise<IssueAnswer>;
  /** Calls a capability whose handler does this, and returns the body. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  run(capability: string, script: Script, more?: RunOptions): Promise<any>;
  entries(invocationId: string): Promise<AuditEntry[]>;
  /** The entries of the calls that it made, oldest first. */
  inner(invocationId: string): Promise<AuditEntry[]>;
  /** What the token has reserved and spent, in minor units. */
  spent(token: IssueAnswer): Promise<[reserved: bigint, consumed: bigint]>;
}

interface RunOptions {
  readonly token?: IssueAnswer;
  readonly parameters?: JsonObject;
  readonly fields?: object;
  readonly headers?: Record<string, string>;
}

export async function openInnerDesk(
  options: Omit<TestOptions, 'definition'> = {},
  world = createInnerWorld(),
): Promise<InnerDesk> {
  const settings = { ...SETTINGS, ...options.settings };
  const service = await testService({ ...options, settings, definition: world.definition });
  const token: InnerDesk['token'] = (request = {}) =>
    service.issue(ALICE, {
      scope: ['w.use'],
      subject: 'agent:a',
      budget: { currency: 'USD', max_amount: 100 },
      ...request,
    });
  return {
    ...service,
    world,
    token,
    async run(capability, script, { token: own, parameters = {}, ...more } = {}) {
      const held = own ?? (await token());
      world.script(capability, script);
      try {
        return (await service.invoke(held.token, capability, parameters, more)).body;
      } finally {
        world.script(capability);
      }
    },
    entries: (invocationId) => service.entriesBy({ invocationId }),
    inner: (parentInvocationId) => service.entriesBy({ parentInvocationId }),
    async spent(held) {
      const { reserved, consumed } = await service.budgetOf(held);
      return [reserved, consumed];
    },
  };
}

/** Runs the tests of `body` on one desk for each kind of store. */
export function onEachStore(body: (desk: () => InnerDesk) => void): void {
  onStores(({ url }) => openInnerDesk({ store: url }), body);
}
