/**
 * An honest client beside attackers: whether its calls succeed, how long they take, and what memory the
 * service holds, against the same client on the same service when it is alone.
 *
 *     npm run bench -- --attacks
 *
 * @module
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { type Program, startProgram } from './processes.ts';

/** In milliseconds. */
const WATCH_MS = 12_000;
const CALL_EVERY_MS = 20;
const LOOK_EVERY_MS = 100;
const FILL_EVERY_MS = 200;
const PATIENCE_MS = 10_000;

/** Entries that a query of the attackers can ask for. */
const ENTRIES = 1_200;

const P99_RATIO_MAX = 3;
const MEMORY_GROWTH_MAX_MB = 100;

const ATTACKS = [
  'unread pipelines',
  'long queries',
  'endless progress',
  'unfinished bodies',
  'long bodies, bad credential',
  'bad signatures',
  'pending requests of 30 KB',
  'approval requests',
  'schema of a stranger',
] as const;

/** A part of a name: only the attacks that have it run. */
const ONLY = process.env.BENCH_ATTACKS ?? '';

interface Watched {
  readonly calls: number;
  readonly failed: number;
  /** In milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The most that the process held, in MiB. */
  readonly resident: number;
}

/** With the limits that are on by default; the broken handlers of an attack fill no terminal. */
const AS_DEPLOYED = { WRIT_RATE_LIMITS: 'on', WRIT_LOG_LEVEL: 'fatal' };

/** Prints one line for each attack and one for all of them together. */
export async function underAttack(): Promise<void> {
  const chosen = ATTACKS.filter((attack) => attack.includes(ONLY));
  for (const attacks of [...chosen.map((attack) => [attack]), ...(ONLY ? [] : [ATTACKS])]) {
    const program = await startProgram('bench/attacked.mjs', { environment: AS_DEPLOYED });
    try {
      console.log(await lineOf(program, attacks));
    } finally {
      await program.stop();
    }
  }
}

async function lineOf(program: Program, attacks: readonly string[]): Promise<string> {
  const honest = await issue(program, 'honest', ['bench.look']);
  const attacker = await issue(program, 'attacker', [
    'bench.spin',
    'bench.look',
    'bench.ask',
    'bench.fill',
  ]);
  await fill(program, ENTRIES);
  await watch(program, honest);
  const quiet = await watch(program, honest);
  const port = Number(new URL(program.url).port);
  const attackers = fork(new URL('attackers.mjs', import.meta.url), [
    JSON.stringify({ port, attacks, auditor: 'demo-auditor-key', attacker }),
  ]);
  const beside = await watch(program, honest);
  attackers.kill();
  await once(attackers, 'exit');

  const ratio = beside.p99 / quiet.p99;
  const grown = beside.resident - quiet.resident;
  const holds = beside.failed === 0 && ratio <= P99_RATIO_MAX && grown <= MEMORY_GROWTH_MAX_MB;
  return [
    attacks.join(' + ').padEnd(52),
    `${beside.calls} calls, ${beside.failed} failed`,
    `p50 ${quiet.p50.toFixed(1)} -> ${beside.p50.toFixed(1)} ms (x ${(beside.p50 / quiet.p50).toFixed(1)})`,
    `p99 ${quiet.p99.toFixed(1)} -> ${beside.p99.toFixed(1)} ms (x ${ratio.toFixed(1)})`,
    `memory ${grown >= 0 ? '+' : ''}${grown.toFixed(0)} MB`,
    holds ? 'holds' : 'DOES NOT HOLD',
  ].join('  ');
}

/** One call every few milliseconds, whether the last one was answered or not, as many agents would. */
async function watch(program: Program, bearer: string): Promise<Watched> {
  const times: number[] = [];
  let failed = 0;
  let resident = 0;
  const looks = setInterval(() => {
    resident = Math.max(resident, program.resident());
  }, LOOK_EVERY_MS);
  const calls: Promise<void>[] = [];
  for (const end = performance.now() + WATCH_MS; performance.now() < end; ) {
    const begun = performance.now();
    const call = look(program, bearer).then((isAnswered) => {
      times.push(performance.now() - begun);
      if (!isAnswered) failed += 1;
    });
    calls.push(call);
    await pause(CALL_EVERY_MS);
  }
  await Promise.all(calls);
  clearInterval(looks);
  times.sort((one, other) => one - other);
  const at = (part: number) => times[Math.round((times.length - 1) * part)] ?? Number.NaN;
  return { calls: times.length, failed, p50: at(0.5), p99: at(0.99), resident };
}

async function look({ url }: Program, bearer: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/svc/invoke/look`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
      body: '{"parameters":{"what":"a flight"}}',
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { success } = (await response.json()) as { success: boolean };
    return success;
  } catch {
    return false;
  }
}

/** Makes entries at a pace that no limit minds. */
async function fill(program: Program, entries: number): Promise<void> {
  for (let made = 0; made < entries; ) {
    const bearer = await issue(program, 'attacker', ['bench.look']);
    const answered = await Promise.all(Array.from({ length: 50 }, () => look(program, bearer)));
    made += answered.filter(Boolean).length;
    await pause(FILL_EVERY_MS);
  }
}

async function issue({ url }: Program, name: string, scope: readonly string[]): Promise<string> {
  const response = await fetch(`${url}/svc/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer demo-${name}-key` },
    body: JSON.stringify({ scope }),
  });
  const { token } = (await response.json()) as { token: string };
  return token;
}
