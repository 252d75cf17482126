/**
 * The service's own log: JSON lines on standard error.
 *
 * Facts, never payloads: no credential, token, key or parameter is passed to a log call, and fields with such
 * names are censored in addition. The message of an error comes from elsewhere: it is bounded, and what looks
 * like a credential in it is replaced.
 *
 * An error that repeats, such as one for each call while the disk is full, is written whole a few times and then
 * counted.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { type LogFn, type Logger as PinoLogger, pino } from 'pino';
import { foreignMember, isForeignError } from './domain/wire/foreign.ts';
import { redactedFrames, redactedText } from './domain/wire/redaction.ts';
import { type Platform, system } from './platform.ts';

export type Logger = Pick<
  PinoLogger,
  'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'child' | 'level'
> & {
  /** Writes what was counted and not written yet. */
  readonly flush?: () => void;
};

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

/** The span that is active, where calls are traced: its lines name it. */
export const lineTrace = new AsyncLocalStorage<{ trace_id: string; span_id: string }>();

export function createLog(
  level: string,
  destination?: { write(line: string): void },
  platform: Pick<Platform, 'now' | 'after'> = system,
): Logger {
  const repeats = createRepeats(platform);
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date(platform.now()).toISOString()}"`,
    hooks: { logMethod: repeats.logMethod },
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: errorFacts },
    mixin: () => ({ ...lineTrace.getStore() }),
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[secret]' },
  };
  const log = pino(options, destination ?? pino.destination({ fd: 2, sync: false }));
  return Object.assign(log, { flush: repeats.flush });
}

/** Lines of one kind of error that are written whole before it is counted. */
const WHOLE_MAX = 5;

/** Between two counts of one kind. A kind that did not repeat for so long is written whole again. */
const COUNT_EVERY_MS = 10_000;

/** Kinds that are counted apart; further ones are counted together. */
const KINDS_MAX = 64;

/** The numbers of pino for `warn` and `error`. A fatal line is never left out. */
const COUNTED_LEVELS = new Set([40, 50]);

interface Kind {
  whole: number;
  /** Lines that were left out since the last count. */
  repeated: number;
  write(repeated: number): void;
}

/**
 * Counts lines with an error by their kind: the message of the line, and the type of the error, its code or that of its
 * cause, and its first frame. The text of an error is not compared: it may repeat what a caller sent.
 */
function createRepeats({ after }: Pick<Platform, 'after'>) {
  const kinds = new Map<string, Kind>();

  function flush(): void {
    for (const kind of kinds.values()) {
      if (kind.repeated > 0) kind.write(kind.repeated);
      kind.repeated = 0;
    }
  }
  function count(): void {
    for (const [name, kind] of kinds) if (kind.repeated === 0) kinds.delete(name);
    flush();
    if (kinds.size > 0) after(COUNT_EVERY_MS, count).unref();
  }
  function kindOf(own: string, write: (repeated: number, name: string) => void): Kind {
    const name = kinds.has(own) || kinds.size < KINDS_MAX ? own : OTHER_KINDS;
    const known = kinds.get(name);
    if (known) return known;
    const kind = { whole: 0, repeated: 0, write: (repeated: number) => write(repeated, name) };
    if (kinds.size === 0) after(COUNT_EVERY_MS, count).unref();
    kinds.set(name, kind);
    return kind;
  }
  function logMethod(this: PinoLogger, args: Parameters<LogFn>, write: LogFn, level: number): void {
    const [{ err }, message] = [Object(args[0]) as { err?: unknown }, String(args[1])];
    if (COUNTED_LEVELS.has(level) && isForeignError(err)) {
      const { frame, ...facts } = kindFacts(err);
      const kind = kindOf(JSON.stringify([level, message, facts, frame]), (repeated, name) => {
        if (name === OTHER_KINDS) write.call(this, { repeated }, name);
        else write.call(this, { repeated, ...facts }, message);
      });
      kind.whole += 1;
      if (kind.whole > WHOLE_MAX) {
        kind.repeated += 1;
        return;
      }
    }
    write.apply(this, args);
  }
  return { flush, logMethod };
}

/** The message of the count of all errors beyond `KINDS_MAX`. */
const OTHER_KINDS = 'errors of other kinds';

function kindFacts(error: Error): { type: string; code?: string; frame: string } {
  const code = foreignMember(error, 'code') ?? foreignMember(foreignMember(error, 'cause'), 'code');
  const [frame = ''] = framesOf(error, foreignMember(error, 'message'))?.split('\n', 1) ?? [];
  return {
    type: redactedText(foreignMember(error, 'name'), NAME_LENGTH_MAX),
    ...(isCode(code) && { code: redactedText(String(code), NAME_LENGTH_MAX) }),
    frame: frame.slice(0, FRAME_LENGTH_MAX),
  };
}

/** UTF-16 units of the first frame of a stack. It is compared and never written. */
const FRAME_LENGTH_MAX = 300;

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
  return Array.from({ length: TOGETHER_MAX }, (_, index) =>
    foreignMember(errors, String(index)),
  ).filter(isForeignError);
}

const NAME_LENGTH_MAX = 100;

function isCode(code: unknown): code is string | number {
  return typeof code === 'string' || typeof code === 'number';
}

function stackOf(error: Error, message: unknown): string {
  return redactedFrames(framesOf(error, message), STACK_LENGTH_MAX);
}

/** The stack frames alone: the message has its own member. */
function framesOf(error: Error, message: unknown): string | undefined {
  const stack = foreignMember(error, 'stack');
  if (typeof stack !== 'string') return undefined;
  const after = typeof message === 'string' && message !== '' ? stack.indexOf(message) : -1;
  const rest = after < 0 ? stack : stack.slice(after + (message as string).length);
  const start = rest.indexOf('\n    at ');
  return start < 0 ? '' : rest.slice(start + 1);
}
