/**
 * Tools that are off: new, changed, gone or unusable ones, each with a sentence, while the others run.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type GuardOptions, guardService } from '../../src/guard/definition.ts';
import { NO_PINS, type Pins, pinned, readPins, writePins } from '../../src/guard/pins.ts';
import type { UpstreamTool } from '../../src/guard/upstream.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { expectAnswer } from '../../src/testing/expect.ts';
import { testService } from '../../src/testing/test-service.ts';
import { BY, budget, failureOf, GOOD, guardOf, LOOK, PAY } from './rig.ts';

const CHANGED = { ...PAY, description: 'Pay me' };

const FORMS = Array.from({ length: 400 }, (_, at) => ({ type: 'object', required: [`a${at}`] }));
const HEAVY = { ...PAY, inputSchema: { type: 'object', properties: { items: { anyOf: FORMS } } } };

type OffRow = [name: string, given: Partial<GuardOptions>, why: RegExp];

const OFF: OffRow[] = [
  ['a tool that changed', { live: [CHANGED, LOOK] }, /^the tool "pay" changed since its review/],
  [
    'a tool that is new',
    { pins: pinned(NO_PINS, [LOOK], BY) },
    /^the tool "pay" is new and needs a review$/,
  ],
  ['a tool that is gone', { live: [LOOK] }, /^the upstream has no longer the tool "pay"$/],
  [
    'a tool that is listed twice',
    { live: [PAY, LOOK, PAY] },
    /^the upstream lists the tool "pay" twice$/,
  ],
  [
    'a tool whose schema takes too much work to check',
    { pins: pinned(NO_PINS, [HEAVY, LOOK], BY), live: [HEAVY, LOOK] },
    /^its input schema cannot be used: a value of 20 parts can take more than 6000 steps/,
  ],
  ['a pin that was edited', { pins: editedPins() }, /^the tool "pay" changed since its review/],
];

for (const [name, given, why] of OFF) {
  test(`guardService() switches off ${name}`, async () => {
    const { options, calls } = guardOf(
      '  pay: { effect: write }\n  look: { tool: look up, effect: read, scope: shop.write }',
    );
    const { service, off } = guardService({ ...options, ...given });

    assert.match(off.get('pay') ?? '', why);
    const shop = await testService(service);
    const reply = await (await shop.caller('a')).client.invoke({
      capability: 'pay',
      parameters: GOOD,
    });
    assert.equal(failureOf(reply).type, 'unknown_capability');
    assert.match(failureOf(reply).detail, /it is off: /);
    assert.equal(calls.length, 0);
    await shop.close();
  });
}

const FAULTY: [name: string, tools: string, why: string][] = [
  [
    'an effect that is not checked',
    '  pay: { effect: write, review: yes }',
    'line 4 of the policy still has "review": check the effect, then delete it',
  ],
  [
    'a cost field that the tool has not',
    '  pay:\n    effect: write\n    cost: { field: amuont, currency: USD, most: 1 }',
    'line 6 of the policy: cost.field is no number among the inputs of the tool',
  ],
  [
    'a compared field that is no number',
    '  pay:\n    effect: write\n\n    approval: { above: 1, field: to }',
    'line 7 of the policy: approval.unless.to cannot be used: 0 is no value of type "string"; write a value of type "string"',
  ],
  [
    'a logged field that the tool has not',
    '  pay:\n    effect: write\n    log:\n      - to\n      - form',
    'line 8 of the policy: log.1 is neither an input nor a field of the answer',
  ],
];

for (const [name, tools, why] of FAULTY) {
  test(`guardService() switches off a tool with ${name}`, () => {
    assert.equal(guardService(guardOf(tools).options).off.get('pay'), why);
  });
}

test('guardService() offers a read whose effect is not checked yet', () => {
  const { off } = guardService(guardOf('  pay: { effect: read, review: yes }').options);
  assert.deepEqual([...off], []);
});

type SchemaRow = [name: string, schema: JsonObject, why: RegExp];
const deep = (levels: number): JsonObject => (levels === 0 ? {} : { items: deep(levels - 1) });

const SCHEMAS: SchemaRow[] = [
  ['of a text', { type: 'string' }, /^its input schema cannot be used: expected an object$/],
  ['that refers elsewhere', { $ref: 'https://a.example/' }, /^its input schema cannot be used/],
  [
    'that refers to itself',
    { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } },
    /cannot be/,
  ],
  ['that is too deep', { type: 'object', properties: { a: deep(40) } }, /deep/],
  ['that is too long', { type: 'object', description: 'x'.repeat(70_000) }, /longer than 65536/],
  [
    'that requires a name that no input has',
    { type: 'object', properties: { 'a b\n': {} }, required: ['a b\n'] },
    /^it requires "a b\\u\{a\}", which is no name of an input$/,
  ],
  [
    'that requires a name of the protocol',
    { type: 'object', properties: { svc_x: {} }, required: ['svc_x'] },
    /^it requires "svc_x"/,
  ],
  ['with a type that is no name', { properties: { a: { type: '' } } }, /^it cannot be declared: /],
];

for (const [name, inputSchema, why] of SCHEMAS) {
  test(`guardService() switches off a tool with a schema ${name}, and offers the others`, () => {
    const odd = { ...PAY, name: 'odd', inputSchema };
    const { options } = guardOf('  odd: { effect: read }\n  pay: { effect: write }');
    const pins = pinned(options.pins, [odd], BY);
    const { service, off } = guardService({ ...options, pins, live: [odd, PAY] });

    assert.match(off.get('odd') ?? '', why);
    assert.deepEqual([...service.catalog.capabilities.keys()], ['pay']);
  });
}

test('guardService() offers a tool whose defaults and values contradict its types', async () => {
  const odd: UpstreamTool = {
    ...PAY,
    inputSchema: {
      properties: {
        a: { type: 'integer', default: 'x', enum: [1, 1, 2] },
        b: { type: 'string', enum: [1, 'x'] },
        c: { type: 'string', format: 'date-time', default: 'soon' },
      },
    },
  };
  const { options, calls } = guardOf('  pay: { effect: write }');
  const given = { ...options, pins: pinned(NO_PINS, [odd], BY), live: [odd] };
  const { service, off } = guardService(given);
  const shop = await testService(service);

  assert.deepEqual([...off], []);
  expectAnswer(await (await shop.caller('a')).invoke('pay', { b: 'x' }));
  assert.deepEqual(calls[0]?.parameters, { b: 'x', c: 'soon' });
  await shop.close();
});

test('a tool that changes while the service runs refuses calls', async () => {
  const { options, calls } = guardOf('  pay: { effect: write, cost: 10 USD }');
  let isCurrent = true;
  const shop = await testService(guardService({ ...options, isCurrent: () => isCurrent }).service);
  const agent = await shop.caller('a', { budget });

  expectAnswer(await agent.invoke('pay', GOOD));
  isCurrent = false;
  const { type, detail } = failureOf(await agent.invoke('pay', GOOD));

  assert.equal(type, 'service_unavailable');
  assert.match(detail, /the upstream changed it, and it is off until a person reviews it/);
  assert.equal(calls.length, 1);
  await shop.expectSpent(agent, 10);
  await shop.close();
});

function editedPins(): Pins {
  const text = writePins(pinned(NO_PINS, [CHANGED, LOOK], BY)).replace(
    'Pay me',
    'Pay\\u202e someone\\nat once',
  );
  const pins = readPins(text);
  assert.ok('tools' in pins);
  return pins;
}
