/**
 * Rules on the arguments of a tool, as a person writes them: approvals and refusals by conditions, and their short forms.
 *
 * @module
 */

import * as z from 'zod';
import { readRegions } from '../../domain/conditions/rules.ts';
import type { Rule } from '../../domain/conditions/words.ts';
import { amountFault } from '../../domain/values/money.ts';
import { FieldName } from '../../protocol/primitives.ts';
import { addFault } from './upstream-schema.ts';

/** Bounds the votes that one request stores. */
const PEOPLE_MAX = 16;

const SOME_REGION = 'expected conditions on inputs, such as { path: { under: docs } }';

const Region = z.record(z.string(), z.unknown(), SOME_REGION);

/** Conditions by the path of a value, in canonical form; a list of them means one of them. */
const Regions = z
  .union([Region, z.array(Region).min(1)])
  .transform((written, context) => {
    const read = readRegions(written);
    if ('regions' in read) return read.regions;
    for (const { path, index, fault, write } of read.faults) {
      const place = [...(index === undefined ? [] : [index]), ...(path === '' ? [] : [path])];
      addFault(context, `${fault}; write ${write}`, place);
    }
    return z.NEVER;
  })
  .describe('Conditions on the inputs of the tool, by the path of a value.');

export const RefusalPolicy = z
  .strictObject({
    unless: Regions.describe('Only calls within these conditions are let through.').optional(),
    when: Regions.describe('Calls that may be within these conditions are refused.').optional(),
  })
  .transform(({ unless, when }, context): Rule => {
    if (unless && !when) return { unless };
    if (when && !unless) return { when };
    addFault(context, 'expected either "unless" or "when"');
    return z.NEVER;
  })
  .describe('Which calls are refused, whoever makes them.');

const SOME_CONDITION =
  'expected "always", "above 100 USD" (of the cost), { unless: … }, { when: … } or { above: 100, field: … }';

/** `currency`: of a threshold on the cost. */
type When = { readonly when: 'always' | Rule; readonly currency?: string };

const InWords = z
  .string(SOME_CONDITION)
  .regex(/^(?:always|above [0-9]{1,16}(?:\.[0-9]{1,4})? [A-Z]{3})$/, SOME_CONDITION)
  .transform((text, context): When => {
    if (text === 'always') return { when: text };
    const [, above = '', currency = ''] = text.split(' ');
    const wrong = unreadable(Number(above), currency);
    if (wrong !== undefined) addFault(context, wrong);
    return { when: { unless: { $cost: { at_most: Number(above) } } }, currency };
  });

const Detailed = z
  .strictObject({
    when: z
      .union([InWords, Regions.transform((when): When => ({ when: { when } }))])
      .describe('Calls that may be within these conditions need a person.')
      .optional(),
    unless: Regions.describe('Calls within these conditions need nobody.').optional(),
    above: z.number().nonnegative().optional(),
    field: FieldName.describe('The field of the request that is compared.').optional(),
    passkey: z.boolean().describe('Each approver confirms with a passkey.').default(false),
    people: z.int().min(1).max(PEOPLE_MAX).describe('How many people approve.').default(1),
  })
  .transform(({ when, unless, above, field, passkey, people }, context): ToolApproval => {
    const threshold =
      above === undefined || field === undefined
        ? undefined
        : { when: { unless: { [field]: { at_least: 0, at_most: above } } } };
    const isPart = !threshold && (above !== undefined || field !== undefined);
    const [only, ...more] = [when, unless && { when: { unless } }, threshold].filter(
      (each): each is When => each !== undefined,
    );
    if (only && more.length === 0 && !isPart) return { ...only, passkey, people };
    addFault(context, 'expected one of "when", "unless", or "above" with "field"');
    return z.NEVER;
  });

export type ToolApproval = When & { readonly passkey: boolean; readonly people: number };

export const ApprovalPolicy = z
  .union([
    InWords.transform((given): ToolApproval => ({ ...given, passkey: false, people: 1 })),
    Detailed,
  ])
  .describe('When a person approves a call before it runs.');

/** In the words of the domain, without the sentence before them. */
export function unreadable(amount: number, currency: string): string | undefined {
  return amountFault(amount, currency)?.replace(/^Cannot read amount[^:]*: /, '');
}
