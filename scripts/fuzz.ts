/**
 * Fuzz, as long as wanted: hostile requests to every path of a running service, edited tokens, and digests of
 * random JSON compared with two other implementations.
 *
 *     npm run fuzz -- --requests 100000 --tokens 1000000 --values 1000000 --minutes 120
 *
 * Without a number all three run, for about a quarter of an hour. A failure prints the command that repeats it, and
 * ends with 1. `--store` takes the address of an empty store; without it a file in a temporary folder is used. The service
 * and the folder are ended also when the run fails or is interrupted.
 *
 * @module
 */

import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FuzzFault, fuzz } from '../test/hostile/fuzz.ts';
import { digestFault } from '../test/hostile/json-digests.ts';
import { served } from '../test/hostile/served.ts';
import { fuzzTokens } from '../test/hostile/token-edits.ts';
import { closedAtEnd, temporaryFolder } from '../test/support/ends.ts';
import { runLong } from './long-run.ts';

const { values: given } = parseArgs({
  options: {
    requests: { type: 'string' },
    tokens: { type: 'string' },
    values: { type: 'string' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
    store: { type: 'string' },
    minutes: { type: 'string', default: '120' },
  },
});

const WHOLE_RUN = { requests: '50000', tokens: '1000000', values: '1000000' };
const isWhole = !given.requests && !given.tokens && !given.values;
const wanted = { requests: '0', tokens: '0', values: '0', ...(isWhole ? WHOLE_RUN : {}), ...given };

const seed = numberOf('seed');
const from = numberOf('from');

const PROGRESS_EVERY_MS = 5_000;
let shown = Date.now();

const counts = {
  requests: numberOf('requests'),
  tokens: numberOf('tokens'),
  values: numberOf('values'),
};
await runLong({
  minutesMax: numberOf('minutes'),
  async work() {
    await fuzzSurface(counts.requests);
    fuzzSignatures(counts.tokens);
    fuzzDigests(counts.values);
  },
});

function numberOf(name: 'requests' | 'tokens' | 'values' | 'seed' | 'from' | 'minutes'): number {
  const number = Number(wanted[name]);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new Error(`Cannot read --${name}: expected a whole number`);
}

async function fuzzSurface(requests: number): Promise<void> {
  if (requests === 0) return;
  const folder = temporaryFolder();
  const rejections: unknown[] = [];
  process.on('unhandledRejection', (reason) => void rejections.push(reason));
  const store = given.store ?? `sqlite:${join(folder, 'writ.db')}`;
  const service = closedAtEnd(await served({ store, folder }));
  const onProgress = (done: number) => progress('requests', done, requests);
  const report = await fuzz({ port: service.port, seed, from, requests, onProgress });
  const findings = [...(await service.findings()), ...rejections.map(String)];
  if (findings.length > 0) throw new FuzzFault(`After seed ${seed}:\n${findings.join('\n')}`);
  console.log(`requests ${report.requests}, by status ${JSON.stringify(report.statuses)}`);
  console.log(`honest calls beside them ${report.honest}, all served; rows and log agree`);
}

function fuzzSignatures(count: number): void {
  if (count === 0) return;
  const onProgress = (done: number) => progress('tokens', done, count);
  const { edited, accepted } = fuzzTokens({ seed, from, count, onProgress });
  if (accepted.length > 0) throw new FuzzFault(`Accepted:\n${accepted.join('\n')}`);
  console.log(`edited tokens ${edited}, accepted 0`);
}

function fuzzDigests(count: number): void {
  if (count === 0) return;
  const onProgress = (done: number) => progress('values', done, count);
  const fault = digestFault({ seed, from, count, onProgress });
  if (fault) throw new FuzzFault(fault);
  console.log(`digests compared with two other implementations ${count}`);
}

function progress(what: string, done: number, all: number): void {
  if (Date.now() - shown < PROGRESS_EVERY_MS) return;
  shown = Date.now();
  console.log(`${what}: ${done} of ${all}`);
}
