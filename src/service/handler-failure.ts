/**
 * Failures that a handler throws: what of them a caller is told.
 *
 * The handler chooses the type, the words and the advice. What the type means (retry flag, action, recovery
 * class) comes from the protocol's table, or from the capability's declaration for a type of its own. A
 * type that neither has is a defect. The thrown value is foreign, and so is everything in it.
 *
 * @module
 */

import {
  type FailureAdvice,
  failure,
  GUIDANCE,
  isOfProtocol,
  ownFailure,
  RECOVERY,
} from '../domain/failure.ts';
import { foreignMember, foreignText, readForeignObject } from '../domain/wire/foreign.ts';
import type { JsonLimits } from '../domain/wire/json.ts';
import { redactedText } from '../domain/wire/redaction.ts';
import type { Failure, FailureDeclaration, FailureType } from '../protocol/failure.ts';
import { Principal } from '../protocol/primitives.ts';
import { HandlerFailure, NoEffect } from './author/define.ts';
import { report } from './core/foreign.ts';
import type { Parts } from './core/parts.ts';

/** UTF-16 units of a failure's detail: it is told to a caller and kept with the answer. */
const DETAIL_LENGTH_MAX = 1_000;

/** UTF-16 units of a type that is shown in the log. */
const TYPE_LENGTH_MAX = 64;

/** Advice is a few short texts. */
const ADVICE_LIMITS: JsonLimits = { bytes: 16_384, depth: 4, keys: 32 };
const REQUIRES_MAX = 16;
const REQUIRED_LENGTH_MAX = 256;
const AVAILABILITY_LENGTH_MAX = 64;

/** The failure that a handler threw; nothing where what it threw is none, or one that it may not name. */
export function thrownFailure(
  { log }: Pick<Parts, 'log'>,
  thrown: unknown,
  declared: readonly FailureDeclaration[] = [],
): Failure | undefined {
  if (!NoEffect.is(thrown) && !HandlerFailure.is(thrown)) return undefined;
  const said = foreignMember(thrown, 'type');
  if (typeof said !== 'string') return undefined;
  const own = declared.find(({ type }) => type === said);
  if (!own && (!isOfProtocol(said) || isWithheld(said, NoEffect.is(thrown)))) return undefined;

  const detail = foreignText(foreignMember(thrown, 'message'), DETAIL_LENGTH_MAX);
  const { advice, faults } = readAdvice(foreignMember(thrown, 'advice'));
  if (faults.length > 0) report(log, { faults }, 'a handler attached advice that cannot be told');
  return own ? ownFailure(own, detail, advice) : failure(said as FailureType, detail, advice);
}

/** The type that a failure of ours names without being allowed to, for the log: an author looks for it. */
export function undeclaredType(thrown: unknown): string | undefined {
  if (!NoEffect.is(thrown) && !HandlerFailure.is(thrown)) return undefined;
  return redactedText(foreignMember(thrown, 'type'), TYPE_LENGTH_MAX);
}

/**
 * What a handler may not say. "The outcome is unknown" is for a handler that did something. "Nothing ran" is
 * for one that did nothing, and so is the advice to call with another token: idempotency keys belong to a
 * chain of principals, so under a token of another chain the call would run again.
 */
function isWithheld(type: FailureType, isNoEffect: boolean): boolean {
  if (OF_THE_SERVICE.has(type)) return true;
  if (isNoEffect) return type === 'outcome_unknown';
  const isRedelegation = RECOVERY[GUIDANCE[type].action] === 'redelegation_then_retry';
  return type === 'service_unavailable' || isRedelegation;
}

/** What only the service can mean: who asks, what was approved, which call a key belongs to. */
const OF_THE_SERVICE: ReadonlySet<FailureType> = new Set([
  'authentication_required',
  'invalid_token',
  'token_expired',
  'approval_required',
  'approval_grant_invalid',
  'approval_request_decided',
  'approval_request_expired',
  'frozen',
  'idempotency_in_progress',
  'idempotency_mismatch',
]);

/** Advice decides nothing: what cannot be read of it is left out, and the failure stays what it is. */
function readAdvice(value: unknown): { advice: FailureAdvice; faults: string[] } {
  const reading = readForeignObject(value ?? {}, ADVICE_LIMITS);
  if ('fault' in reading) return { advice: {}, faults: [`advice: ${reading.fault}`] };
  const { requires, grantable_by, estimated_availability } = reading.value;
  const faults: string[] = [];
  const advice: FailureAdvice = {};
  if (isTextList(requires)) {
    const texts = requires.slice(0, REQUIRES_MAX);
    advice.requires = texts.map((text) => redactedText(text, REQUIRED_LENGTH_MAX));
  } else if (isSaid(requires)) faults.push('requires: expected a list of texts');
  const principal = Principal.safeParse(grantable_by);
  if (principal.success) advice.grantable_by = principal.data;
  else if (isSaid(grantable_by)) faults.push('grantable_by: expected a principal');
  if (typeof estimated_availability === 'string') {
    advice.estimated_availability = redactedText(estimated_availability, AVAILABILITY_LENGTH_MAX);
  } else if (isSaid(estimated_availability)) faults.push('estimated_availability: expected a text');
  return { advice, faults };
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null;
}
