/**
 * What a check of `writ doctor` says: one line, and what to do when it is not good.
 *
 * @module
 */

export type Level = 'ok' | 'warn' | 'fault';

export interface Finding {
  readonly level: Level;
  /** What was checked, in one or two words. */
  readonly what: string;
  /** The state that was found. Never a secret. */
  readonly found: string;
  /** What to do; absent where all is well. */
  readonly advice?: string;
}

export function okFinding(what: string, found: string): Finding {
  return { level: 'ok', what, found };
}

export function warn(what: string, found: string, advice: string): Finding {
  return { level: 'warn', what, found, advice };
}

export function faultFinding(what: string, found: string, advice: string): Finding {
  return { level: 'fault', what, found, advice };
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.replaceAll(/\s*\n\s*/g, '; ') : String(error);
}
