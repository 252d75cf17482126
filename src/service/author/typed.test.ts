/**
 * The types that follow from a declaration. The compiler checks these programs: `npm run check` fails when
 * it misses one of the mistakes.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { test } from 'vitest';
import * as z from 'zod';
import { defineCapability } from './define.ts';
import { HandlerFailure, NoEffect } from './handler.ts';
import type { Schema } from './typed.ts';

const COMMON = {
  name: 'transfer',
  description: 'Sends money',
  side_effect: 'write',
  minimum_scope: ['bank.send'],
} as const;

test('defineCapability() types parameters and result by a schema of any library', () => {
  const defined = [
    defineCapability({
      ...COMMON,
      inputs: z.object({ amount: z.number(), speed: z.enum(['slow', 'fast']).default('slow') }),
      output: z.object({ id: z.string() }),
      handler({ amount, speed }) {
        const fast: 'slow' | 'fast' = speed;
        return { id: `${amount.toFixed(2)}${fast}` };
      },
    }),
    defineCapability({
      ...COMMON,
      inputs: toStandardJsonSchema(v.object({ amount: v.number(), note: v.optional(v.string()) })),
      handler: ({ amount, note }) => ({ amount: amount + 1, note: note?.trim() }),
    }),
    defineCapability({
      ...COMMON,
      inputs: type({ amount: 'number', 'note?': 'string' }),
      handler: ({ amount, note }) => ({ amount: amount + 1, note: note?.trim() }),
    }),
  ];

  assert.equal(defined.flatMap(({ faults }) => faults).length, 0);
});

test('defineCapability() does not compile with a mistake', () => {
  const inputs = z.object({ amount: z.number(), note: z.string().optional() });
  const output = z.object({ id: z.string() });
  defineCapability({
    ...COMMON,
    inputs,
    // @ts-expect-error "price" is not an input.
    handler: ({ price }) => ({ price }),
  });
  defineCapability({
    ...COMMON,
    inputs,
    // @ts-expect-error An amount is a number.
    handler: ({ amount }) => ({ amount: amount.trim() }),
  });
  defineCapability({
    ...COMMON,
    inputs,
    // @ts-expect-error A note may be absent.
    handler: ({ note }) => ({ note: note.trim() }),
  });
  defineCapability({
    ...COMMON,
    output,
    // @ts-expect-error An id is a text.
    handler: () => ({ id: 7 }),
  });
  defineCapability({
    ...COMMON,
    output,
    // @ts-expect-error The id is missing.
    handler: async () => ({}),
  });
  defineCapability({
    ...COMMON,
    inputs,
    // @ts-expect-error The preview gets the same parameters.
    approval: { when: 'always', preview: ({ price }) => ({ price }) },
    handler: () => ({}),
  });
  defineCapability({
    ...COMMON,
    inputs,
    cost: { certainty: 'estimated', financial: { currency: 'USD' } },
    // @ts-expect-error A price is an amount of a currency.
    price: ({ amount }) => amount,
    handler: () => ({}),
  });
  defineCapability({
    ...COMMON,
    // @ts-expect-error "strin" is not a type.
    inputs: [{ name: 'amount', type: 'strin' }],
    handler: () => ({}),
  });
  defineCapability({
    ...COMMON,
    // @ts-expect-error "wrte" is not an effect.
    side_effect: 'wrte',
    handler: () => ({}),
  });
  defineCapability({
    ...COMMON,
    inputs: [{ name: 'quote', type: 'string' }],
    requires_binding: [{ type: 'quote', field: 'quote' }],
    handler: (_, { bindings }) => {
      const { amount } = bindings.quote.price ?? { amount: 0 };
      // @ts-expect-error No binding is required for "fare".
      return { amount, fare: bindings.fare };
    },
  });
  defineCapability({
    ...COMMON,
    // @ts-expect-error Nothing is bound without a requirement.
    handler: (_, { bindings }) => ({ data: bindings.quote.data }),
  });
});

test('defineCapability() does not compile with a misspelt field', () => {
  const handler = () => ({});
  const amount = { name: 'amount', type: 'number', required: false } as const;
  const more = ['a', 'b'].map((name) => ({ name, type: 'string' as const }));
  const right = [
    defineCapability({ ...COMMON, inputs: [amount, { ...amount, name: 'fee' }], handler }),
    defineCapability({ ...COMMON, inputs: [...more, amount], handler }),
    defineCapability({ ...COMMON, inputs: [amount, ...more], handler }),
    defineCapability({ ...COMMON, inputs: more, handler }),
  ];
  const wrong = [
    // @ts-expect-error A capability has no field "dedline".
    defineCapability({ ...COMMON, dedline: 'PT1S', handler }),
    defineCapability({
      ...COMMON,
      // @ts-expect-error An input of a list has no field "minimum".
      inputs: [amount, { name: 'fee', type: 'number', minimum: 1 }],
      handler: ({ fee }) => ({ fee: fee + 1 }),
    }),
    defineCapability({
      ...COMMON,
      // @ts-expect-error A resolution has no field "resolver".
      inputs: [{ ...amount, resolution: { mode: 'backend_resolved', resolver: 'cities' } }],
      handler,
    }),
    // @ts-expect-error An output has no field "field".
    defineCapability({ ...COMMON, output: { type: 'a', fields: ['b'], field: ['c'] }, handler }),
    defineCapability({
      ...COMMON,
      inputs: [{ name: 'quote', type: 'string' }],
      // @ts-expect-error A binding has no field "age".
      requires_binding: [{ type: 'quote', field: 'quote', age: 'PT1M' }],
      handler,
    }),
  ];

  assert.deepEqual([right.length, wrong.length], [4, 5]);
});

test('defineCapability() does not compile with a schema that is no object', () => {
  const handler = () => ({});
  // @ts-expect-error A caller sends an object.
  const text = defineCapability({ ...COMMON, inputs: z.string(), handler });
  const texts = toStandardJsonSchema(v.array(v.string()));
  // @ts-expect-error A caller sends an object, not a list.
  const list = defineCapability({ ...COMMON, inputs: texts, handler });
  // @ts-expect-error A caller gets an object.
  const found = defineCapability({ ...COMMON, output: type('number'), handler });
  // @ts-expect-error A value of any type is no object.
  const unknown = defineCapability({ ...COMMON, inputs: z.unknown(), handler });

  assert.equal([text, list, found, unknown].flatMap(({ faults }) => faults).length, 4);
});

interface Account {
  readonly name: string;
  readonly length?: number | undefined;
}

test('defineCapability() takes a schema of an interface, of any type, and one whose type is only "Schema"', () => {
  const account: z.ZodType<Account, Account> = z.object({
    name: z.string(),
    length: z.number().optional(),
  });
  const any: Schema = z.object({ name: z.string() });
  // biome-ignore lint/suspicious/noExplicitAny: the author gave up on types.
  const untyped: z.ZodType<any, any> = z.object({ name: z.string() });
  const defined = [
    defineCapability({
      ...COMMON,
      inputs: account,
      handler: ({ name }) => ({ name: name.trim() }),
    }),
    defineCapability({ ...COMMON, inputs: any, output: any, handler: () => ({ name: 'x' }) }),
    defineCapability({ ...COMMON, inputs: untyped, handler: ({ name }) => ({ name }) }),
  ];

  assert.equal(defined.flatMap(({ faults }) => faults).length, 0);
});

test('defineCapability() does not compile with details that no input or no detail has', () => {
  const inputs = z.object({ city: z.string() });
  const resolution = { mode: 'backend_resolved', resolver_ref: 'cities' } as const;
  const right = defineCapability({
    ...COMMON,
    inputs,
    input_details: { city: { semantic_type: 'city', resolution } },
    handler: ({ city }) => ({ city: city.trim() }),
  });
  defineCapability({
    ...COMMON,
    inputs,
    // @ts-expect-error The schema has no input "citi".
    input_details: { citi: { semantic_type: 'city' } },
    handler: () => ({}),
  });
  defineCapability({
    ...COMMON,
    inputs,
    // @ts-expect-error Details have no field "semantictype".
    input_details: { city: { semantic_type: 'city', semantictype: 'city' } },
    handler: () => ({}),
  });
  defineCapability({
    ...COMMON,
    inputs,
    // @ts-expect-error A resolution has no field "resolver".
    input_details: { city: { resolution: { mode: 'backend_resolved', resolver: 'cities' } } },
    handler: () => ({}),
  });
  defineCapability({
    ...COMMON,
    inputs,
    // @ts-expect-error "backend" is not a mode.
    input_details: { city: { resolution: { mode: 'backend' } } },
    handler: () => ({}),
  });

  assert.deepEqual(right.faults, []);
});

test('defineCapability() keeps the names of a schema that takes further keys', () => {
  const inputs = z.looseObject({ city: z.string(), note: z.string().nullable() });
  const open = defineCapability({ ...COMMON, inputs, handler: ({ city }) => ({ city }) });
  type Sent = NonNullable<(typeof open)['~types']>['parameters'];

  const least: Sent = { city: 'Oslo' };
  // @ts-expect-error The city is missing.
  const missing: Sent = {};
  // @ts-expect-error A city is a text.
  const wrong: Sent = { city: 5 };

  assert.deepEqual([least, missing, wrong].length, 3);
});

test('defineCapability() lets a caller leave out what the service resolves and what may be null', () => {
  const derived = defineCapability({
    ...COMMON,
    inputs: z.object({ tenant: z.string(), amount: z.number(), note: z.string().nullable() }),
    input_details: { tenant: { resolution: { mode: 'actor_policy' } } },
    handler: ({ tenant, note }) => ({ tenant: tenant.trim(), note }),
  });
  type Sent = NonNullable<(typeof derived)['~types']>['parameters'];

  const least: Sent = { amount: 5 };
  // @ts-expect-error The amount is missing.
  const missing: Sent = { tenant: 'a' };
  // @ts-expect-error An amount is a number.
  const wrong: Sent = { amount: '5' };

  assert.deepEqual([least, missing, wrong].length, 3);
});

test('defineCapability() keeps the literals of a handler, nested and in lists', () => {
  const inputs = z.object({ id: z.string() });
  const row = z.object({ kind: z.literal('row'), level: z.literal([1, 2]) });
  const output = z.object({ state: z.enum(['open', 'closed']), rows: z.array(row) });
  const defined = [
    defineCapability({ ...COMMON, output, handler: () => ({ state: 'open', rows: [] }) }),
    defineCapability({ ...COMMON, output, handler: async () => ({ state: 'open', rows: [] }) }),
    defineCapability({
      ...COMMON,
      inputs,
      output,
      async handler({ id }) {
        if (id === '') return { state: 'closed', rows: [] };
        return { state: id === 'a' ? 'open' : 'closed', rows: [{ kind: 'row', level: 2 }] };
      },
    }),
    defineCapability({
      ...COMMON,
      output,
      // @ts-expect-error "opn" is not a state.
      handler: () => ({ state: 'opn', rows: [] }),
    }),
    defineCapability({
      ...COMMON,
      output,
      // @ts-expect-error A row has no level 3.
      handler: async () => ({ state: 'open', rows: [{ kind: 'row', level: 3 }] }),
    }),
  ];

  assert.equal(defined.flatMap(({ faults }) => faults).length, 0);
});

const SHARED = [
  { type: 'sold_out', description: 'no seat is left', retry: false, action: 'revalidate_state' },
] as const;

test('defineCapability() takes a readonly list of failure types that capabilities share', () => {
  const handler = () => ({});
  const defined = ['a', 'b'].map((name) =>
    defineCapability({ ...COMMON, name, failure_types: SHARED, handler }),
  );
  defineCapability({
    ...COMMON,
    // @ts-expect-error "again" is not an action.
    failure_types: [{ ...SHARED[0], action: 'again' }],
    handler,
  });

  assert.equal(defined.flatMap(({ faults }) => faults).length, 0);
});

test('NoEffect and HandlerFailure take types of the protocol and of the list that is named', () => {
  const made = [
    new NoEffect('Cannot book', 'not_found'),
    new NoEffect<typeof SHARED>('Cannot book', 'sold_out'),
    new HandlerFailure<typeof SHARED>('Cannot book', 'outcome_unknown'),
    // @ts-expect-error "sold_out" is declared nowhere.
    new NoEffect('Cannot book', 'sold_out'),
    // @ts-expect-error "sold_uot" is not in the list.
    new NoEffect<typeof SHARED>('Cannot book', 'sold_uot'),
    // @ts-expect-error "sold_out" is declared nowhere.
    new HandlerFailure('Cannot book', 'sold_out'),
  ];

  assert.equal(made.length, 6);
});

test('context.invoke() knows parameters and result of a capability that is passed as an object', () => {
  const send = defineCapability({
    ...COMMON,
    name: 'send_sms',
    inputs: z.object({ to: z.string(), urgent: z.boolean().default(false) }),
    output: z.object({ receipt: z.string() }),
    handler: () => ({ receipt: 'R-1' }),
  });
  const listed = defineCapability({
    ...COMMON,
    name: 'listed',
    inputs: [{ name: 'to', type: 'string' }],
    handler: () => ({}),
  });
  const tell = defineCapability({
    ...COMMON,
    async handler(_, { invoke }) {
      const sent = await invoke(send, { to: '+1' });
      if (!sent.success) return { why: sent.failure.detail };
      const receipt: string = sent.result.receipt;
      // @ts-expect-error The result has no "recipt".
      void sent.result.recipt;
      // @ts-expect-error "to" is missing.
      void invoke(send, { urgent: true });
      // @ts-expect-error "to" is a text.
      void invoke(send, { to: 1 });
      // @ts-expect-error "to" is missing.
      void invoke(listed, {});
      const named = await invoke('send_sms', { to: '+1' });
      // @ts-expect-error A failure has no result.
      void named.result;
      return { receipt, named: named.success };
    },
  });

  assert.deepEqual(tell.faults, []);
});
