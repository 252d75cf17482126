/**
 * Runs cases against one service, one after another, and ends what it began.
 *
 * A case that fails in an unforeseen way judges nothing. A service that stops answering is the verdict of the case
 * after which it stopped, and the end of the run.
 *
 * @module
 */

import { type Case, type Kind, kindOf } from './case.ts';
import { approvalCases } from './cases/approvals.ts';
import { bodyCases } from './cases/bodies.ts';
import { budgetCases } from './cases/budgets.ts';
import { checkpointCases } from './cases/checkpoints.ts';
import { connectionCases, lastCases } from './cases/connections.ts';
import { credentialCases } from './cases/credentials.ts';
import { delegationCases } from './cases/delegation.ts';
import { forgeryCases } from './cases/forgery.ts';
import { lifetimeCases } from './cases/lifetime.ts';
import { trailCases } from './cases/trail.ts';
import {
  broken,
  isSuccess,
  NotApplicable,
  notApplicable,
  type Outcome,
  type Verdict,
} from './target/outcome.ts';
import type { World } from './target/world.ts';

export const CASES: readonly Case[] = [
  ...forgeryCases,
  ...lifetimeCases,
  ...delegationCases,
  ...budgetCases,
  ...approvalCases,
  ...trailCases,
  ...checkpointCases,
  ...credentialCases,
  ...bodyCases,
  ...connectionCases,
  ...lastCases,
];

/** The result of one case, as programs read it. */
export interface Result {
  readonly case: string;
  readonly class: Kind;
  readonly verdict: Verdict;
  readonly evidence: string;
  readonly tries: string;
  readonly holds: string;
  readonly basis: string;
}

export interface Selection {
  readonly cases: readonly Case[];
  readonly withEffects: boolean;
  readonly signal: AbortSignal;
  /** Before each case. */
  onCase(each: Case, done: number): void;
}

/** In characters. A part of it may be text of the service. */
const EVIDENCE_LENGTH_MAX = 300;

/** In milliseconds. A case that takes longer judges nothing. */
const CASE_MS_MAX = 90_000;

/** In milliseconds. What is left then is not run. */
const RUN_MS_MAX = 15 * 60_000;

export async function runCases(world: World, selection: Selection): Promise<Result[]> {
  const results: Result[] = [];
  const ends = world.now().getTime() + RUN_MS_MAX;
  let isAlive = true;
  for (const [index, each] of selection.cases.entries()) {
    if (selection.signal.aborted) break;
    selection.onCase(each, index);
    const outcome = await outcomeOf(world, each, { ...selection, ends, isAlive });
    const wasAlive = isAlive;
    isAlive &&= await answers(world);
    const isEnd = wasAlive && !isAlive;
    const { verdict, evidence } = isEnd
      ? broken('the service no longer answers afterwards')
      : outcome;
    const { id, tries, holds, basis } = each;
    const seen = evidence.slice(0, EVIDENCE_LENGTH_MAX);
    results.push({ case: id, class: kindOf(each), verdict, evidence: seen, tries, holds, basis });
  }
  return results;
}

interface Conditions extends Pick<Selection, 'withEffects'> {
  readonly ends: number;
  readonly isAlive: boolean;
}

async function outcomeOf(
  world: World,
  each: Case,
  { withEffects, ends, isAlive }: Conditions,
): Promise<Outcome> {
  if (!isAlive) return notApplicable('the service had stopped answering');
  if (world.now().getTime() > ends) return notApplicable('the run took too long');
  if (each.hasEffects && !withEffects) return notApplicable('it has effects (--with-effects)');
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it took too long')), CASE_MS_MAX);
  });
  try {
    return await Promise.race([each.run(world), late]);
  } catch (error) {
    if (error instanceof NotApplicable) return notApplicable(error.message);
    const why = error instanceof Error ? error.message : String(error);
    return notApplicable(`not judged: ${why}`);
  } finally {
    clearTimeout(timer);
  }
}

async function answers({ wire }: World): Promise<boolean> {
  for (let tries = 0; tries < 3; tries++) {
    if (isSuccess(await wire.ask({ method: 'GET', path: '/.well-known/svc' }))) return true;
  }
  return false;
}
