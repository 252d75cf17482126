/**
 * A service whose capabilities take values of every kind, and tokens with conditions on them.
 *
 * @module
 */

import { defineCapability } from '../../src/service/author/define.ts';
import { createService, type ServiceDefinition } from '../../src/service/author/definition.ts';
import { ALICE, SETTINGS } from '../invoke/principals.ts';
import { createScripts, ONE_TIME, type Scripts } from '../support/scripts.ts';
import {
  onEachStore,
  type Reply,
  type TestOptions,
  type TestService,
  testService,
} from '../support/world.ts';

export { ALICE } from '../invoke/principals.ts';

const OUTPUT = { type: 'object', fields: ['done'] };
const optional = (name: string, type: string) => ({ name, type, required: false });

/** Of a declared type, so that values of other types reach the conditions. */
const FREE = 'demo:free';

const PAY_INPUTS = [
  { name: 'amount', type: 'number' },
  optional('currency', 'string'),
  optional('note', 'string'),
];

export interface Options {
  /** The inputs of `pay`, where the declaration changes. */
  readonly pay?: readonly object[];
}

function conditionsDefinition(
  scripts: Scripts,
  { pay = PAY_INPUTS }: Options = {},
): ServiceDefinition {
  const plain = (name: string) => ({
    name,
    description: `Tests ${name}`,
    output: OUTPUT,
    side_effect: 'write' as const,
    minimum_scope: ['w.use'],
    handler: scripts.handler(name),
  });
  const whole = (name: string, step_authority: 'caller' | 'service') =>
    defineCapability({
      ...plain(name),
      handler: undefined as never,
      kind: 'composed',
      inputs: [{ name: 'amount', type: 'number' }],
      composition: {
        authority_boundary: 'same_service',
        steps: [{ id: 'paid', capability: 'pay' }],
        input_mapping: { paid: { amount: '$.input.amount' } },
        output_mapping: { done: '$.steps.paid.output.done' },
        failure_policy: 'propagate',
        audit_policy: { record_child_invocations: true, parent_task_lineage: true },
        step_authority,
      },
    });
  return createService({
    id: 'conditions-world',
    actorPolicy: ({ input }) => (input === 'tenant' ? { value: 'acme' } : {}),
    capabilities: [
      defineCapability({ ...plain('pay'), inputs: pay as never }),
      defineCapability({
        ...plain('act'),
        inputs: ['value', 'to', 'path', 'mail', 'url', 'on', 'deep'].map((name) =>
          optional(name, FREE),
        ) as never,
      }),
      defineCapability({
        ...plain('ask'),
        inputs: [{ name: 'amount', type: 'number' }] as never,
        approval: { when: 'always', grant_policy: ONE_TIME },
      }),
      defineCapability({
        ...plain('buy'),
        inputs: [{ name: 'count', type: 'integer' }] as never,
        cost: {
          certainty: 'estimated',
          financial: { currency: 'USD', range_min: 0, range_max: 90 },
        },
        price: ({ count }: { count: number }) => ({ currency: 'USD', amount: count * 10 }),
      } as never),
      defineCapability({
        ...plain('relay'),
        inputs: [{ name: 'amount', type: 'number' }] as never,
        requires: [{ capability: 'pay', reason: 'pays', called_by: 'handler' }],
      }),
      whole('pay_whole', 'caller'),
      whole('pay_for_all', 'service'),
    ],
  });
}

export interface ConditionsDesk extends TestService {
  readonly scripts: Scripts;
  /** A token of alice with these conditions. */
  held(conditions?: object, more?: object): Promise<string>;
  issued(request: object, bearer?: string): Promise<Reply>;
  dryRun(token: string, capability: string, parameters: object): Promise<Reply>;
}

export async function conditionsDesk(options: TestOptions & Options = {}): Promise<ConditionsDesk> {
  const scripts = createScripts();
  const definition = conditionsDefinition(scripts, options);
  const service = await testService({ settings: SETTINGS, definition, ...options });
  const request = { scope: ['w.use'], subject: 'agent:a' };
  return {
    ...service,
    scripts,
    held: async (conditions, more = {}) =>
      (await service.issue(ALICE, { ...request, conditions, ...more })).token,
    issued: (more, bearer = ALICE) =>
      service.ask('POST', '/svc/tokens', { bearer, body: { ...request, ...more } }),
    dryRun: (token, capability, parameters) =>
      service.ask('POST', `/svc/test/${capability}`, { bearer: token, body: { parameters } }),
  };
}

export function onBothStores(body: (desk: () => ConditionsDesk) => void): void {
  onEachStore(({ url }) => conditionsDesk({ store: url }), body);
}
