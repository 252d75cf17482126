/**
 * What a verification says: each thing that was looked at, and how it came out.
 *
 * Never a bare yes. What could not be checked is as much an answer as what failed, and what no
 * offline check can tell is said too, so that nobody reads more into "verified" than was shown.
 *
 * @module
 */

/** `not_checked`: it belongs to what was asked, but what it takes was not at hand. */
export type Outcome = 'ok' | 'failed' | 'not_checked';

export interface Check {
  readonly what: string;
  readonly outcome: Outcome;
  readonly detail?: string | undefined;
}

/** `incomplete`: nothing failed, and something could not be checked. */
export type Verdict = 'verified' | 'failed' | 'incomplete';

export interface Report {
  readonly verdict: Verdict;
  readonly checks: readonly Check[];
  /** What cannot be told from what was given, however good it is. */
  readonly limits: readonly string[];
}

export function reportOf(checks: readonly Check[], limits: readonly string[] = []): Report {
  return { verdict: verdictOf(checks), checks, limits };
}

/** Nothing checked is nothing verified. */
export function verdictOf(checks: readonly Check[]): Verdict {
  if (checks.some(({ outcome }) => outcome === 'failed')) return 'failed';
  const isWhole = checks.length > 0 && checks.every(({ outcome }) => outcome === 'ok');
  return isWhole ? 'verified' : 'incomplete';
}

export function ok(what: string, detail?: string): Check {
  return { what, outcome: 'ok', detail };
}

export function failed(what: string, detail: string): Check {
  return { what, outcome: 'failed', detail };
}

export function notChecked(what: string, detail: string): Check {
  return { what, outcome: 'not_checked', detail };
}

/** Well when nothing was found. */
export function unlessFound(what: string, fault: string | undefined): Check {
  return fault === undefined ? ok(what) : failed(what, fault);
}

/** Sets a group of checks apart from others of the same names. */
export function about(subject: string, checks: readonly Check[]): Check[] {
  return checks.map((check) => ({ ...check, what: `${subject}: ${check.what}` }));
}
