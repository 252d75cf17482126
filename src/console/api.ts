/**
 * Asks the service: one function for its operations and for the methods of the console.
 *
 * The session is in a cookie that scripts cannot read. The proof that this page asks is in its HTML. Nothing else
 * of the page's origin is used, and nothing is kept in the browser.
 *
 * @module
 */

import type {
  ConsoleInput,
  ConsoleMethodName,
  ConsoleOperation,
} from '../protocol/console/methods.ts';
import type { ConsoleAnswers } from '../protocol/console/views.ts';
import type { Failure } from '../protocol/failure.ts';
import type { AnswerOf, InputOf } from '../protocol/operations.ts';

type Name = ConsoleMethodName | ConsoleOperation;
type Input<N extends Name> = N extends ConsoleMethodName
  ? ConsoleInput<N>
  : N extends ConsoleOperation
    ? InputOf<N>
    : never;
type Answer<N extends Name> = N extends ConsoleMethodName
  ? ConsoleAnswers[N]
  : N extends ConsoleOperation
    ? AnswerOf<N>
    : never;

/** The service refused; `failure` says why, and what to do. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.detail);
    this.failure = failure;
  }
}

/** The service did not answer: it is away, or this browser is offline. */
class Unreachable extends Error {
  override readonly name = 'Unreachable';
}

export const base = metaOf('writ-base');
const csrf = metaOf('writ-csrf');

/** Milliseconds: an answer that takes longer is treated as none. */
const ANSWER_MS = 30_000;

/** Rejects with `Refused` or `Unreachable`. */
export async function ask<N extends Name>(
  name: N,
  input: Input<N>,
  signal?: AbortSignal,
): Promise<Answer<N>> {
  const late = AbortSignal.timeout(ANSWER_MS);
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(`${base}/console/api/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-writ-csrf': csrf },
      body: JSON.stringify(input),
      signal: signal ? AbortSignal.any([signal, late]) : late,
      redirect: 'error',
    });
    body = await response.json();
  } catch (cause) {
    throw new Unreachable('The service did not answer', { cause });
  }
  if (response.ok) return body as Answer<N>;
  throw new Refused((body as { failure: Failure }).failure);
}

function metaOf(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content ?? '';
}
