import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { defineCapability } from './define.ts';
import { capabilityOf, createService, DefinitionError, type ServiceOptions } from './definition.ts';

const ping = defineCapability({
  name: 'ping',
  description: 'Says that it is there',
  side_effect: 'read',
  minimum_scope: ['x'],
  handler: () => ({}),
});

function faultsOf(options: Partial<ServiceOptions>): string[] {
  try {
    createService({ id: 'desk', capabilities: [ping], ...options });
  } catch (error) {
    assert.ok(error instanceof DefinitionError);
    const [first, ...lines] = error.message.split('\n');
    assert.equal(first, 'Cannot start the service:');
    assert.equal(lines.length, error.faults.length);
    return lines.map((line) => line.trim());
  }
  return [];
}

describe('defineCapability()', () => {
  test('fills in the defaults of a declaration', () => {
    const { catalog, trust, code } = createService({ id: 'desk', capabilities: [ping] });

    assert.deepEqual(catalog.capabilities.get('ping'), {
      name: 'ping',
      description: 'Says that it is there',
      contract_version: '1.0.0',
      inputs: [],
      output: { type: 'object', fields: [] },
      side_effect: { type: 'read' },
      minimum_scope: ['x'],
      kind: 'atomic',
      response_modes: ['unary'],
      delegable: true,
    });
    assert.deepEqual(trust, { level: 'anchored', anchoring: { cadence: 'PT10S' } });
    assert.equal(code.get('ping')?.deadlineMs, 30_000);
  });

  test('keeps the private half out of the declaration', () => {
    const secret = defineCapability({
      name: 'pay',
      description: 'Pays',
      inputs: [{ name: 'amount', type: 'number' }],
      side_effect: 'irreversible',
      minimum_scope: ['x'],
      deadline: 'PT5S',
      approval: {
        when: { condition: 'more than ten', needed: ({ amount }) => amount > 10 },
        grant_policy: {
          allowed_grant_types: ['one_time'],
          default_grant_type: 'one_time',
          expires_in_seconds: 60,
          max_uses: 1,
        },
        preview: ({ amount }) => ({ amount }),
        separation: 'root',
        approvers: ['human:*'],
        request_lifetime: 'PT1H',
      },
      handler: ({ amount }) => ({ paid: amount }),
    });
    const definition = createService({ id: 'desk', capabilities: [secret] });

    const { approval, ...declared } = capabilityOf(definition, 'pay') ?? {};

    assert.deepEqual(approval, {
      when: { condition: 'more than ten' },
      grant_policy: {
        allowed_grant_types: ['one_time'],
        default_grant_type: 'one_time',
        expires_in_seconds: 60,
        max_uses: 1,
      },
      approvals_required: 1,
    });
    for (const hidden of ['handler', 'deadline']) assert.ok(!(hidden in declared), hidden);
    assert.equal(definition.code.get('pay')?.deadlineMs, 5_000);
    assert.equal(definition.code.get('pay')?.approval?.separation, 'root');
  });

  /** The compiler checks these rows: `npm run check` fails when it misses one of the mistakes. */
  test('types the parameters of a handler by the declared inputs', () => {
    const inputs = [
      { name: 'text', type: 'string' },
      { name: 'count', type: 'integer' },
      { name: 'flag', type: 'boolean', required: false },
      { name: 'size', type: 'string', allowed_values: ['small', 'large'] },
      { name: 'depth', type: 'number', required: false, default: 1 },
      { name: 'tags', type: 'array' },
      { name: 'place', type: 'travel:airport' },
    ] as const;
    const common = { description: 'x', inputs, side_effect: 'read', minimum_scope: ['x'] } as const;

    defineCapability({
      ...common,
      name: 'right',
      handler: ({ text, count, flag, size, depth, tags, place }) => {
        const letters: string = text.trim();
        const rounded: number = count + depth;
        const chosen: 'small' | 'large' = size;
        const all: unknown[] = tags;
        const absent: boolean | undefined = flag;
        const unknown: unknown = place;
        return { letters, rounded, chosen, all, absent, unknown };
      },
    });
    defineCapability({
      name: 'in_place',
      description: 'x',
      inputs: [
        { name: 'size', type: 'string', allowed_values: ['small', 'large'] },
        { name: 'count', type: 'integer' },
      ],
      side_effect: 'read',
      minimum_scope: ['x'],
      handler: (parameters) => {
        const chosen: 'small' | 'large' = parameters.size;
        // @ts-expect-error "price" is not declared.
        return { chosen, count: parameters.count + 1, price: parameters.price };
      },
    });
    defineCapability({
      ...common,
      name: 'undeclared',
      // @ts-expect-error "price" is not declared.
      handler: ({ price }) => ({ price }),
    });
    defineCapability({
      ...common,
      name: 'wrong_type',
      // @ts-expect-error A count is a number.
      handler: ({ count }) => ({ count: count.trim() }),
    });
    defineCapability({
      ...common,
      name: 'may_be_absent',
      // @ts-expect-error A flag that is not required may be absent.
      handler: ({ flag }): { flag: boolean } => ({ flag }),
    });
    defineCapability({
      ...common,
      name: 'closed',
      // @ts-expect-error "medium" is not among the allowed values.
      handler: ({ size }) => ({ medium: size === 'medium' }),
    });
    defineCapability({
      ...common,
      name: 'own_type',
      // @ts-expect-error The type of a "travel:airport" is unknown to the compiler.
      handler: ({ place }) => ({ place: place.code }),
    });
    defineCapability({
      ...common,
      name: 'written',
      handler: (parameters) => {
        // @ts-expect-error A handler may not change its parameters.
        parameters.count = 1;
        return {};
      },
    });
    // @ts-expect-error A capability has a name.
    defineCapability({ ...common, handler: () => ({}) });
    // @ts-expect-error There is no such effect.
    defineCapability({ ...common, name: 'effect', side_effect: 'magic', handler: () => ({}) });
    // @ts-expect-error A handler returns an object.
    defineCapability({ ...common, name: 'answer', handler: () => 'text' });
  });
});

describe('createService()', () => {
  test('accepts a service without faults', () => {
    assert.deepEqual(faultsOf({}), []);
  });

  test('keeps why a capability is off, and declares nothing of it', () => {
    const off = { pong: 'it is under review' };
    const service = createService({ id: 'desk', capabilities: [ping], off });

    assert.equal(service.off.get('pong'), 'it is under review');
    assert.deepEqual([...service.catalog.capabilities.keys()], ['ping']);
  });

  const rows: [name: string, options: Partial<ServiceOptions>, faults: RegExp[]][] = [
    [
      'a malformed id',
      { id: 'no id' },
      [
        /^service "no id": id is "no id", because another form is expected; write a service id, such as "travel-desk"$/,
      ],
    ],
    [
      'a name that appears twice',
      { capabilities: [ping, ping] },
      [/^capability ping: name is "ping", because it is declared twice; write each name once$/],
    ],
    [
      'a malformed name',
      { capabilities: [{ ...ping, name: 'a b' }] },
      [/^capability "a b": name is "a b", because another form is expected; write a letter, then/],
    ],
    [
      'a capability that is declared and off',
      { off: { ping: 'it is under review', pong: 'it is under review' } },
      [/^service desk: off is an object, because "ping" is declared too; a capability is declared/],
    ],
    [
      'off without a sentence, with a long one, with two lines, and under a name that no capability has',
      { off: { a: ' ', b: 'x'.repeat(301), c: 'one\ntwo', 'd e': 'why', f: 'x'.repeat(300) } },
      [/"a" needs a sentence of at most 300/, /"b" needs/, /"c" needs/, /"d e" is no name/],
    ],
    [
      'off that is a list',
      { off: ['ping'] as never },
      [/^service desk: off .*; write sentences by capability name$/],
    ],
    [
      'an atomic capability without a handler',
      { capabilities: [{ ...ping, handler: undefined }] },
      [
        /^capability ping: handler is missing, because an atomic capability needs one; write handler: \(parameters, context\) => …$/,
      ],
    ],
    [
      'a deadline that is not a duration',
      { capabilities: [{ ...ping, deadline: 'soon' }] },
      [
        /^capability ping: deadline is "soon", because "soon" is not a duration of at most a day; write a duration such as "PT30S"$/,
      ],
    ],
    [
      'a deadline of more than a day',
      { capabilities: [{ ...ping, deadline: 'PT25H' }] },
      [
        /^capability ping: deadline is "PT25H", because "PT25H" is not a duration of at most a day; write/,
      ],
    ],
    [
      'an unregistered resolver',
      {
        capabilities: [resolving('ping', 'people')],
        resolvers: { others: () => ({ value: 1 }) },
      },
      [
        /^capability ping: inputs\[0\]\.resolution is an object, because no resolver "people" is registered; write resolvers: \{ "people": … \} in createService\(\)$/,
      ],
    ],
    [
      'an anchored service without a cadence',
      { trust: { level: 'anchored' } },
      [
        /^service desk: trust\.anchoring is missing, because an anchored service names its cadence; write a duration such as cadence: "PT10S"$/,
      ],
    ],
    [
      'a cadence of zero',
      { trust: { level: 'anchored', anchoring: { cadence: 'PT0S' } } },
      [
        /^service desk: trust\.anchoring\.cadence is "PT0S", because "PT0S" is not a positive duration; write/,
      ],
    ],
    [
      'an unknown trust level',
      { trust: { level: 'blind' as never } },
      [
        /^service desk: trust is an object, because another form is expected; write \{ level: "signed" \} or/,
      ],
    ],
    [
      'a malformed version',
      { capabilities: [declaring({ contract_version: '1' })] },
      [
        /^capability ping: contract_version is "1", because another form is expected; write "1\.2\.3"$/,
      ],
    ],
    [
      'an unknown field',
      { capabilities: [declaring({ minimum_scopes: ['x'] })] },
      [
        /^capability ping: minimum_scopes is set, because there is no such field; write "minimum_scope"$/,
      ],
    ],
    [
      'an unknown capability in verify_via',
      { capabilities: [declaring({ verify_via: ['pong'] })] },
      [
        /^capability ping: verify_via\[0\] is "pong", because "pong" is not declared here; write the name of a capability of this service$/,
      ],
    ],
  ];
  for (const [name, options, expected] of rows) {
    test(`refuses ${name}`, () => {
      const faults = faultsOf(options);

      assert.equal(faults.length, expected.length, faults.join('\n'));
      for (const [index, pattern] of expected.entries()) assert.match(faults[index] ?? '', pattern);
    });
  }

  test('lists faults of every kind at once', () => {
    const faults = faultsOf({
      id: '',
      trust: { level: 'anchored' },
      capabilities: [
        ping,
        ping,
        { ...resolving('a', 'people'), deadline: 'x' },
        { ...declaring({ contract_version: 'x', description: '' }), name: 'b', handler: undefined },
      ],
    });

    assert.deepEqual(
      faults.map((line) => line.replace(/ (is|has) .*/, '')),
      [
        'service: id',
        'service: trust.anchoring',
        'capability ping: name',
        'capability a: deadline',
        'capability a: inputs[0].resolution',
        'capability b: contract_version',
        'capability b: description',
        'capability b: handler',
      ],
    );
  });

  function declaring(more: object) {
    return { ...ping, declaration: { ...(ping.declaration as object), ...more } };
  }

  function resolving(name: string, reference: string) {
    return defineCapability({
      name,
      description: 'x',
      inputs: [
        {
          name: 'who',
          type: 'string',
          resolution: { mode: 'backend_resolved', resolver_ref: reference },
        },
      ],
      side_effect: 'read',
      minimum_scope: ['x'],
      handler: () => ({}),
    });
  }
});
