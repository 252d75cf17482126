/**
 * Hostile numbers: every numeric input of the showcase and of the shop of the README gets numbers that cannot be
 * charged, over HTTP. No number is an internal error.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, test } from 'vitest';
import type { ServiceDefinition } from '../../src/service/author/definition.ts';
import { temporaryFolder } from '../support/ends.ts';
import { person } from '../support/person.ts';
import { ALICE, type Reply, testService } from '../support/world.ts';

/** As a caller writes them: JSON has numbers that a program reads as infinite, as minus zero or rounded. */
const NUMBERS = [
  '0',
  '-0',
  '-1',
  '-80.5',
  '1',
  '80.555',
  '0.001',
  '1e-7',
  '5e-324',
  '0.30000000000000004',
  '99.99999999999999',
  '499.999',
  '500.01',
  '1e6',
  '70368744177663.99',
  '1e15',
  '1e16',
  '9007199254740991',
  '9007199254740993',
  '1e300',
  '1.7976931348623157e308',
  '1e309',
  '-1e309',
];

/** Values of the other inputs, so that the numbers are what a call stands or falls by. */
const OTHERS: Readonly<Record<string, unknown>> = {
  booking_id: 'BK-1000',
  date: '2027-03-01',
  destination: 'SFO',
  order_id: 'A1',
  origin: 'SEA',
  reason: 'late',
  route: 'SEA-SFO',
};

const { travelDesk } = await import('../../examples/travel/service.ts');
const shop = await shopOfReadme();
const IDENTITIES = [
  person(ALICE, 'human:alice', ['travel.*', 'shop.*']),
  person('approver', 'human:bob', ['approver:*']),
];

describe.each([
  [
    'the showcase',
    travelDesk,
    ['charter_fleet', 'export_report', 'issue_refund', 'search_flights'],
  ],
  ['the shop of the README', shop, ['refund_order']],
] as const)('invoke() of %s', async (_, definition, expected) => {
  const service = await testService({ definition, settings: { identities: IDENTITIES } });
  const numeric = [...definition.catalog.capabilities.values()].flatMap((capability) =>
    capability.inputs
      .filter(({ type }) => type === 'number' || type === 'integer')
      .map(({ name }) => ({ capability, name })),
  );

  test('has the numeric inputs that this file knows', () => {
    assert.deepEqual(numeric.map(({ capability }) => capability.name).sort(), expected);
  });

  for (const { capability, name } of numeric) {
    test(`answers no number of "${name}" of ${capability.name} by an internal error`, async () => {
      const { token } = await service.issue(ALICE, {
        scope: capability.minimum_scope,
        budget: { currency: 'USD', max_amount: 1_000_000 },
      });
      const others = Object.fromEntries(
        capability.inputs.map((input) => [input.name, OTHERS[input.name] ?? input.default]),
      );
      for (const number of NUMBERS) {
        const body = JSON.stringify({ parameters: { ...others, [name]: 0.5 } });
        const asked = body.replace(`"${name}":0.5`, `"${name}":${number}`);

        const path = `/svc/invoke/${capability.name}`;
        const reply = await service.ask('POST', path, { bearer: token, body: asked });

        const { failure } = reply.body;
        assert.notEqual(failure?.type, 'internal_error', `${number}: ${service.log.at(-1)}`);
        assert.ok(reply.status < 500, `${number}: ${JSON.stringify(failure)}`);
      }
    });
  }
});

test('the shop of the README names the input, the amount and the range of a price that cannot be charged', async () => {
  const service = await testService({ definition: shop, settings: { identities: IDENTITIES } });
  const { token } = await service.issue(ALICE, { scope: ['shop.refund'] });
  const refused = async (amount: number): Promise<Reply['body']> =>
    (await service.invoke(token, 'refund_order', { order_id: 'A1', amount })).body.failure;

  for (const amount of [80.555, -1, 500.01, 0]) {
    const { type, detail } = await refused(amount);

    assert.equal(type, 'invalid_parameters');
    assert.equal(
      detail,
      `Cannot price "refund_order" with this "amount": it would cost ${amount} USD; expected 1 to 500 USD with at most 2 decimals`,
    );
  }
});

/** The program of the page, without the lines that serve it. */
async function shopOfReadme(): Promise<ServiceDefinition> {
  const [, code = ''] =
    /```ts shop\.ts\n([\s\S]*?)```/.exec(readFileSync('README.md', 'utf8')) ?? [];
  const [defined = ''] = code.split('const ann =');
  const source = pathToFileURL('src/index.ts').href;
  const file = join(temporaryFolder(), 'shop.ts');
  writeFileSync(file, `${defined.replace("'writ'", `'${source}'`)}\nexport { shop };\n`);
  return (await import(pathToFileURL(file).href)).shop;
}
