/**
 * What `writ attack` prints: the service, a table of verdicts, and each broken rule in full.
 *
 * @module
 */

import { type Case, kindOf } from '../../attack/case.ts';
import type { Cleanup, Result } from '../../attack/run.ts';
import { count, type Verdict } from '../../attack/target/outcome.ts';
import type { World } from '../../attack/target/world.ts';
import type { Io } from '../shell/command.ts';
import { printFacts, printJson, printLine, printTable, type Style } from '../shell/output.ts';

export function printCases(io: Io, cases: readonly Case[], json: boolean): void {
  if (json) {
    for (const each of cases) printJson(io, viewOf(each));
    return;
  }
  const columns = [
    { heading: 'CASE', cell: ({ id }: Case) => id },
    { heading: 'EFFECTS', cell: ({ hasEffects }: Case) => (hasEffects ? 'yes' : 'no') },
    { heading: 'TRIES', cell: ({ tries }: Case) => tries },
  ];
  printTable(io, cases, columns, 'No cases.');
}

function viewOf(each: Case): object {
  const { id, tries, holds, basis, hasEffects } = each;
  return { case: id, class: kindOf(each), tries, holds, basis, effects: hasEffects === true };
}

/** In characters. The service chooses its names. */
const NAME_LENGTH_MAX = 256;

function idOf({ service, wire }: Pick<World, 'service' | 'wire'>): string {
  return wire.withoutSecrets(service.id).slice(0, NAME_LENGTH_MAX);
}

export function printStart(io: Io, { service, wire, self, other, reads }: World): void {
  const [read] = reads;
  const called = read
    ? `${wire.withoutSecrets(read.capability).slice(0, NAME_LENGTH_MAX)}, which only reads and costs nothing`
    : 'nothing: no capability that only reads and costs nothing could be called';
  printFacts(io, [
    ['service', `${idOf({ service, wire })} at ${wire.url.href.replace(/\/$/, '')}`],
    ['as', `${self.name} and ${other.name}`],
    ['calls', called],
  ]);
  io.out('\n');
}

interface Printed {
  readonly world: World;
  readonly results: readonly Result[];
  readonly cleanup: Cleanup;
  readonly seconds: number;
  /** Cases that did not run: the command was asked to stop, took too long, or has sent enough. */
  readonly left: number;
  readonly json: boolean;
}

const STYLES: Readonly<Record<Verdict, Style>> = {
  held: 'green',
  broken: 'red',
  'not applicable': 'dim',
};

export function printReport(io: Io, printed: Printed): void {
  const { world, results, cleanup, seconds, left } = printed;
  const number = (verdict: Verdict) => results.filter((each) => each.verdict === verdict).length;
  const sums = {
    held: number('held'),
    broken: number('broken'),
    not_applicable: number('not applicable'),
  };
  const { requests } = world.wire.seen;
  if (printed.json) {
    for (const result of results) printJson(io, result);
    const { revoked, left: living, requests: asked } = cleanup;
    const ends = { tokens_ended: revoked, tokens_left: living, approval_requests: asked };
    printJson(io, {
      service_id: idOf(world),
      ...sums,
      not_run: left,
      requests,
      seconds,
      ...ends,
    });
    return;
  }
  printResults(io, results);
  const all = `${sums.held} held, ${sums.broken} broken, ${sums.not_applicable} not applicable`;
  const stopped = left > 0 ? `; stopped before ${left} cases` : '';
  printLine(io, `${all}; ${requests} requests in ${seconds} s${stopped}`);
  printLine(io, cleanupText(cleanup));
}

function printResults(io: Io, results: readonly Result[]): void {
  const columns = [
    {
      heading: 'VERDICT',
      cell: ({ verdict }: Result) => verdict,
      style: ({ verdict }: Result) => STYLES[verdict],
    },
    { heading: 'CASE', cell: (result: Result) => result.case },
    { heading: 'SEEN', cell: ({ evidence }: Result) => evidence },
  ];
  printTable(io, results, columns, 'No case ran.');
  io.out('\n');
  for (const result of results.filter(({ verdict }) => verdict === 'broken')) {
    printFacts(io, [
      ['broken', result.case],
      ['tries', result.tries],
      ['must hold', result.holds],
      ['rests on', result.basis],
      ['seen', result.evidence],
    ]);
    io.out('\n');
  }
}

function cleanupText({ revoked, left, requests }: Cleanup): string {
  const ended = `Ended ${count(revoked, 'token')} of this run`;
  const living = left > 0 ? `; ${count(left, 'token')} could not be revoked and will expire` : '';
  const asked = requests > 0 ? `; left ${count(requests, 'approval request')}` : '';
  return `${ended}${living}${asked}.`;
}
