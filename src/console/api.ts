/**
 * The service as the page sees it: one function asks for its operations and the methods of the console, one signal has
 * its pulse, and one the person who is signed in.
 *
 * The session is in a cookie that scripts cannot read. The proof that this page asks is in its HTML. Nothing else
 * of the page's origin is used, and nothing is kept in the browser.
 *
 * @module
 */

import { signal } from '@preact/signals';
import type {
  ConsoleInput,
  ConsoleMethodName,
  ConsoleOperation,
} from '../protocol/console/methods.ts';
import type { ConsoleAnswers, Me, Pulse } from '../protocol/console/views.ts';
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

export const me = signal<Me | undefined>(undefined);

/** Loads the person again, for example after a passkey was added. Rejects as `ask` does. */
export async function loadMe(): Promise<void> {
  me.value = await ask('me', {});
}

/** "you" for the person who looks at the page. */
export function isMe(principal: string): boolean {
  return principal === me.value?.principal;
}

/** Milliseconds between two questions, and between two while the service does not answer. */
const PULSE_MS = 2_000;
const RETRY_MS_MAX = 15_000;

export const pulse = signal<Pulse | undefined>(undefined);

/** How the pulse is refused when nobody is signed in any more, and when another person is. */
const OVER = new Set(['authentication_required', 'not_entitled']);

/** `over`: the session has ended. */
type Connection = 'live' | 'lost' | 'over';
export const connection = signal<Connection>('live');

/** Milliseconds that the clock of the service is ahead of this one. */
let ahead = 0;

/** When the service was last heard, by its clock. */
export const heardAt = signal<number>(0);

/** The time of the service, which decides about expiry; it moves once a second. */
export const now = signal(Date.now());

/**
 * Keeps what is shown true: asks for the pulse of the service while the page is visible, and knows whether the
 * service answers.
 *
 * Asks by polling: every replica can answer, and a page that is closed or hidden holds nothing at the service.
 */
export function startLive(): void {
  let waitMs = PULSE_MS;
  let timer: number | undefined;
  const beat = async () => {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        const heard = await ask('pulse', {});
        ahead = Date.parse(heard.now) - Date.now();
        heardAt.value = Date.parse(heard.now);
        // Not only at the next second: a browser whose clock is wrong would first show everything as expired.
        now.value = heardAt.value;
        pulse.value = heard;
        connection.value = 'live';
        waitMs = PULSE_MS;
      } catch (error) {
        const isOver = error instanceof Refused && OVER.has(error.failure.type);
        connection.value = isOver ? 'over' : 'lost';
        waitMs = Math.min(waitMs * 2, RETRY_MS_MAX);
      }
    }
    timer = setTimeout(() => void beat(), waitMs);
  };
  setInterval(() => {
    now.value = Date.now() + ahead;
  }, 1_000);
  const soon = () => {
    waitMs = PULSE_MS;
    void beat();
  };
  addEventListener('visibilitychange', soon);
  addEventListener('online', soon);
  void beat();
}
