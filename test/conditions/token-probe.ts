/**
 * Prints the first rule about conditions of tokens that does not hold, or nothing.
 *
 * @module
 */

import { changedInputs, inputTypes } from '../../src/domain/authority/input-types.ts';
import {
  addedByEntitlement,
  conditionClaims,
  conditionsWithin,
  isWiderThan,
  narrowedConditions,
  readEntitled,
  readStated,
  type TokenConditions,
} from '../../src/domain/authority/token-conditions.ts';
import type { Conditions } from '../../src/domain/conditions/condition.ts';
import { failure } from '../../src/domain/failure.ts';
import {
  costOutside,
  outsideConditions,
  unusableConditions,
} from '../../src/domain/invocation/conditions.ts';
import { CapabilityDeclaration, type Input } from '../../src/protocol/capability.ts';

const AMOUNT = { name: 'amount', type: 'number' };
const NOTE = { name: 'note', type: 'string', required: false };
const USD = { certainty: 'fixed', financial: { currency: 'USD', amount: 5 } };

function pay(inputs: readonly object[] = [AMOUNT, NOTE], more: object = {}) {
  const declared = {
    description: 'Pay',
    contract_version: '1.0.0',
    inputs,
    output: { type: 'payment', fields: [] },
    side_effect: { type: 'write' },
    minimum_scope: ['pay'],
    cost: USD,
    ...more,
  };
  return { ...CapabilityDeclaration.parse(declared), name: 'pay', delegable: true };
}
const named = () => pay();
type Pay = ReturnType<typeof pay> & { inputs: Input[] };

const holding = (where: object, inputs = inputTypes(pay())): TokenConditions => ({
  pay: { inputs, where: where as Conditions },
});
const token = (where: object, inputs?: Record<string, string>) => ({
  root_principal: 'human:a',
  conditions: holding(where, inputs),
});
const UP_TO_50 = { amount: { at_least: 0, at_most: 50 } };
const narrowed = (held: TokenConditions | undefined, stated: TokenConditions | undefined) =>
  narrowedConditions(held, stated, (detail) => failure('scope_escalation', detail));
const outside = (where: object, sent: object, declared: Pay = pay(), resolved = sent) =>
  outsideConditions(token(where), declared, { ...sent }, { ...resolved })?.type;
const isFailure = (read: object) => 'failure' in read;
const types = (schema: object) =>
  inputTypes(
    pay([{ name: 'to', type: 'array' }], {
      input_schema: { type: 'object', properties: { to: schema } },
    }),
  );
const NEW = { name: 'payee', type: 'string', required: false };
const TENANT = {
  name: 'tenant',
  type: 'string',
  default: 'none',
  resolution: { mode: 'actor_policy' },
};
const usd = (amount: bigint, currency = 'USD') => ({ currency, amount });

/** Each is true where the rules hold. */
const RULES: Readonly<Record<string, () => boolean>> = {
  'a wider bound is refused': () =>
    isFailure(narrowed(holding(UP_TO_50), holding({ amount: { at_least: 0, at_most: 51 } }))),
  'what is not stated is inherited': () =>
    JSON.stringify(narrowed(holding(UP_TO_50), holding({ note: { is: 'x' } }))).includes('at_most'),
  'no statement inherits all': () =>
    JSON.stringify(narrowed(holding(UP_TO_50), undefined)).includes('at_most'),
  'a child has the inputs of its parent': () => {
    const read = narrowed(holding(UP_TO_50, { amount: 'number' }), holding({ note: { is: 'x' } }));
    return 'conditions' in read && !('note' in (read.conditions?.pay?.inputs ?? {}));
  },
  'seventeen paths are too many': () => {
    const where = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`p${at}`, { is: 1 }]));
    return isFailure(narrowed(undefined, holding(where)));
  },
  'two kilobytes are the most': () =>
    isFailure(narrowed(undefined, holding({ note: { is: 'x'.repeat(2_048) } }))),
  'nine capabilities are too many, as stated and as inherited': () => {
    const of = (from: number, count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`c${from + at}`, { amount: 5 }]),
      );
    const held = readStated(of(0, 8), named);
    const more = readStated(of(8, 1), named);
    if ('failure' in held || 'failure' in more) return false;
    return (
      isFailure(readStated(of(0, 9), named)) &&
      isFailure(narrowed(held.conditions, more.conditions))
    );
  },
  'an operator of approvals is refused': () =>
    isFailure(readStated({ pay: { note: { any: true } } }, named)) &&
    isFailure(readStated({ pay: { note: { same: `sha256:${'0'.repeat(64)}` } } }, named)) &&
    'fault' in readEntitled({ pay: { note: { any: true } } }),
  'a misfit is refused': () => isFailure(readStated({ pay: { nope: 5 } }, named)),
  'an unknown capability is refused': () =>
    isFailure(readStated({ pay: UP_TO_50 }, () => undefined)),
  'nothing states nothing': () =>
    JSON.stringify(readStated({ pay: {}, other: null }, () => undefined)) === '{}',
  'a child without the capability is wider': () => isWiderThan(holding(UP_TO_50), {}),
  'a child with other inputs is wider': () =>
    isWiderThan(holding(UP_TO_50), holding(UP_TO_50, { amount: 'number' })),
  'a child with a wider bound is wider': () =>
    isWiderThan(holding(UP_TO_50), holding({ amount: { at_least: 0 } })),
  'a child of no form is wider': () =>
    isWiderThan(holding(UP_TO_50), holding({ amount: 7.5 as never, x: [] })),
  'an equal child is not wider': () => !isWiderThan(holding(UP_TO_50), holding(UP_TO_50)),
  'the claims change with the inputs': () =>
    conditionClaims(holding(UP_TO_50)).pay?.shape !==
    conditionClaims(holding(UP_TO_50, {})).pay?.shape,
  'an entitlement adds what is wider alone': () => {
    const added = addedByEntitlement(
      holding({ amount: { is: 5 } }),
      holding({ ...UP_TO_50, note: { is: 'x' } }),
    );
    return Object.keys(added?.pay?.where ?? {}).join() === 'note';
  },
  'conditions of an app stay within the rule': () =>
    conditionsWithin({ pay: UP_TO_50 }, { pay: { amount: { is: 51 } } }) === undefined &&
    conditionsWithin({ pay: UP_TO_50 }, { pay: { amount: { is: 5 } } }) !== undefined,
  'a call outside is refused': () => outside(UP_TO_50, { amount: 51 }) === 'scope_insufficient',
  'a call within is not': () => outside(UP_TO_50, { amount: 50 }) === undefined,
  'the cost is judged later': () =>
    outside({ $cost: { at_most: 5 } }, { amount: 50 }) === undefined &&
    costOutside(token({ $cost: { at_most: 5 } }), pay(), usd(500n)) === undefined &&
    costOutside(token({ $cost: { at_most: 5 } }), pay(), usd(501n)) !== undefined,
  'a cost of another currency, or none, is not known': () =>
    costOutside(token({ $cost: { at_most: 5 } }), pay(), usd(1n, 'EUR')) !== undefined &&
    costOutside(token({ $cost: { at_most: 5 } }), pay(), undefined) !== undefined,
  'a new input that is sent is refused': () =>
    outside(UP_TO_50, { amount: 5, payee: 'x' }, pay([AMOUNT, NOTE, NEW])) === 'scope_insufficient',
  'a new input that is null is not': () =>
    outside(UP_TO_50, { amount: 5, payee: null }, pay([AMOUNT, NOTE, NEW])) === undefined,
  'a known input that is sent is not': () =>
    outside(UP_TO_50, { amount: 5, note: 'x' }, pay([AMOUNT, NOTE, NEW])) === undefined,
  'a new input that a policy fills is refused': () =>
    outside(UP_TO_50, { amount: 5 }, pay([AMOUNT, TENANT]), { amount: 5, tenant: 'x' } as never) !==
    undefined,
  'a new input that a default fills is not': () =>
    outside(UP_TO_50, { amount: 5 }, pay([AMOUNT, TENANT]), {
      amount: 5,
      tenant: 'none',
    } as never) === undefined,
  'a policy fills what the shape knows': () =>
    outsideConditions(
      token(UP_TO_50, inputTypes(pay([AMOUNT, TENANT])) as never),
      pay([AMOUNT, TENANT]),
      { amount: 5 },
      { amount: 5, tenant: 'x' },
    ) === undefined,
  'an input that every call needs restricts': () =>
    unusableConditions(token(UP_TO_50), pay([{ ...AMOUNT, type: 'integer' }])) !== undefined &&
    unusableConditions(token(UP_TO_50), pay([AMOUNT, NEW])) === undefined &&
    unusableConditions(token(UP_TO_50), pay([AMOUNT, { ...NEW, required: true, default: 'x' }])) ===
      undefined,
  'an input that is gone restricts, unless it may be absent': () =>
    unusableConditions(token({ note: { is: 'x' } }), pay([AMOUNT])) !== undefined &&
    unusableConditions(token({ note: { is: 'x', or_absent: true } }), pay([AMOUNT])) ===
      undefined &&
    unusableConditions(token({ $cost: { at_most: 5 } }), pay([AMOUNT], { cost: undefined })) !==
      undefined,
  'an input of another type is changed, and a described one is not': () =>
    changedInputs(
      inputTypes(pay()),
      pay([
        { ...AMOUNT, type: 'integer' },
        { ...NOTE, description: 'x' },
      ]),
    ).size === 1,
  'a member that is new below an input changes its type': () =>
    types({ type: 'array', items: { properties: { a: { type: 'string' } } } }).to !==
      types({ type: 'array', items: { properties: { a: { type: 'string' }, b: {} } } }).to &&
    types({ type: 'array', items: { properties: { a: { type: 'string', title: 'A' } } } }).to ===
      types({ type: 'array', items: { properties: { a: { type: 'string' } } } }).to,
};

const [broken = ''] = Object.entries(RULES).find(([, holds]) => !isTrue(holds)) ?? [];
process.stdout.write(broken);

function isTrue(holds: () => boolean): boolean {
  try {
    return holds();
  } catch {
    return false;
  }
}
