/**
 * The report of a verification: each check and its outcome.
 *
 * A report lists what verified, what failed and what could not be checked. It also names the limits: what
 * an offline check cannot show, so that a reader does not take "verified" for more than it is.
 *
 * @module
 */

/**
 * The outcome of one check. `not_checked`: the check was requested, but something it needs was missing.
 *
 * @example
 * import type { Outcome } from 'writ/verify';
 *
 * const WORDS: Record<Outcome, string> = { ok: 'ok', failed: 'FAILED', not_checked: 'not checked' };
 * console.log(Object.values(WORDS).join(', '));
 */
export type Outcome = 'ok' | 'failed' | 'not_checked';

/**
 * One check and its outcome.
 *
 * @example
 * import type { Check } from 'writ/verify';
 *
 * const check: Check = { what: 'time', outcome: 'failed', detail: 'it expired at 2026-12-01' };
 * console.log(`${check.what}: ${check.outcome} (${check.detail})`);
 */
export interface Check {
  readonly what: string;
  readonly outcome: Outcome;
  readonly detail?: string | undefined;
}

/**
 * The result of all checks. `incomplete`: nothing failed, and something could not be checked.
 *
 * @example
 * import type { Verdict } from 'writ/verify';
 *
 * const EXIT_CODES: Record<Verdict, number> = { verified: 0, failed: 1, incomplete: 2 };
 * console.log(EXIT_CODES.incomplete);
 */
export type Verdict = 'verified' | 'failed' | 'incomplete';

/**
 * What a verification found.
 *
 * @example
 * import type { Report } from 'writ/verify';
 *
 * function faultsIn({ checks }: Report): string[] {
 *   const faults = checks.filter(({ outcome }) => outcome !== 'ok');
 *   return faults.map(({ what, detail }) => `${what}: ${detail}`);
 * }
 * console.log(faultsIn({ verdict: 'verified', checks: [{ what: 'form', outcome: 'ok' }], limits: [] }));
 */
export interface Report {
  readonly verdict: Verdict;
  readonly checks: readonly Check[];
  /** What this kind of verification cannot show. */
  readonly limits: readonly string[];
}

export function reportOf(checks: readonly Check[], limits: readonly string[] = []): Report {
  return { verdict: verdictOf(checks), checks, limits };
}

/** A report without checks is not verified. */
export function verdictOf(checks: readonly Check[]): Verdict {
  if (checks.some(({ outcome }) => outcome === 'failed')) return 'failed';
  const isWhole = checks.length > 0 && checks.every(({ outcome }) => outcome === 'ok');
  return isWhole ? 'verified' : 'incomplete';
}

export function passedCheck(what: string, detail?: string): Check {
  return { what, outcome: 'ok', detail };
}

export function failed(what: string, detail: string): Check {
  return { what, outcome: 'failed', detail };
}

export function notChecked(what: string, detail: string): Check {
  return { what, outcome: 'not_checked', detail };
}

/** Ok when no fault was found. */
export function unlessFound(what: string, fault: string | undefined): Check {
  return fault === undefined ? passedCheck(what) : failed(what, fault);
}

/** Prefixes the names of a group of checks, to distinguish them from others. */
export function about(subject: string, checks: readonly Check[]): Check[] {
  return checks.map((check) => ({ ...check, what: `${subject}: ${check.what}` }));
}
