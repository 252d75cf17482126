/**
 * Clients that spend while processes die, and keep every answer that came whole.
 *
 * Each call has a key of its own and is repeated, at any process that runs, until an answer says how it ended. One more
 * client revokes tokens and uses them afterwards.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { ALICE } from '../invoke/principals.ts';
import { issue, post } from '../invoke/processes.ts';

/** What one call costs, in minor units. */
export const PRICE = 1_000n;

const CALLERS = 12;
const TRIES_PER_CALL_MAX = 300;
const PAUSE_MS = 100;

/** In milliseconds. A process that is stopped by a signal takes a request and does not answer it. */
const ANSWER_MS_MAX = 20_000;

/** One answer that was received whole. */
export interface Acknowledged {
  readonly key: string;
  readonly status: number;
  readonly text: string;
}

/** What clients know. */
export interface Heard {
  readonly root: IssueAnswer;
  /** Calls that the budget of the root covers. */
  readonly covered: number;
  readonly heard: Acknowledged[];
  /** Tokens whose revocation was acknowledged. */
  readonly revoked: string[];
  /** Answers to calls with such a token that should not be. */
  readonly outlived: string[];
}

export interface LoadOptions {
  /** The processes that run now. */
  readonly urls: () => readonly string[];
  readonly capability?: 'pay' | 'trip';
  readonly covered?: number;
  readonly callsPerCaller?: number;
}

/** Lets callers spend under two children of one budget while `harm` is done to the processes. */
export async function spendUnder(
  { urls, capability = 'pay', covered = 300, callsPerCaller = 100 }: LoadOptions,
  harm: (known: Heard) => Promise<void>,
): Promise<Heard> {
  const url = urls()[0] as string;
  const budget = { currency: 'USD', max_amount: (covered * Number(PRICE)) / 100 };
  const root = await issue(url, ALICE, { budget });
  const children = await Promise.all(
    [0, 1].map((n) =>
      issue(url, root.token, { parent_token: root.token_id, subject: `agent:child-${n}` }),
    ),
  );
  const known: Heard = { root, covered, heard: [], revoked: [], outlived: [] };
  let harmed = false;
  const caller = async (n: number) => {
    for (let i = 0; i < callsPerCaller && !harmed; i++) {
      const token = (children[(n + i) % 2] as IssueAnswer).token;
      const answer = await spend(urls, { token, capability }, `call-${n}-${i}`);
      if (answer) known.heard.push(answer);
      await sleep(PAUSE_MS);
    }
  };
  const harming = harm(known).finally(() => {
    harmed = true;
  });
  const callers = Array.from({ length: CALLERS }, (_, n) => caller(n));
  await Promise.all([harming, ...callers, revoke(urls, known, () => harmed)]);
  return known;
}

/** Waits until so many more answers were heard, and does not wait for ever. */
export async function heardMore({ heard }: Heard, count: number, msMax: number): Promise<void> {
  const [enough, end] = [heard.length + count, performance.now() + msMax];
  while (heard.length < enough) {
    assert.ok(performance.now() < end, `only ${heard.length - enough + count} answers came`);
    await sleep(5);
  }
}

/** Spends under one key until an answer says how it ended, at any of the processes. */
async function spend(
  urls: () => readonly string[],
  { token, capability }: { token: string; capability: string },
  key: string,
): Promise<Acknowledged | undefined> {
  for (let tries = 0; tries < TRIES_PER_CALL_MAX; tries++) {
    const answer = await attempt(anyOf(urls), { token, capability, key });
    if (answer && !JSON.parse(answer.text).failure?.retry) return { key, ...answer };
    await sleep(PAUSE_MS);
  }
  return undefined;
}

interface Call {
  readonly token: string;
  readonly capability: string;
  readonly key: string;
}

/** Undefined when the answer did not come whole: the same key may be asked for again. */
async function attempt(
  url: string | undefined,
  { token, capability, key }: Call,
): Promise<{ status: number; text: string } | undefined> {
  if (url === undefined) return undefined;
  const body = { parameters: {}, client_reference_id: key };
  const headers = { 'idempotency-key': key };
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const response = await post(`${url}/svc/invoke/${capability}`, token, body, {
      headers,
      signal,
    });
    const text = await response.text();
    JSON.parse(text);
    return { status: response.status, text };
  } catch {
    return undefined;
  }
}

function anyOf(urls: () => readonly string[]): string | undefined {
  const live = urls();
  return live[Math.floor(Math.random() * live.length)];
}

/** Issues a token, revokes it, and uses it and an earlier one, again and again. */
async function revoke(
  urls: () => readonly string[],
  { root, revoked, outlived }: Heard,
  isOver: () => boolean,
): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const token = await revokedToken(anyOf(urls), root, n);
    if (token !== undefined) revoked.push(token);
    for (const each of [revoked.at(-1), revoked[n % Math.max(1, revoked.length)]]) {
      if (each === undefined) continue;
      const call = { token: each, capability: 'pay', key: `revoked-${n}` };
      const answer = await attempt(anyOf(urls), call);
      const isRefused = answer === undefined || answer.status === 401 || answer.status === 503;
      if (!isRefused) outlived.push(`${answer.status} ${answer.text}`);
    }
    await sleep(PAUSE_MS);
  }
}

async function revokedToken(
  url: string | undefined,
  root: IssueAnswer,
  n: number,
): Promise<string | undefined> {
  if (url === undefined) return undefined;
  try {
    const child = { parent_token: root.token_id, subject: `agent:revoked-${n}` };
    const { token, token_id } = await issue(url, root.token, child);
    const { status } = await post(`${url}/svc/tokens/revoke`, token, { token_id });
    return status === 200 ? token : undefined;
  } catch {
    return undefined;
  }
}
