/**
 * Prints a decision: the facts of the page, in its order and with its words.
 *
 * @module
 */

import { digestFaults, faultsOf } from '../../domain/decision/checks.ts';
import { hiddenNotice } from '../../domain/decision/evidence.ts';
import { PARTS, type PartName, partFacts, type Shown } from '../../domain/decision/facts.ts';
import {
  budgetFacts,
  budgetWords,
  callMoney,
  distinctBudgets,
} from '../../domain/decision/people.ts';
import type { Fact, PartFacts, Words } from '../../domain/decision/pieces.ts';
import { standingWords } from '../../domain/decision/standing.ts';
import { wordsText } from '../../domain/decision/text.ts';
import { headingWords } from '../../domain/decision/words.ts';
import { printable } from '../../domain/wire/printable.ts';
import type { GrantTerms } from '../../protocol/approval.ts';
import type { Decision } from '../../protocol/decision.ts';
import type { Io } from '../shell/command.ts';
import { printFolded, styled } from '../shell/output.ts';

/** In characters: a longer name stands on a line of its own. */
const LABEL_MAX = 24;

/** In the place of "in this browser". */
const WHERE = 'by this command';

/**
 * Prints everything that the page shows. Returns why the request must not be approved as it stands, in sentences,
 * after it printed them on standard error.
 */
export function printDecision(io: Io, of: Decision, terms: GrantTerms): string[] {
  const now = Date.parse(of.now);
  const faults = shownFaults(of);
  const shown = { of, terms, where: WHERE };
  printFolded(io, '', lineOf(headingWords(of), now), 'bold');
  const hidden = hiddenNotice(of);
  if (hidden.length > 0) printFolded(io, '', lineOf(hidden, now), 'yellow');
  for (const name of PARTS) {
    const broken = printPart(io, name, shown, now);
    if (broken !== undefined) faults.push(broken);
  }
  const standing = standingWords(of, now);
  if (standing.length > 0) {
    io.out('\n');
    printFolded(io, '', lineOf(standing, now));
  }
  // An address is not folded, so that it can be followed; the part after the service is its own.
  if (of.decision_url !== null) io.out(`\nPage  ${printable(of.decision_url)}\n`);
  for (const fault of faults) io.err(`Do not rely on this request: ${printable(fault)}\n`);
  return faults;
}

/** The page shows other faults than those of digests only while the request can be decided. */
function shownFaults(of: Decision): string[] {
  const isOpen = of.request.status === 'pending' && of.viewer.may_decide;
  return isOpen ? faultsOf(of) : digestFaults(of.request);
}

/** Returns why the part could not be printed. */
function printPart(io: Io, name: PartName, shown: Shown, now: number): string | undefined {
  try {
    const part = partFacts(name, shown);
    io.out('\n');
    // The summary has no heading on the page either.
    if (name !== 'summary') printHeading(io, part, now);
    printLines(io, '  ', part.lead ?? [], now);
    printFactList(io, name === 'budgets' ? withNumbers(part, shown.of) : part.facts, now);
    printLines(io, '  ', part.after ?? [], now);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return `The part "${name}" could not be shown: ${why}`;
  }
}

function printHeading(io: Io, { title, aside }: PartFacts, now: number): void {
  const heading = lineOf(title, now);
  if (aside === undefined) printFolded(io, '', heading, 'bold');
  else printFolded(io, `${styled(io, 'bold', heading)}  `, lineOf(aside, now));
}

/** The page draws the numbers of a budget. */
function withNumbers({ facts }: PartFacts, of: Decision): Fact[] {
  const budgets = distinctBudgets(of);
  return facts.map(({ label, words }, at) => {
    const budget = budgets[at];
    const numbers = budget ? budgetWords(budgetFacts(budget, callMoney(of))) : [];
    return { label, words: [...numbers, ...words] };
  });
}

function printFactList(io: Io, facts: readonly Fact[], now: number): void {
  const rows = facts.map(({ label, words }) => ({
    label: linesOf(label, now),
    lines: linesOf(words, now),
  }));
  const short = rows.map(({ label }) => (isShort(label) ? [...(label[0] ?? '')].length : 0));
  const width = Math.max(0, ...short);
  for (const { label, lines } of rows) {
    const [first = '', ...rest] = isShort(label) ? lines : [];
    if (!isShort(label)) {
      for (const line of label) printFolded(io, '  ', line);
      for (const line of lines) printFolded(io, '    ', line);
      continue;
    }
    const name = label[0] ?? '';
    const gap = ' '.repeat(width - [...name].length);
    printFolded(io, `  ${styled(io, 'bold', name)}${gap}  `, first);
    for (const line of rest) printFolded(io, `  ${' '.repeat(width)}  `, line);
  }
}

function isShort(label: readonly string[]): boolean {
  return label.length <= 1 && [...(label[0] ?? '')].length <= LABEL_MAX;
}

function printLines(io: Io, indent: string, words: Words, now: number): void {
  for (const line of linesOf(words, now)) printFolded(io, indent, line);
}

/** Text of others is marked by `wordsText`; what a terminal could still act on is written out. */
function linesOf(words: Words, now: number): string[] {
  const text = wordsText(words, now);
  return text === '' ? [] : text.split('\n').map(printable);
}

function lineOf(words: Words, now: number): string {
  return linesOf(words, now).join(' ');
}
