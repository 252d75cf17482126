/**
 * Reviews: the tools of others that changed since their review, for operators, and the act that accepts one.
 *
 * Reading takes `operator:read`, accepting `operator:review`. A person accepts the digest of what the page showed. A
 * tool that is too long for the page is not accepted here, because the person did not see all of it.
 *
 * @module
 */

import { failure, Refusal, refuse } from '../../domain/failure.ts';
import { foreignText } from '../../domain/wire/foreign.ts';
import type { ShownReview, ToolReview, ToolReviews } from '../../protocol/console/reviews.ts';
import { ID_LENGTH_MAX } from '../../protocol/primitives.ts';
import type { ReviewPort } from '../author/review.ts';
import { notOperator, operatorEntry } from '../authority/freeze.ts';
import { audited } from '../caller/audited.ts';
import { type Caller, callerOf } from '../caller/caller.ts';
import { askWithin } from '../foreign/foreign.ts';
import { type Ask, consoleRequestOf } from '../operations/operations.ts';
import { LATE } from '../pace/deadline.ts';
import type { ConsoleParts } from './parts.ts';

/** In milliseconds: the port may have to ask another server. */
const PORT_DEADLINE_MS = 30_000;

/** Tools in one answer. The others follow when these are reviewed. */
const REVIEWS_MAX = 50;

/** Characters of all texts of one tool: more is not read on a page. */
const REVIEW_LENGTH_MAX = 50_000;

/** Characters of all texts in one answer. */
const ANSWER_LENGTH_MAX = 500_000;

/** A change of what was accepted comes first: new tools could be so many that they hide it. */
const ORDER = ['changed', 'gone', 'new'] as const satisfies readonly ToolReview['kind'][];

export async function reviewsOf(
  parts: ConsoleParts,
  port: ReviewPort,
  caller: Caller,
): Promise<ToolReviews> {
  refuse(notOperator(caller, 'read'));
  const changes = await changesOf(parts, port);
  const sorted = ORDER.flatMap((kind) => changes.filter((each) => each.kind === kind));
  const reviews: ShownReview[] = [];
  let length = 0;
  for (const review of sorted.slice(0, REVIEWS_MAX)) {
    const shown = shownReview(review);
    length += lengthOf(shown);
    if (length > ANSWER_LENGTH_MAX) break;
    reviews.push(shown);
  }
  return {
    reviews,
    more: sorted.length - reviews.length,
    servers: port.servers(),
    off: [...parts.definition.off].map(([name, why]) => ({ name, why })),
  };
}

/** The entry is durable before the tool is accepted: no tool is offered without the name of its reviewer. */
export async function acceptReview(
  parts: ConsoleParts,
  port: ReviewPort,
  ask: Ask,
): Promise<{ accepted: true }> {
  return audited(parts, await callerOf(parts, ask), 'operator', async (caller) => {
    refuse(notOperator(caller, 'review'));
    const { name, digest } = consoleRequestOf('reviews.accept', ask);
    const found = (await changesOf(parts, port)).find((each) => each.name === name);
    if (!found || found.digest !== digest) throw new Refusal(changedAgain());
    if (!shownReview(found).is_whole) throw new Refusal(tooLong());
    const entry = operatorEntry(parts, caller, 'guard_tool_reviewed', { tool: name, digest });
    await parts.store.append([entry]);
    await portAnswer(parts, 'the review', () => port.accept(name, digest, caller.principal));
    return { accepted: true };
  });
}

async function changesOf(parts: ConsoleParts, port: ReviewPort): Promise<readonly ToolReview[]> {
  return (await portAnswer(parts, 'the list of tools', () => port.changes())) as ToolReview[];
}

/** What the port answers. What it throws may be text of strangers, so only the log gets it. */
async function portAnswer(
  { platform, log }: ConsoleParts,
  what: string,
  code: () => Promise<unknown>,
): Promise<unknown> {
  const heard = await askWithin(platform, PORT_DEADLINE_MS, code);
  if (heard !== LATE && 'returned' in heard) return heard.returned;
  log.error({ err: heard === LATE ? new Error('no answer') : heard.thrown }, `${what} failed`);
  const detail = `Cannot complete ${what}: see the log of the service`;
  throw new Refusal(failure('service_unavailable', detail));
}

function changedAgain() {
  const detail = 'Cannot accept the tool: it is not the one that was shown; load the list again';
  return failure('not_found', detail);
}

function tooLong() {
  const detail = 'Cannot accept the tool here: the page does not show all of it';
  return failure('request_too_large', detail);
}

/**
 * Whole: the page shows everything that the digest covers. A name that a page or the log cannot carry unchanged is
 * no name to accept.
 */
function shownReview(review: ToolReview): ShownReview {
  const { kind, digest, now, parts } = review;
  const name = foreignText(review.name, ID_LENGTH_MAX);
  const isComplete = name === review.name && (digest === undefined || now !== undefined);
  if (isComplete && lengthOf(review) <= REVIEW_LENGTH_MAX) {
    return { name, kind, digest, now, parts, is_whole: true };
  }
  return { name, kind, digest, parts: [], is_whole: false };
}

function lengthOf({ name, now = {}, parts }: ToolReview): number {
  return parts.reduce(
    (sum, each) => sum + each.part.length + each.before.length + each.now.length,
    name.length + JSON.stringify(now).length,
  );
}
