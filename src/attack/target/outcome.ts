/**
 * The outcome of a case: what held, what broke, and what could not be tried.
 *
 * @module
 */

import type { Answer } from './wire.ts';

export type Verdict = 'held' | 'broken' | 'not applicable';

export interface Outcome {
  readonly verdict: Verdict;
  /** What was seen, in one sentence. Never a secret. */
  readonly evidence: string;
}

/** Ends a case that this service, these credentials or these options give no chance to run. */
export class NotApplicable extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'NotApplicable';
  }
}

/** An answer that says nothing about a rule: the service is busy, or does not answer. */
export class Unjudged extends NotApplicable {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(
      answer.status === 0 ? 'the service did not answer' : `the service is busy (${answer.status})`,
    );
    this.name = 'Unjudged';
    this.answer = answer;
  }
}

/** The answer, where it says something. Throws `Unjudged` otherwise. */
export function judged(answer: Answer): Answer {
  if (answer.status === 0 || isBusy(answer)) throw new Unjudged(answer);
  return answer;
}

export function held(evidence: string): Outcome {
  return { verdict: 'held', evidence };
}

export function broken(evidence: string): Outcome {
  return { verdict: 'broken', evidence };
}

export function notApplicable(evidence: string): Outcome {
  return { verdict: 'not applicable', evidence };
}

/** One attempt: what it was, in words, and its answer. */
export interface Attempt {
  readonly what: string;
  readonly answer: Answer;
}

/**
 * Broken when the service accepted one of the attempts. An answer that only says "too busy" judges nothing: it is
 * not counted as a refusal. A closed connection is one, unless the service did nothing else.
 */
export function noneAccepted(
  attempts: readonly Attempt[],
  isAccepted: (answer: Answer) => boolean = isSuccess,
): Outcome {
  const accepted = attempts.find(({ answer }) => isAccepted(answer));
  if (accepted) return broken(`${accepted.what}: accepted (${accepted.answer.status})`);
  const heard = attempts.filter(({ answer }) => !isBusy(answer));
  if (heard.length === 0) return notApplicable('the service answered only that it is busy');
  if (heard.every(({ answer }) => answer.status === 0))
    return notApplicable('the service answered no attempt');
  const refused = heard.filter(({ answer }) => !isSuccess(answer));
  const others = heard.length - refused.length;
  const answered = others > 0 ? [`${others} answered without what was tried`] : [];
  const refusals = `${count(refused.length, 'attempt')} refused (${statusesOf(refused)})`;
  return held([...(refused.length > 0 ? [refusals] : []), ...answered].join('; '));
}

export function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

/** The status says nothing about the request. */
export function isBusy({ status }: Answer): boolean {
  return status === 429 || status === 503;
}

function statusesOf(attempts: readonly Attempt[]): string {
  const statuses = [...new Set(attempts.map(({ answer }) => answer.status))];
  return statuses.map((status) => (status === 0 ? 'closed' : String(status))).join(', ');
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Asks without a credential, and with made-up ones. */
export async function noStranger(
  ask: (bearer: string | undefined) => Promise<Answer>,
): Promise<Outcome> {
  const bearers = [undefined, '', 'writ-attack-not-a-key', 'null'];
  const attempts = await eachAttempt(bearers, async (bearer) => ({
    what: `the credential ${JSON.stringify(bearer) ?? 'left out'}`,
    answer: await ask(bearer),
  }));
  return noneAccepted(attempts);
}

/** One after another: the attempts of a case must not race with each other. */
export async function eachAttempt<Item>(
  items: readonly Item[],
  attempt: (item: Item) => Promise<Attempt>,
): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for (const item of items) {
    try {
      attempts.push(await attempt(item));
    } catch (error) {
      if (!(error instanceof Unjudged)) throw error;
      attempts.push({ what: 'an attempt', answer: error.answer });
    }
  }
  return attempts;
}
