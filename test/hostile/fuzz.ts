/**
 * Fuzz of every path of a running service, over sockets: seeded, so one number repeats a run.
 *
 * Beside the hostile clients one honest client calls: its calls must all succeed.
 *
 * @module
 */

import { createJudge, type Judge } from './judge.ts';
import { type HostileRequest, requestOf } from './requests.ts';
import { createWireClient, LATE, type WireClient } from './wire.ts';
import { type HostileWorld, makeWorld } from './world.ts';

export interface FuzzOptions {
  readonly port: number;
  readonly seed: number;
  /** The number of the first request. */
  readonly from?: number;
  readonly requests: number;
  readonly clients?: number;
  /** Called now and then. */
  onProgress?(done: number): void;
}

export interface FuzzReport {
  readonly requests: number;
  /** How often each status was answered. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Requests whose client left before the answer, because they asked the service to wait. */
  readonly left: number;
  readonly honest: number;
}

/** A request that was answered as none may be. Its message has what repeats it. */
export class FuzzFault extends Error {}

/** Requests after which tokens, requests for approval and sessions are made anew. Hostile ones use them up. */
const EPOCH = 500;

/** Hostile requests of one client between two calls of the honest one. */
const HONEST_EVERY = 50;

/** In milliseconds: a client that asked the service to wait leaves after this time. */
const LEAVES_MS = 100;

/** Rejects with a `FuzzFault` at the first answer that may not be given. */
export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { port, seed, requests, from = 0, clients = 4 } = options;
  const judge = createJudge();
  const statuses: Record<string, number> = {};
  const counts = { left: 0, honest: 0 };
  const wires = Array.from({ length: clients + 1 }, () => createWireClient(port));
  const [honest, ...hostile] = wires as [WireClient, ...WireClient[]];
  try {
    for (let begin = from; begin < from + requests; begin = epochEnd(begin)) {
      const world = await makeWorld(port, honest);
      const end = Math.min(epochEnd(begin), from + requests);
      let next = begin;
      const run = async (client: WireClient) => {
        while (next < end) {
          const number = next++;
          if (number % HONEST_EVERY === 0) await askHonestly(honest, world, { seed, number });
          const status = await asked({ client, world, judge }, { seed, number });
          if (status === undefined) counts.left += 1;
          else statuses[status] = (statuses[status] ?? 0) + 1;
        }
      };
      await Promise.all(hostile.map(run));
      await askHonestly(honest, world, { seed, number: end - 1 });
      counts.honest += Math.ceil((end - begin) / HONEST_EVERY) + 1;
      options.onProgress?.(end - from);
    }
    return { requests, statuses, ...counts };
  } finally {
    for (const wire of wires) wire.close();
  }
}

function epochEnd(number: number): number {
  return (Math.floor(number / EPOCH) + 1) * EPOCH;
}

interface Which {
  readonly seed: number;
  readonly number: number;
}

let asking: Promise<unknown> = Promise.resolve();

/** One at a time: it has one connection. */
function askHonestly(client: WireClient, { honest }: HostileWorld, which: Which): Promise<void> {
  const ask = async () => {
    const answered = await client.ask(honest);
    const isGood = 'status' in answered && answered.status === 200;
    if (isGood && JSON.parse(answered.body.toString()).success === true) return;
    const got = 'status' in answered ? `${answered.status} ${answered.body}` : answered.fault;
    throw new FuzzFault(`Cannot serve the honest client: ${got}\n${replay(which)}`);
  };
  const asked = asking.then(ask);
  asking = asked.catch(() => undefined);
  return asked;
}

interface Hostile {
  readonly client: WireClient;
  readonly world: HostileWorld;
  readonly judge: Judge;
}

/** The status, or nothing where the client left. */
async function asked({ client, world, judge }: Hostile, which: Which): Promise<number | undefined> {
  const request = requestOf(world, which.seed, which.number);
  const mayWait = request.sent.headers.some(([name]) => name.toLowerCase() === 'prefer');
  const answered = await client.ask(request.sent, mayWait ? LEAVES_MS : undefined);
  if ('fault' in answered) {
    if (mayWait && answered.fault === LATE) return undefined;
    throw new FuzzFault(`${answered.fault}: ${wordsOf(request)}\n${replay(which)}`);
  }
  const fault = judge(request, answered);
  if (fault === undefined) {
    await undone(client, request, answered.status);
    return answered.status;
  }
  const got = `${answered.status} ${answered.body.toString().slice(0, 500)}`;
  throw new FuzzFault(`${fault}: ${got}\n${wordsOf(request)}\n${replay(which)}`);
}

/** What a freeze stops, no later request reaches. */
async function undone(client: WireClient, request: HostileRequest, status: number): Promise<void> {
  const isFreeze = /operator[./]freeze$/.test(request.sent.target);
  if (!isFreeze || status !== 200) return;
  const { sent } = request;
  await client.ask({ ...sent, target: sent.target.replace(/freeze$/, 'unfreeze') });
}

const WORDS_MAX = 3_000;

function wordsOf({ target, sent }: HostileRequest): string {
  const { method, target: address, version = '1.1', headers, body } = sent;
  const words = { method, target: address, version, headers, body: body?.toString('latin1') };
  return `${target.name}: ${JSON.stringify(words).slice(0, WORDS_MAX)}`;
}

/** A request depends on its number, and on what those of its epoch did before. */
function replay({ seed, number }: Which): string {
  const from = number - (number % EPOCH);
  return `Repeat it: npm run fuzz -- --seed ${seed} --from ${from} --requests ${number - from + 1}`;
}
