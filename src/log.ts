/**
 * What the service writes about itself: JSON lines on standard error.
 *
 * Facts, never payloads: no credential, token, key or parameter is passed to a log call, and the
 * names under which one could slip in are censored all the same.
 *
 * @module
 */

import { type Logger as PinoLogger, pino } from 'pino';

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
  'password',
  'credential',
  'bearer',
  'parameters',
  'headers',
];

export function createLog(level: string, destination?: { write(line: string): void }): Logger {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: errorFacts },
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: '[secret]' },
  };
  return pino(options, destination ?? pino.destination({ fd: 2, sync: false }));
}

/**
 * What an error is and where it came from. Its other members stay out: drivers put the row or the
 * statement there, and with it what a caller sent.
 */
function errorFacts(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack, cause } = error;
  const { code } = error as NodeJS.ErrnoException;
  return {
    type: name,
    message,
    ...(code !== undefined && { code }),
    stack,
    ...(cause instanceof Error && { cause: { type: cause.name, message: cause.message } }),
  };
}
