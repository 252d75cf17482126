/**
 * Asks the schemas and the price function of a capability. All of them are author code.
 *
 * What a schema returns replaces what was given to it, so a call runs with exactly the parameters that
 * were validated, digested and shown.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import type { BindingFacts } from '../../domain/invocation/bindings.ts';
import { type Charge, chargeFrom, priceFault } from '../../domain/invocation/budget.ts';
import {
  type ForeignReading,
  foreignMember,
  foreignText,
  isOfContent,
  readForeignObject,
} from '../../domain/wire/foreign.ts';
import { BODY_LIMITS, copyOf, type JsonLimits } from '../../domain/wire/json.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { type Eventual, isPromised, run, type Steps, wait } from '../../steps.ts';
import type { SchemaReader } from '../author/schema.ts';
import { priceContext } from '../call/price-context.ts';
import type { TokenCaller } from '../caller/caller.ts';
import { askWithin, callForeign, type Heard, noAnswer, returnedBy } from '../foreign/foreign.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { LATE } from '../pace/deadline.ts';

/** Issues that one failure lists, and the length of each. */
const ISSUES_SHOWN_MAX = 8;
const ISSUE_LENGTH_MAX = 200;

/** A value as the schema returned it, or what is wrong with it: one text for each issue. */
export type SchemaReading = { readonly value: JsonObject } | { readonly issues: readonly string[] };

/**
 * The parameters as the schema of the inputs returns them. Refuses parameters that do not match. Waits no longer
 * than the deadline of the capability, or `waitMs` if that is less.
 */
export function validatedParameters(
  { definition, platform }: ServiceParts,
  { name, inputs }: Capability,
  parameters: JsonObject,
  waitMs = Number.POSITIVE_INFINITY,
): Eventual<JsonObject> {
  const { readInputs, deadlineMs: ownMs = 0 } = definition.code.get(name) ?? {};
  if (!readInputs) return parameters;
  const deadlineMs = Math.min(ownMs, waitMs);
  const asked = askWithin(platform, deadlineMs, () => readInputs(copyOf(parameters)));
  const accept = (heard: Heard | typeof LATE) => {
    if (heard === LATE) throw noAnswer(`Cannot validate the parameters of "${name}"`, deadlineMs);
    return acceptedParameters(name, inputs, heard);
  };
  return isPromised(asked) ? asked.then(accept) : accept(asked);
}

function acceptedParameters(name: string, inputs: Capability['inputs'], heard: Heard): JsonObject {
  const what = `what the schema of the inputs of "${name}" returned`;
  const reading = readingOf(heard, what, BODY_LIMITS);
  if (!('value' in reading)) {
    // The schema makes what it returns of the parameters, so what is too large is for the caller to correct.
    const isTheirs = 'issues' in reading || isOfContent(reading);
    if (!isTheirs) throw new Error(`Cannot use ${what}: ${reading.fault}`);
    const issues =
      'issues' in reading
        ? reading.issues
        : [`what its schema makes of the parameters cannot be used: ${reading.fault}`];
    const detail = `Cannot invoke "${name}": ${issues.join('; ')}`;
    throw new Refusal(failure('invalid_parameters', detail));
  }
  const stray = Object.keys(reading.value).find((each) =>
    inputs.every((input) => input.name !== each),
  );
  if (stray === undefined) return reading.value;
  throw new Error(`Cannot use ${what}: "${stray}" is not an input`);
}

/** The result of a handler as the schema of the output returns it. */
export function validatedResult(
  read: SchemaReader,
  returned: unknown,
  limits: JsonLimits,
): Eventual<SchemaReading | { readonly fault: string }> {
  const given = readForeignObject(returned, limits);
  if ('fault' in given) return given;
  const heard = run(callForeign(() => read(given.value)));
  return isPromised(heard)
    ? heard.then((late) => resultReading(late, limits))
    : resultReading(heard, limits);
}

function resultReading(
  heard: Heard,
  limits: JsonLimits,
): SchemaReading | { readonly fault: string } {
  const what = 'what the schema of the output returned';
  try {
    const reading = readingOf(heard, what, limits);
    return 'fault' in reading ? { fault: `Cannot use ${what}: ${reading.fault}` } : reading;
  } catch (error) {
    return { fault: (error as Error).message };
  }
}

/** Throws where the schema threw. */
function readingOf(
  heard: Heard,
  what: string,
  limits: JsonLimits,
): SchemaReading | ForeignReading<JsonObject> {
  const result = returnedBy(heard, what);
  const issues = foreignMember(result, 'issues');
  if (issues) return { issues: issuesOf(issues) };
  return readForeignObject(foreignMember(result, 'value'), limits);
}

function issuesOf(issues: unknown): string[] {
  const count = Math.min(Number(foreignMember(issues, 'length')) || 0, ISSUES_SHOWN_MAX);
  const shown: string[] = [];
  for (let i = 0; i < count; i++) shown.push(issueText(foreignMember(issues, String(i))));
  return shown.length > 0 ? shown : ['the schema does not accept it'];
}

/** Such as `"order.amount": expected a number`. */
function issueText(issue: unknown): string {
  const message = foreignText(foreignMember(issue, 'message'), ISSUE_LENGTH_MAX);
  const path = foreignMember(issue, 'path');
  const keys: string[] = [];
  const depth = Math.min(Number(foreignMember(path, 'length')) || 0, BODY_LIMITS.depth);
  for (let i = 0; i < depth; i++) {
    const segment = foreignMember(path, String(i));
    const key = foreignMember(segment, 'key') ?? segment;
    if (typeof key === 'string' || typeof key === 'number') {
      keys.push(foreignText(String(key), ISSUE_LENGTH_MAX));
    }
  }
  return keys.length > 0 ? `"${keys.join('.')}": ${message}` : message;
}

/**
 * What the author asks for exactly this call. An amount that cannot be charged follows from the parameters, so the caller
 * can correct it; another currency, or no amount, is a defect of the price function.
 */
export function* quotedPrice(
  parts: ServiceParts,
  caller: TokenCaller,
  capability: Capability,
  { parameters, bound }: { parameters: JsonObject; bound: ReadonlyMap<string, BindingFacts> },
): Steps<Charge> {
  const { name, cost } = capability;
  const { price, deadlineMs = 0 } = parts.definition.code.get(name) ?? {};
  if (!price || !cost?.financial) throw new Error(`Cannot price "${name}": it has no price`);
  const context = priceContext(caller, bound);
  const { financial } = cost;
  const read = new Set<string>();
  const code = () => price(watched(copyOf(parameters), read), context);
  const heard = yield* wait(askWithin(parts.platform, deadlineMs, code));
  if (heard === LATE) throw noAnswer(`Cannot price "${name}"`, deadlineMs);
  const returned = returnedBy(heard, `the price of "${name}"`);
  const [amount, currency] = ['amount', 'currency'].map((key) => foreignMember(returned, key));
  if (typeof amount !== 'number' || currency !== financial.currency) {
    throw new Error(
      `Cannot use the price of "${name}": expected an amount in ${financial.currency}`,
    );
  }
  const fault = priceFault(financial, amount);
  // Minus zero is zero.
  if (fault === undefined) return chargeFrom({ currency: financial.currency, amount: amount + 0 });
  const [input, ...others] = read;
  const which = input !== undefined && others.length === 0 ? `this "${input}"` : 'these parameters';
  const detail = `Cannot price "${name}" with ${which}: ${fault}`;
  throw new Refusal(failure('invalid_parameters', detail));
}

/** The same parameters, noting the name of each that is read. The price function may also change them. */
function watched(parameters: JsonObject, read: Set<string>): JsonObject {
  for (const name of Object.keys(parameters)) {
    let value = parameters[name];
    const get = () => {
      read.add(name);
      return value;
    };
    const set = (next: unknown) => {
      value = next;
    };
    Object.defineProperty(parameters, name, { get, set, enumerable: true, configurable: true });
  }
  return parameters;
}
