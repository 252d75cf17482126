/**
 * One request to a target: bounded in time and in the size of its answer, without redirects.
 *
 * @module
 */

import { reasonOf } from '../../shell/remote.ts';
import { Busy } from './patience.ts';

/** Bytes of an answer whose text is not used. */
const ANSWER_BYTES_MAX = 65_536;

/** Statuses of a target that may take the same request later. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

export interface Exchanged {
  readonly status: number;
  readonly body: string;
}

export interface ExchangeBounds {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** In bytes, of the answer. */
  readonly bytesMax?: number;
}

interface Sent {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

/** The answer. Throws `Busy` when none came in time, or when it says that the target is busy. */
export async function sinkExchange(
  url: URL,
  { method, headers, body }: Sent,
  { timeoutMs, signal, bytesMax = ANSWER_BYTES_MAX }: ExchangeBounds,
): Promise<Exchanged> {
  const ends = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  let answer: Exchanged & { readonly retryAfter: string | null };
  try {
    const init = { method, headers, redirect: 'manual', signal: ends } as const;
    const response = await fetch(url, { ...init, ...(body !== undefined && { body }) });
    const retryAfter = response.headers.get('retry-after');
    answer = { status: response.status, body: await boundedBody(response, bytesMax), retryAfter };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TooLong) throw error;
    throw new Busy(`"${url.origin}" does not answer (${reasonOf(error)})`, { cause: error });
  }
  const { status, retryAfter } = answer;
  if (PASSING.has(status)) {
    const retryAfterMs = pauseIn(retryAfter);
    throw new Busy(`"${url.origin}" answered ${status}`, { retryAfterMs });
  }
  return answer;
}

class TooLong extends Error {}

async function boundedBody(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    // Leaving the loop ends the connection.
    if (size > bytesMax) {
      if (response.ok && bytesMax > ANSWER_BYTES_MAX) throw new TooLong('the answer is too long');
      break;
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Milliseconds: seconds or a date. */
function pauseIn(text: string | null): number {
  if (text === null) return 0;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const until = Date.parse(text);
  return Number.isNaN(until) ? 0 : Math.max(0, until - Date.now());
}
