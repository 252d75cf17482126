/**
 * The policy of a guard as a person writes it: which tools are offered, and under which rules.
 *
 * Strict, so that a misspelt key is a fault. Amounts, limits and conditions have short forms for people. A secret
 * is never part of a policy: a credential names a variable of the environment. Whether a field exists in a tool
 * is decided in `../definition.ts`, which knows the reviewed schema.
 *
 * @module
 */

import * as z from 'zod';
import { CAPABILITIES_MAX } from '../../domain/catalog/catalog.ts';
import type { Rule } from '../../domain/conditions/words.ts';
import { parseDuration } from '../../domain/values/duration.ts';
import { SideEffectType } from '../../protocol/capability.ts';
import { isCurrency } from '../../protocol/currencies.ts';
import { CapabilityName, FieldName, type JsonObject, Scope } from '../../protocol/primitives.ts';
import { ApprovalPolicy, RefusalPolicy, type ToolApproval, unreadable } from './rule-schema.ts';
import { addFault, Upstream } from './upstream-schema.ts';

/** Characters. Tool names of real servers are far shorter. */
export const TOOL_NAME_LENGTH_MAX = 256;

/** A list of logged fields that a person still reads. */
const LOGGED_MAX = 64;

const SOME_AMOUNT = 'expected an amount and a currency, such as "20 USD"';

const Amount = z
  .string(SOME_AMOUNT)
  .regex(/^[0-9]{1,16}(?:\.[0-9]{1,4})? [A-Z]{3}$/, SOME_AMOUNT)
  .transform((text, context) => {
    const [amount = '', currency = ''] = text.split(' ');
    const money = { currency, amount: Number(amount) };
    const wrong = unreadable(money.amount, currency);
    if (wrong !== undefined) addFault(context, wrong);
    return money;
  });

const Currency = z.string().refine(isCurrency, {
  message: 'expected the code of a currency (ISO 4217), such as "USD"',
  abort: true,
});

const UNITS: Readonly<Record<string, string>> = {
  second: '1s',
  minute: '1m',
  hour: '1h',
  day: '1d',
};

const SOME_LIMIT = 'expected a limit such as "10 per minute" or "100 per 5m"';

const Limit = z
  .string(SOME_LIMIT)
  .regex(/^[1-9][0-9]{0,8} per (?:second|minute|hour|day|[0-9]{1,9}(?:s|m|h|d))$/, SOME_LIMIT)
  .transform((text, context) => {
    const [limit = '', , unit = ''] = text.split(' ');
    const window = UNITS[unit] ?? unit;
    if (!((parseDuration(window) ?? 0) > 0)) addFault(context, SOME_LIMIT);
    return { limit: Number(limit), window };
  });

/** A place in a request or an answer, such as `usage.cost`. */
const FieldPath = z
  .string()
  .regex(
    /^[A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z0-9_][A-Za-z0-9_-]{0,63}){0,7}$/,
    'expected the name of a field, or names with dots between them',
  );

const most = z.number().nonnegative().describe('The largest amount of one call.');

const FieldCost = z
  .strictObject({
    field: FieldPath.describe('The field of the request that has the amount.'),
    currency: Currency,
    most,
  })
  .superRefine(refuseAmount);

const AnswerCost = z
  .strictObject({
    answer: FieldPath.describe('The field of the answer that has the amount.'),
    currency: Currency,
    most,
  })
  .superRefine(refuseAmount);

const Cost = z
  .union([Amount, FieldCost, AnswerCost])
  .describe('What one call costs: an amount, a field of the request or a field of the answer.');

const Yes = z
  .union([z.boolean(), z.enum(['yes', 'no'])])
  .transform((answer) => answer === true || answer === 'yes');

const Tool = z
  .strictObject({
    tool: z
      .string()
      .min(1)
      .max(TOOL_NAME_LENGTH_MAX)
      .describe('The name of the tool, where it differs from the name of the capability.')
      .optional(),
    effect: SideEffectType.describe('What a call does to the world.'),
    scope: Scope.describe('The scope that a caller needs.').optional(),
    approval: ApprovalPolicy.optional(),
    refuse: RefusalPolicy.optional(),
    cost: Cost.optional(),
    limit: Limit.describe('Calls of one root principal in a time.').optional(),
    log: z
      .array(FieldName)
      .max(LOGGED_MAX)
      .describe('Fields of request and answer whose values the log has.')
      .default([]),
    review: Yes.describe(
      'The effect is a guess. The tool is off unless its effect is read.',
    ).default(false),
  })
  .superRefine(({ approval, cost }, context) => {
    const { currency } = approval ?? {};
    if (currency === undefined || currency === cost?.currency) return;
    const message =
      cost === undefined
        ? 'there is no cost to compare; write a cost, or { above: …, field: … }'
        : `it compares ${currency}, but the cost is in ${cost.currency}`;
    addFault(context, message, ['approval']);
  });

/** The file. */
export const Policy = z
  .strictObject({
    guard: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'expected a short name such as "files"')
      .describe('The id of the service.'),
    upstream: Upstream,
    tools_as: z
      .enum(['all', 'search'])
      .describe('Whether agents get all tools, or a pair that searches and calls.')
      .default('all'),
    budget: Amount.describe('The budget of an agent that starts the guard itself.').optional(),
    tools: z
      .record(CapabilityName, Tool)
      .refine((tools) => Object.keys(tools).length <= CAPABILITIES_MAX, {
        message: `expected at most ${CAPABILITIES_MAX} tools`,
      })
      .describe('The offered tools, by the name of the capability. All others are off.'),
  })
  .superRefine(({ tools }, context) => {
    const named = new Set<string>();
    for (const [capability, { tool = capability }] of Object.entries(tools)) {
      const message = `the tool "${tool}" is already offered by another capability`;
      const path = ['tools', capability];
      if (named.has(tool)) addFault(context, message, path);
      named.add(tool);
    }
  });

export type ToolCost = z.infer<typeof Cost>;

/** The policy of one tool, with its defaults. */
export interface ToolPolicy {
  /** As the upstream spells it. */
  readonly tool: string;
  readonly effect: SideEffectType;
  readonly scope: string;
  readonly approval?: ToolApproval | undefined;
  readonly refuse?: Rule | undefined;
  readonly cost?: ToolCost | undefined;
  readonly limit?: { readonly limit: number; readonly window: string } | undefined;
  readonly log: readonly string[];
  /** A draft: no person has checked the effect yet. */
  readonly review: boolean;
}

/** For editors: the JSON Schema of the file. */
export function policyJsonSchema(): JsonObject {
  const { $schema, ...schema } = z.toJSONSchema(Policy, { io: 'input' });
  return { $schema, title: 'The policy of a guard (writ-guard.yaml)', ...schema };
}

function refuseAmount(
  { most, currency }: { most: number; currency: string },
  context: z.RefinementCtx,
): void {
  const wrong = unreadable(most, currency);
  if (wrong !== undefined) addFault(context, wrong, ['most']);
}
