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
import { REQUESTS_MAX, wireUntil } from './target/wire.ts';
import { type Issued, isAnswering, type World } from './target/world.ts';

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

/** In milliseconds. A case that takes longer judges nothing, and sends nothing more. */
const CASE_MS_MAX = 90_000;

/** In milliseconds. What is left then is not run. */
const RUN_MS_MAX = 15 * 60_000;

/** Fewer results than cases where the run was stopped, took too long or has asked enough. */
export async function runCases(world: World, selection: Selection): Promise<Result[]> {
  const results: Result[] = [];
  const { signal } = selection;
  const ends = world.now().getTime() + RUN_MS_MAX;
  const isOver = () =>
    signal.aborted || world.now().getTime() > ends || world.wire.seen.requests >= REQUESTS_MAX;
  let isAlive = true;
  for (const [index, each] of selection.cases.entries()) {
    if (isOver()) break;
    selection.onCase(each, index);
    const outcome = await outcomeOf(world, each, { ...selection, isAlive });
    // What it had found by then is no verdict.
    if (signal.aborted) break;
    const wasAlive = isAlive;
    isAlive &&= await isStillAnswering(world);
    const isEnd = wasAlive && !isAlive;
    const { verdict, evidence } = isEnd
      ? broken('the service no longer answers afterwards')
      : outcome;
    const { id, tries, holds, basis } = each;
    const seen = world.wire.withoutSecrets(evidence).slice(0, EVIDENCE_LENGTH_MAX);
    results.push({ case: id, class: kindOf(each), verdict, evidence: seen, tries, holds, basis });
  }
  return results;
}

interface Conditions extends Pick<Selection, 'withEffects' | 'signal'> {
  readonly isAlive: boolean;
}

async function outcomeOf(
  world: World,
  each: Case,
  { withEffects, signal, isAlive }: Conditions,
): Promise<Outcome> {
  if (!isAlive) return notApplicable('the service had stopped answering');
  if (each.hasEffects && !withEffects) return notApplicable('it has effects (--with-effects)');
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error('it took too long')), CASE_MS_MAX);
  const end = AbortSignal.any([late.signal, signal]);
  const ended = new Promise<never>((_, reject) => {
    end.addEventListener('abort', () => reject(end.reason), { once: true });
  });
  try {
    return await Promise.race([each.run({ ...world, wire: wireUntil(world.wire, end) }), ended]);
  } catch (error) {
    if (error instanceof NotApplicable) return notApplicable(error.message);
    const why = error instanceof Error ? error.message : String(error);
    return notApplicable(`not judged: ${why}`);
  } finally {
    clearTimeout(timer);
    // What a case has left running sends nothing beside the next one.
    late.abort(new Error('the case has ended'));
  }
}

async function isStillAnswering(world: World): Promise<boolean> {
  for (let tries = 0; tries < 3; tries++) {
    if (await isAnswering(world)) return true;
  }
  return false;
}

export interface Cleanup {
  /** Tokens that were revoked, with everything below them. */
  readonly revoked: number;
  /** Tokens that the service did not revoke: they end by themselves. */
  readonly left: number;
  /** Approval requests that were made. */
  readonly requests: number;
}

/** In milliseconds: a service that is slow or busy is asked no longer than this. */
const END_MS_MAX = 2 * 60_000;

/** Ends every token of the run, and its connections. Never rejects. */
export async function endAll(world: World): Promise<Cleanup> {
  // A case that was stopped may be about to get one more.
  await world.wire.settled();
  // The end of a token is the end of those below it.
  const roots = world.issued.filter(({ isBelow }) => !isBelow);
  const bounded = { ...world, wire: wireUntil(world.wire, AbortSignal.timeout(END_MS_MAX)) };
  let revoked = 0;
  for (const issued of roots) if (await isRevoked(bounded, issued)) revoked += 1;
  world.wire.close();
  return { revoked, left: roots.length - revoked, requests: world.requests.length };
}

/** By the bearer that got it, else by one of the two credentials. */
async function isRevoked({ wire, service, self, other }: World, issued: Issued): Promise<boolean> {
  const path = service.endpoints.get('tokens_revoke');
  if (path === undefined) return false;
  const bearers = new Set([issued.bearer, self.credential, other.credential]);
  for (const bearer of bearers) {
    const asked = { path, bearer, body: { token_id: issued.id }, isNeeded: true };
    const answer = await wire.ask(asked).catch(() => undefined);
    if (answer && isSuccess(answer)) return true;
  }
  return false;
}
