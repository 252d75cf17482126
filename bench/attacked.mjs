/**
 * The service under attack: one capability to call, one whose handler reports progress without end, one that
 * asks for approval, and one whose parameters a guard checks by the most expensive schema that a review admits.
 *
 * @module
 */

import { toolInputs } from '../dist/src/guard/declared.js';
import { createService, defineCapability, serve } from '../dist/src/index.js';

const look = defineCapability({
  name: 'look',
  description: 'Look something up',
  inputs: [{ name: 'what', type: 'string' }],
  output: { type: 'found', fields: ['what'] },
  side_effect: 'read',
  minimum_scope: ['bench.look'],
  handler: ({ what }) => ({ what }),
});

const spin = defineCapability({
  name: 'spin',
  description: 'Report progress in a loop that never ends by itself',
  output: { type: 'nothing', fields: [] },
  side_effect: 'read',
  minimum_scope: ['bench.spin'],
  response_modes: ['streaming'],
  deadline: 'PT5S',
  async handler(_parameters, context) {
    for (;;) await context.progress({ at: 'the same place' });
  },
});

const ask = defineCapability({
  name: 'ask',
  description: 'Do something that a person approves first',
  inputs: [{ name: 'what', type: 'string' }],
  output: { type: 'found', fields: ['what'] },
  side_effect: 'irreversible',
  minimum_scope: ['bench.ask'],
  approval: {
    when: 'always',
    preview: () => ({ action: 'Ask' }),
  },
  handler: ({ what }) => ({ what }),
});

/** Each element is compared with every form, and only the last admits a one. */
const forms = Array.from({ length: 250 }, (_, index) => ({ minimum: 250 - index }));
const inputs = toolInputs({
  inputSchema: { type: 'object', properties: { rows: { items: { anyOf: forms } } } },
});
if ('fault' in inputs) throw new Error(inputs.fault);

const fill = {
  ...defineCapability({
    name: 'fill',
    description: 'Fill in a form of an upstream',
    inputs: [...inputs.inputs],
    output: { type: 'nothing', fields: [] },
    side_effect: 'read',
    minimum_scope: ['bench.fill'],
    handler: () => ({}),
  }),
  readInputs: (value) => {
    const issues = inputs.issues(value);
    return issues.length > 0 ? { issues } : { value };
  },
};

const identity = (name, scopes) => ({
  key: `demo-${name}-key`,
  demo: true,
  principal: `service:${name}`,
  scopes,
  caller_class: 'internal',
});

const service = createService({ id: 'attacked', capabilities: [look, spin, ask, fill] });
const identities = [
  identity('honest', ['bench.look']),
  identity('attacker', ['bench.spin', 'bench.look', 'bench.ask', 'bench.fill']),
  identity('auditor', ['operator:*', 'approver:*']),
];
const { url } = await serve(service, { settings: { identities } });
process.stdout.write(`listening on ${url}\n`);
