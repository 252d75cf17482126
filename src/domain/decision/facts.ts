/**
 * The list of parts of a decision: everything that an approver is shown, in the order of the page.
 *
 * The page formats these facts and `writ approvals show` prints them, so both show the same words. Each part is made
 * alone: one that cannot be made does not hide the others.
 *
 * @module
 */

import type { GrantTerms } from '../../protocol/approval.ts';
import type { Decision } from '../../protocol/decision.ts';
import { changesPart } from './changes.ts';
import { digestsPart, parametersPart, previewPart, wordsPart } from './evidence.ts';
import { budgetsPart, handsPart, historyPart } from './people.ts';
import type { PartFacts } from './pieces.ts';
import { summaryPart } from './summary.ts';
import { termsPart } from './terms.ts';

/** What is shown, the terms that are chosen, and what computes the digests ("in this browser"). */
export interface Shown {
  readonly of: Decision;
  readonly terms: GrantTerms;
  readonly where: string;
}

/** The parts of a decision, in the order of the page. */
export const PARTS = [
  'summary',
  'preview',
  'parameters',
  'changes',
  'words',
  'history',
  'budgets',
  'terms',
  'hands',
  'digests',
] as const;
export type PartName = (typeof PARTS)[number];

const MADE: Readonly<Record<PartName, (shown: Shown) => PartFacts>> = {
  summary: ({ of }) => summaryPart(of),
  preview: ({ of }) => previewPart(of),
  parameters: ({ of }) => parametersPart(of),
  changes: ({ of }) => changesPart(of),
  words: ({ of }) => wordsPart(of),
  history: ({ of }) => historyPart(of),
  budgets: ({ of }) => budgetsPart(of),
  terms: ({ of, terms }) => termsPart(of, terms),
  hands: ({ of }) => handsPart(of),
  digests: ({ of, where }) => digestsPart(of, where),
};

/** Throws where the answer lacks what the part needs. */
export function partFacts(name: PartName, shown: Shown): PartFacts {
  return MADE[name](shown);
}
