/**
 * Combines many checks of a kind into one: their number, and the first few that failed.
 *
 * @module
 */

import { type Check, failed, notChecked, passedCheck } from '../report.ts';

/** Enough to see the kind of damage. */
const EXAMPLES_MAX = 5;

export interface Tally {
  /** Adds one check of the kind `what`; its detail is kept only if the check is not ok. */
  add(what: string, check: Pick<Check, 'outcome' | 'detail'>): void;
  /** One check for each kind, in the order of their first appearance. */
  checks(): Check[];
}

export function createTally(): Tally {
  const kinds = new Map<string, Kind>();
  return {
    add(what, { outcome, detail = '' }) {
      const kind = kinds.get(what) ?? newKind();
      kinds.set(what, kind);
      kind.counts[outcome] += 1;
      const examples = kind.examples[outcome];
      if (examples.size < EXAMPLES_MAX) examples.add(detail);
    },
    checks: () => [...kinds].map(([what, kind]) => checkOf(what, kind)),
  };
}

interface Kind {
  readonly counts: Record<Check['outcome'], number>;
  /** Keeps different details only. */
  readonly examples: Record<Check['outcome'], Set<string>>;
}

function newKind(): Kind {
  return {
    counts: { ok: 0, failed: 0, not_checked: 0 },
    examples: { ok: new Set(), failed: new Set(), not_checked: new Set() },
  };
}

function checkOf(what: string, { counts, examples }: Kind): Check {
  const summary = (outcome: Check['outcome']) => {
    const shown = [...examples[outcome]].join('; ');
    return counts[outcome] > 1 ? `${counts[outcome]} times: ${shown}` : shown;
  };
  if (counts.failed > 0) return failed(what, summary('failed'));
  if (counts.not_checked > 0) return notChecked(what, summary('not_checked'));
  return passedCheck(what, String(counts.ok));
}
