/**
 * What the page claims about a request in words of its own: never more than the answer says.
 *
 * Pure, so that each claim is tested without a browser.
 *
 * @module
 */

import type { Capability } from '../../protocol/capability.ts';
import { isCurrency } from '../../protocol/currencies.ts';
import type { Decision } from '../../protocol/decision.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { type HiddenField, hiddenFields } from './hidden.ts';
import { type MoneyInputs, personOf } from './values.ts';

/** A text with hidden characters, and the part of the page that has it. */
export interface HiddenText extends HiddenField {
  readonly where: 'parameters' | 'preview' | 'words' | 'hands';
}

/** Every text of others on the page that has hidden characters, each once: the preview often repeats parameters. */
export function hiddenTexts({ request, chain }: Decision): HiddenText[] {
  const { parameters, preview, note, requester } = request;
  const names = [
    ...chain.map(({ principal }) => principal),
    requester.root_principal,
    requester.subject,
  ];
  const clients = chain.flatMap(({ client_name }) => client_name ?? []);
  const purposes = chain.flatMap(({ purpose }) => purpose ?? []);
  const found = [
    ...placed('parameters', '', hiddenFields(parameters, '', true)),
    ...placed('preview', 'preview: ', hiddenFields(preview ?? {}, '', true)),
    ...placed('words', '', hiddenFields(note ?? '', "the agent's words")),
    ...placed(
      'hands',
      '',
      names.flatMap((name) => hiddenFields(name, 'the name of a principal')),
    ),
    ...placed(
      'hands',
      '',
      clients.flatMap((name) => hiddenFields(name, 'the name of a client')),
    ),
    ...placed(
      'hands',
      'purpose: ',
      purposes.flatMap((each) => hiddenFields(each)),
    ),
  ];
  const texts = new Set<string>();
  return found.filter(({ where, text }) => {
    const isKnown = texts.has(text);
    texts.add(text);
    return where === 'parameters' || !isKnown;
  });
}

function placed(
  where: HiddenText['where'],
  prefix: string,
  fields: readonly HiddenField[],
): HiddenText[] {
  return fields.map((field) => ({ ...field, where, path: `${prefix}${field.path}` }));
}

/**
 * The inputs whose `semantic_type` is `money` are in the currency of the declared cost. Where the parameters name another currency, nothing is known about them.
 */
export function moneyInputs(capability: Capability | null, ...calls: JsonObject[]): MoneyInputs {
  const currency = capability?.cost?.financial?.currency;
  const declared = (capability?.inputs ?? []).filter((each) => each.semantic_type === 'money');
  const names = declared.map(({ name }) => name);
  if (names.length === 0 || currency === undefined) return new Map();
  const named = calls.flatMap((parameters) => Object.values(parameters)).filter(isCurrency);
  return new Map(
    named.some((each) => each !== currency) ? [] : names.map((name) => [name, currency]),
  );
}

/** "you and carol". */
export function namesWords(names: readonly string[], me: string): string {
  return names.map((name) => (name === me ? 'you' : personOf(name))).join(' and ');
}

/** In place of changes, where no earlier approval is known. */
export function noSimilarWords(of: Decision): string {
  const { items, today, is_complete } = of.history;
  const hasAsked = items.length > 0 || Object.values(today).some((count) => count > 0);
  if (!hasAsked && is_complete) return 'first of its kind from this agent';
  return 'not compared: none of its kind from this agent was approved before';
}

/** Whether the budgets above the call are known. Without the token of the request they are not. */
export function hasKnownBudgets({ chain }: Decision): boolean {
  return chain.length > 0 && chain.every(({ state }) => state !== 'unknown');
}

const UNITS = [
  [86_400, 'days'],
  [3_600, 'h'],
  [60, 'min'],
] as const;

/** "15 min", "2 days 23 h": exactly, because these terms are what an approver signs. */
export function lifetimeWords(seconds: number): string {
  let left = seconds;
  const words = UNITS.flatMap(([unit, name]) => {
    const count = Math.floor(left / unit);
    left -= count * unit;
    return count === 0 ? [] : [`${count} ${count === 1 && name === 'days' ? 'day' : name}`];
  });
  const rest = Number(left.toFixed(3));
  return [...words, ...(rest > 0 || words.length === 0 ? [`${rest} s`] : [])].join(' ');
}

/** When the grant of a decided request ends, in milliseconds; undefined where there is none. */
export function grantEnd({ decided_at, status, terms }: Decision['request']): number | undefined {
  if (status !== 'approved' || decided_at === null || !terms) return undefined;
  return Date.parse(decided_at) + terms.expires_in_seconds * 1_000;
}
