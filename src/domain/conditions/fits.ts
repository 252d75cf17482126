/**
 * Whether conditions fit the declaration of a capability: the inputs exist, the operators suit their types, some value
 * can be within, and no bound is open where it must not be.
 *
 * @module
 */

import type { CapabilityDeclaration, Input } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { nearestName } from '../values/nearest.ts';
import { isObject } from '../wire/json.ts';
import {
  COST_PATH,
  type Condition,
  type Conditions,
  listedValues,
  type Operator,
} from './condition.ts';
import { admits } from './judge.ts';
import type { ConditionFault } from './read.ts';
import { pointOf } from './strict-forms.ts';

type DeclaredInput = Pick<Input, 'name' | 'type' | 'allowed_values'>;
type Declared = Pick<CapabilityDeclaration, 'cost'> & {
  readonly input_schema?: JsonObject | undefined;
  readonly inputs: readonly DeclaredInput[];
};

export function misfits(conditions: Conditions, capability: Declared): ConditionFault[] {
  return Object.entries(conditions).flatMap(([path, condition]) => {
    const found = path === COST_PATH ? costMisfit(capability) : misfit(path, condition, capability);
    return found ? [{ path, ...found }] : [];
  });
}

type Misfit = Omit<ConditionFault, 'path'>;

function costMisfit({ cost }: Declared): Misfit | undefined {
  if (cost?.financial) return undefined;
  return { fault: 'the capability has no cost', write: 'the name of an input' };
}

function misfit(path: string, condition: Condition, capability: Declared): Misfit | undefined {
  const [name = '', ...rest] = path.split('.');
  const input = capability.inputs.find((each) => each.name === name);
  if (!input) {
    const names = capability.inputs.map((each) => each.name);
    const near = nearestName(name, names) ?? names.join(', ');
    return {
      fault: `"${name}" is no input`,
      write: near === '' ? 'no condition: there is no input' : near,
    };
  }
  const type = rest.length > 0 ? belowType(input) : input.type;
  if (type === undefined) return { fault: `"${name}" has nothing below it`, write: `"${name}"` };
  return (
    wrongOperator(condition, type) ??
    openBelow(condition, input, { capability, isWhole: rest.length === 0 }) ??
    outsideTheSet(condition, input, rest.length === 0)
  );
}

/** Of what lies below an object or a list nothing is known. */
function belowType({ type }: DeclaredInput): string | undefined {
  return SCALAR_TYPES.has(type) ? undefined : 'any';
}

const SCALAR_TYPES = new Set(['string', 'integer', 'number', 'boolean', 'date', 'datetime']);

const TEXTS: readonly Operator[] = [
  'is',
  'one_of',
  'starts_with',
  'under',
  'email_domain',
  'url_under',
];
const POINTS: readonly Operator[] = ['is', 'one_of', 'at_least', 'at_most'];

/** By declared type; a type that is not here takes every operator. */
const OPERATORS: Readonly<Record<string, readonly Operator[]>> = {
  string: [...TEXTS, 'at_least', 'at_most'],
  integer: POINTS,
  number: POINTS,
  boolean: ['is'],
  date: POINTS,
  datetime: POINTS,
  array: ['same'],
  object: ['same'],
};

/** What an operand is compared with. */
const OPERAND_TYPES: Readonly<Record<string, (operand: unknown) => boolean>> = {
  string: (operand) => typeof operand === 'string',
  integer: (operand) => typeof operand === 'number',
  number: (operand) => typeof operand === 'number',
  boolean: (operand) => typeof operand === 'boolean',
  date: (operand) => typeof operand === 'string' && pointOf(operand)?.kind === 'date',
  datetime: (operand) => typeof operand === 'string' && pointOf(operand)?.kind === 'time',
};

const ABSENCE: ReadonlySet<string> = new Set(['absent', 'or_absent', 'any']);

function wrongOperator(condition: Condition, type: string): Misfit | undefined {
  const known = Object.hasOwn(OPERATORS, type) ? OPERATORS[type] : undefined;
  if (!known) return undefined;
  const used = (Object.keys(condition) as Operator[]).filter((each) => !ABSENCE.has(each));
  const wrong = used.find((each) => !known.includes(each));
  if (wrong !== undefined) {
    return {
      fault: `"${wrong}" does not suit an input of type "${type}"`,
      write: `one of ${known.join(', ')}`,
    };
  }
  const isFit = OPERAND_TYPES[type];
  const { at_least, at_most } = condition;
  const operands = [...(listedValues(condition) ?? []), at_least, at_most].filter(
    (each) => each !== undefined,
  );
  const strange = isFit && operands.find((each) => !isFit(each));
  return strange === undefined
    ? undefined
    : {
        fault: `${JSON.stringify(strange)} is no value of type "${type}"`,
        write: `a value of type "${type}"`,
      };
}

interface Place {
  readonly capability: Declared;
  /** Whether the condition is on the input itself. */
  readonly isWhole: boolean;
}

/** -1,000 is at most 50, too. */
function openBelow(
  { at_least, at_most }: Condition,
  { name }: DeclaredInput,
  { capability, isWhole }: Place,
): Misfit | undefined {
  if (typeof at_most !== 'number' || at_least !== undefined) return undefined;
  const schema = capability.input_schema?.properties;
  const declared = isWhole && isObject(schema) && isObject(schema[name]) ? schema[name] : {};
  const lowest = [declared.minimum, declared.exclusiveMinimum].find(
    (each) => typeof each === 'number',
  );
  if (lowest !== undefined && lowest >= 0) return undefined;
  return {
    fault: 'a number below zero is at most this, too',
    write: `{ at_least: 0, at_most: ${at_most} }`,
  };
}

function outsideTheSet(
  condition: Condition,
  { allowed_values }: DeclaredInput,
  isWhole: boolean,
): Misfit | undefined {
  if (!isWhole || !allowed_values) return undefined;
  const write = `values of ${JSON.stringify(allowed_values)}`;
  const strange = listedValues(condition)?.find((each) => !allowed_values.includes(each));
  if (strange !== undefined)
    return { fault: `${JSON.stringify(strange)} is not among the allowed values`, write };
  if (condition.absent || condition.any || allowed_values.some((each) => admits(condition, each)))
    return undefined;
  return { fault: 'no allowed value is within it', write };
}
