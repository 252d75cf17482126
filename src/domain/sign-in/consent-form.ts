/**
 * The consent form: reads what a person chose, and makes the delegation from it.
 *
 * The result has the scopes of the chosen capabilities and a list that admits only these, one budget for
 * everything below, an end, and how far it may be passed on. A fault is a sentence that says what to do.
 * Options are made anew for each form, so a form carries no authority.
 *
 * Invariant: the result never exceeds what the options and the service's limits allow.
 *
 * @module
 */

import { type Budget, type JsonObject, SCOPES_PER_TOKEN_MAX } from '../../protocol/primitives.ts';
import { Purpose } from '../../protocol/token.ts';
import { parseMoment } from '../values/moment.ts';
import { formatMinor, minorMax, toMinor } from '../values/money.ts';
import { type ConsentOption, costsMoney, currenciesOf } from './consent.ts';
import { dayOf, spanOf } from './consent-words.ts';
import { isOneLine, PURPOSE_WORDS_MAX } from './details.ts';

/** The fields as a browser sends them. */
export interface ConsentForm {
  /** Names of capabilities. */
  readonly chosen: readonly string[];
  readonly limit: string;
  readonly currency: string;
  /** One of `untilChoices`: an instant. */
  readonly until: string;
  /** What it is for, in words. */
  readonly for: string;
  /** One of `passOnChoices`: how many levels below the client. */
  readonly pass: string;
}

export interface ConsentLimits {
  readonly now: Date;
  readonly ttlHoursMax: number;
  /** The greatest delegation depth of the service. */
  readonly depthMax: number;
}

/** What the root row of a consent gets. */
export interface Consented {
  readonly scope: readonly string[];
  readonly capability?: string | undefined;
  readonly purpose: JsonObject;
  readonly budget: Budget;
  readonly ttl_hours: number;
  readonly max_delegation_depth: number;
}

export type ConsentReading = { readonly consent: Consented } | { readonly fault: string };

/** An option of a list on the page. */
export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly isSelected: boolean;
}

export function consentRequest(
  form: ConsentForm,
  options: readonly ConsentOption[],
  limits: ConsentLimits,
): ConsentReading {
  const chosen = options.filter(({ name }) => form.chosen.includes(name));
  const purpose = purposeOf(form, chosen);
  const budget = budgetOf(form, chosen, options);
  const ends = parseMoment(form.until);
  const passedOn = PASSED_ON.indexOf(form.pass);
  const fault =
    choiceFault(form, chosen) ??
    purposeFault(form, purpose) ??
    (typeof budget === 'string' ? budget : undefined) ??
    endFault(ends, limits) ??
    passFault(passedOn, limits);
  if (fault !== undefined) return { fault };
  const [only, ...others] = chosen;
  return {
    consent: {
      scope: [...new Set(chosen.flatMap(({ scope }) => scope))].sort(),
      capability: others.length === 0 ? only?.name : undefined,
      purpose,
      budget: budget as Budget,
      ttl_hours: ((ends as number) - limits.now.getTime()) / HOUR,
      max_delegation_depth: ROOT_DEPTH + passedOn,
    },
  };
}

/** Ends to choose from. `value` is the instant that the label names. `until` selects one again. */
export function untilChoices({ now, ttlHoursMax }: ConsentLimits, until?: string): Choice[] {
  const hours = LIFETIMES_HOURS.filter((each) => each <= ttlHoursMax);
  if (hours.length === 0) hours.push(ttlHoursMax);
  const selected = hours.includes(LIFETIME_HOURS_DEFAULT) ? LIFETIME_HOURS_DEFAULT : hours[0];
  const kept = until === undefined ? undefined : parseMoment(until);
  const isKept = kept !== undefined && endFault(kept, { now, ttlHoursMax }) === undefined;
  const choices = hours.map((each) => {
    const end = now.getTime() + each * HOUR;
    return choiceOf(end, now, !isKept && each === selected);
  });
  return isKept ? [choiceOf(kept, now, true), ...choices] : choices;
}

/** How far it may be passed on, as far as the service admits. */
export function passOnChoices({ depthMax }: Pick<ConsentLimits, 'depthMax'>, pass = '0'): Choice[] {
  return PASSED_ON.filter((_, levels) => levels === 0 || ROOT_DEPTH + levels <= depthMax).map(
    (value, levels) => ({
      value,
      label: PASS_ON_WORDS[levels] as string,
      isSelected: value === pass,
    }),
  );
}

const HOUR = 3_600_000;

const LIFETIMES_HOURS: readonly number[] = [1, 8, 24, 7 * 24, 30 * 24];
const LIFETIME_HOURS_DEFAULT = 8;

/** Access tokens are children of the root row, so the client itself is at depth 1. */
const ROOT_DEPTH = 1;

const PASSED_ON: readonly string[] = ['0', '1', '2'];
const PASS_ON_WORDS = ['No', 'Yes, to its sub-agents', 'Yes, two levels down'];

/** The currency of a budget of 0 where nothing of the service has a price: it refuses prices of later versions. */
const CURRENCY_WITHOUT_PRICES = 'USD';

/** Digits, and decimals after a point: "1,000" means a thousand to some and one to others. */
const LIMIT = /^[0-9]{1,15}(?:\.[0-9]{1,4})?$/;

function choiceOf(end: number, now: Date, isSelected: boolean): Choice {
  // Whole seconds, as every token has them.
  const moment = new Date(Math.floor(end / 1_000) * 1_000);
  const time = moment.toISOString().slice(11, 16);
  const label = `${dayOf(moment)}, ${time} UTC (${spanOf(end - now.getTime())})`;
  return { value: moment.toISOString(), label, isSelected };
}

function choiceFault(
  { chosen: names }: ConsentForm,
  chosen: readonly ConsentOption[],
): string | undefined {
  if (names.length === 0) return 'Choose at least one thing that it may do, or refuse.';
  if (chosen.length !== new Set(names).size) {
    return 'The service changed while you were choosing: look at the list again.';
  }
  const blocked = chosen.find((each) => each.blocked !== undefined);
  if (blocked) return `Leave out "${blocked.title}". ${blocked.blocked}.`;
  const alone = chosen.find((each) => each.alone !== undefined);
  if (alone && chosen.length > 1) {
    return `Choose "${alone.title}" and nothing else, or leave it out: it needs a consent of its own.`;
  }
  const scopes = new Set(chosen.flatMap(({ scope }) => scope));
  return scopes.size > SCOPES_PER_TOKEN_MAX ? TOO_MANY : undefined;
}

const TOO_MANY = 'Choose fewer: so many do not fit into one consent.';

/**
 * The list is there even where the scopes admit nothing else today: a later version of the service may
 * add a capability of the same scope, which the person has never seen.
 */
function purposeOf(form: ConsentForm, chosen: readonly ConsentOption[]): JsonObject {
  const words = form.for.trim();
  return {
    ...(words !== '' && { for: words }),
    ...(chosen.length > 1 && { only_capabilities: chosen.map(({ name }) => name).sort() }),
  };
}

function purposeFault(form: ConsentForm, purpose: JsonObject): string | undefined {
  if (!isOneLine(form.for.trim(), PURPOSE_WORDS_MAX)) {
    return `Say what it is for in one line of at most ${PURPOSE_WORDS_MAX} characters.`;
  }
  return Purpose.safeParse(purpose).success ? undefined : TOO_MANY;
}

/** One budget over everything below. 0 where nothing chosen costs money, so that it can never spend. */
function budgetOf(
  form: ConsentForm,
  chosen: readonly ConsentOption[],
  options: readonly ConsentOption[],
): Budget | string {
  const [currency, other] = currenciesOf(chosen);
  if (currency !== undefined && other !== undefined) {
    return `Choose what costs ${currency} or what costs ${other}: a consent has one currency.`;
  }
  const limit = form.limit.trim();
  if (limit !== '' && !LIMIT.test(limit)) {
    return 'Write the limit in digits, with a point before the decimals, such as 300 or 49.50.';
  }
  const amount = limit === '' ? 0 : Number(limit);
  if (!chosen.some(costsMoney)) {
    if (amount > 0) return 'Set the limit to 0, or choose something that costs money.';
    const none = currency ?? currenciesOf(options)[0] ?? CURRENCY_WITHOUT_PRICES;
    return { currency: none, max_amount: 0 };
  }
  if (form.currency !== currency) return `Set the limit in ${currency}: what you chose costs that.`;
  if (amount === 0) return 'Set a limit above 0: what you chose costs money.';
  if (toMinor(amount, currency) === undefined) {
    const [most, step] = [minorMax(currency), 1n].map((minor) => formatMinor(minor, currency));
    return `Write a limit of at most ${most} ${currency}, in steps of ${step}.`;
  }
  return { currency, max_amount: amount };
}

function endFault(
  ends: number | undefined,
  { now, ttlHoursMax }: Pick<ConsentLimits, 'now' | 'ttlHoursMax'>,
): string | undefined {
  if (ends === undefined) return 'Choose until when it may act.';
  const left = ends - now.getTime();
  if (left < 1_000) return 'Choose a later end: this one is over.';
  return left > ttlHoursMax * HOUR
    ? 'Choose an earlier end: the service does not let anything act so long.'
    : undefined;
}

function passFault(levels: number, { depthMax }: ConsentLimits): string | undefined {
  if (depthMax < ROOT_DEPTH) {
    return 'Refuse: this service lets nothing be passed on, so no agent can act for you.';
  }
  if (levels >= 0 && ROOT_DEPTH + levels <= depthMax) return undefined;
  return 'Choose how far it may pass this on, from the list.';
}
