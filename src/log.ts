/**
 * The service's own log: JSON lines on standard error.
 *
 * Facts, never payloads: no credential, token, key or parameter is passed to a log call, and fields with such
 * names are censored in addition. The message of an error comes from elsewhere: it is bounded, and what looks
 * like a credential in it is replaced.
 *
 * @module
 */

import { type Logger as PinoLogger, pino } from 'pino';
import { foreignMember, isForeignError } from './domain/wire/foreign.ts';
import { redactedText } from './domain/wire/redaction.ts';
import { type Platform, system } from './platform.ts';

export type Logger = Pick<
  PinoLogger,
  'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'child' | 'level'
>;

const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'token',
  'jwt',
  'key',
  'secret',
  'client_secret',
  'upstream',
  'password',
  'credential',
  'bearer',
  'parameters',
  'headers',
];

export function createLog(
  level: string,
  destination?: { write(line: string): void },
  { now }: Pick<Platform, 'now'> = system,
): Logger {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date(now()).toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: errorFacts },
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[secret]' },
  };
  return pino(options, destination ?? pino.destination({ fd: 2, sync: false }));
}

/** UTF-16 units of one message: enough to find the defect; a longer one quotes a payload. */
const MESSAGE_LENGTH_MAX = 1_000;

/** UTF-16 units of the stack. */
const STACK_LENGTH_MAX = 4_000;

/** Causes of one error in a line, and errors of one AggregateError. */
const CAUSES_MAX = 4;
const TOGETHER_MAX = 4;

/**
 * What an error is and where it came from. Its other members stay out: drivers put the row or the statement
 * there, and with it what a caller sent. Handlers throw anything, so nothing here throws.
 */
function errorFacts(error: unknown): object {
  return factsOf(error, CAUSES_MAX);
}

function factsOf(error: unknown, below: number): object {
  if (!isForeignError(error)) return { type: typeof error };
  const message = foreignMember(error, 'message');
  const code = foreignMember(error, 'code');
  return {
    type: redactedText(foreignMember(error, 'name'), NAME_LENGTH_MAX),
    message: redactedText(message, MESSAGE_LENGTH_MAX),
    ...(isCode(code) && { code: redactedText(String(code), NAME_LENGTH_MAX) }),
    stack: stackOf(error, message),
    ...(below > 0 && causesOf(error, below - 1)),
  };
}

function causesOf(error: Error, below: number): object {
  const cause = foreignMember(error, 'cause');
  const together = readTogether(foreignMember(error, 'errors'));
  return {
    ...(isForeignError(cause) && { cause: factsOf(cause, below) }),
    ...(together.length > 0 && { errors: together.map((each) => factsOf(each, 0)) }),
  };
}

/** The first errors of an AggregateError. */
function readTogether(errors: unknown): unknown[] {
  return Array.from({ length: TOGETHER_MAX }, (_, place) =>
    foreignMember(errors, String(place)),
  ).filter(isForeignError);
}

const NAME_LENGTH_MAX = 100;

function isCode(code: unknown): code is string | number {
  return typeof code === 'string' || typeof code === 'number';
}

/** The stack frames alone: the message has its own member. */
function stackOf(error: Error, message: unknown): string {
  const stack = foreignMember(error, 'stack');
  if (typeof stack !== 'string') return redactedText(stack, NAME_LENGTH_MAX);
  const after = typeof message === 'string' && message !== '' ? stack.indexOf(message) : -1;
  const rest = after < 0 ? stack : stack.slice(after + (message as string).length);
  const places = rest.indexOf('\n    at ');
  return redactedText(places < 0 ? '' : rest.slice(places + 1), STACK_LENGTH_MAX);
}
