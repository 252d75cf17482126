/**
 * Authorization details (RFC 9396) of the type `writ_delegation`: what a client suggests for its delegation.
 *
 * Suggestions are shown to the person and never applied by themselves. A member that is not known is
 * refused, as the RFC asks: a client that writes a limit must not believe in one that is ignored.
 *
 * @module
 */

import { type Budget, CapabilityName } from '../../protocol/primitives.ts';
import { amountFault } from '../values/money.ts';
import { isObject, isWellFormed, readJson } from '../wire/json.ts';

export const DETAIL_TYPE = 'writ_delegation';

export interface Suggestions {
  readonly capabilities: readonly string[];
  readonly budget?: Budget | undefined;
  readonly purpose?: string | undefined;
  readonly ttl_hours?: number | undefined;
  readonly max_delegation_depth?: number | undefined;
}

export const NO_SUGGESTIONS: Suggestions = { capabilities: [] };

/** Characters of a purpose in words: what a person types into one line. */
export const PURPOSE_WORDS_MAX = 200;

/** The suggestions of a request; none when the parameter is absent. A fault says which member it is about. */
export function readDetails(
  text: string | undefined,
): { readonly suggestions?: Suggestions } | { readonly fault: string } {
  if (text === undefined) return {};
  const reading = readJson(text, DETAILS_LIMITS);
  if ('fault' in reading) return { fault: `Cannot read authorization_details: ${reading.fault}` };
  const list: unknown = reading.value;
  if (!Array.isArray(list) || list.length !== 1 || !isObject(list[0])) {
    return { fault: 'Cannot read authorization_details: expected a list of one object' };
  }
  const { type, ...members } = list[0];
  if (type !== DETAIL_TYPE) {
    return { fault: `Cannot use authorization_details: the only type here is "${DETAIL_TYPE}"` };
  }
  for (const [name, value] of Object.entries(members)) {
    const isSound = Object.hasOwn(MEMBERS, name) ? MEMBERS[name as Member](value) : false;
    if (!isSound) return { fault: `Cannot use authorization_details: ${expected(name)}` };
  }
  return { suggestions: { ...NO_SUGGESTIONS, ...(members as Partial<Suggestions>) } };
}

/** Whether a text can be stored and shown on one line. */
export function isOneLine(text: unknown, most: number): text is string {
  if (typeof text !== 'string' || text.length > most * 2) return false;
  return [...text].length <= most && isWellFormed(text) && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
}

const DETAILS_LIMITS = { bytes: 8_192, depth: 6, keys: 64 };

/** Names in one request. */
const CAPABILITIES_ASKED_MAX = 200;

/** Hours: ten years. The service's own limit is far below. */
const TTL_HOURS_ASKED_MAX = 87_600;

const DEPTH_ASKED_MAX = 32;

type Member = keyof Suggestions;

const MEMBERS: Readonly<Record<Member, (value: unknown) => boolean>> = {
  capabilities: (value) =>
    Array.isArray(value) &&
    value.length <= CAPABILITIES_ASKED_MAX &&
    value.every((name) => CapabilityName.safeParse(name).success),
  budget: (value) => {
    if (!isObject(value) || Object.keys(value).length !== 2) return false;
    return amountFault(value.max_amount, value.currency) === undefined;
  },
  purpose: (value) => isOneLine(value, PURPOSE_WORDS_MAX),
  ttl_hours: (value) => typeof value === 'number' && value > 0 && value <= TTL_HOURS_ASKED_MAX,
  max_delegation_depth: (value) =>
    typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= DEPTH_ASKED_MAX,
};

function expected(name: string): string {
  if (Object.hasOwn(MEMBERS, name)) return `"${name}" has a value that it cannot have`;
  return `expected only ${Object.keys(MEMBERS).join(', ')}`;
}
