/**
 * Growth: what a call, a query, a seal and a proof cost as entries, tokens and lineages grow.
 *
 * Flat is the promise. The entries that fill the log are other people's, as in a service with many
 * callers; who asks has a trail of its own, and it is the same at every size.
 *
 * @module
 */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { inclusionHashes } from '../src/service/log/proofs.ts';
import { childToken, entry, happened, rootToken } from '../test/support/fixtures.ts';
import type { Curve } from './chart.ts';
import { type Figure, figure } from './figures.ts';
import { median } from './measure.ts';
import { memoryOfTokens, memoryOver } from './memory.ts';
import { DESK, startProgram } from './processes.ts';
import { type BenchService, cpuOf, type Issued, openService, STORE_FILE } from './service.ts';
import { NO_ANSWER, orNoAnswer } from './silence.ts';

export interface Growth {
  readonly curves: readonly Curve[];
  readonly figures: readonly Figure[];
}

/** How far each number goes. */
export interface Extent {
  readonly entries: readonly number[];
  readonly tokens: readonly number[];
  readonly descendants: number;
  /** Tokens in use, by which memory is compared. */
  readonly held: readonly number[];
  /** Calls over which memory is watched; 0 where it is not. */
  readonly calls: number;
  /** Calls of which each value is made. */
  readonly sample: number;
}

const DEPTHS = [0, 1, 2, 3, 4, 5];

/** Each figure is the median of so many turns, and the sizes take turns where they can. */
const TURNS = 5;

export async function growth(extent: Extent): Promise<Growth> {
  const service = await openService();
  try {
    const alice = await service.issue();
    const read = () => invoke(service, alice);
    // Warms up, and shows how fast the machine can be.
    for (let turn = 0; turn < TURNS; turn += 1) await cpuOf(extent.sample, read);
    // In this order: each finds the log as large as those before it left it.
    const parts: Readonly<Record<string, () => Promise<Growth>>> = {
      ...(extent.calls > 0 && { 'resident memory': () => memoryPart(extent.calls) }),
      'memory of tokens': async () => ({ curves: [], figures: await memoryOfTokens(extent.held) }),
      'depth of delegation': () => depthPart(service, extent),
      'number of tokens': () => tokenPart(service, extent, read),
      revocation: () => revocationPart(service, extent.descendants),
      'number of entries': () => logPart(service, extent, alice),
      'largest log beside the smallest': () => besideSmall(service, extent, alice),
      start: () => startPart(service),
    };
    const grown: Growth[] = [];
    for (const [name, part] of Object.entries(parts)) {
      const silent = { curves: [], figures: [figure(name, NO_ANSWER, '')] };
      grown.push((await orNoAnswer(name, part)) ?? silent);
    }
    return {
      curves: grown.flatMap(({ curves }) => curves),
      figures: grown.flatMap(({ figures }) => figures),
    };
  } finally {
    await service.close();
  }
}

async function memoryPart(calls: number): Promise<Growth> {
  const name = `resident memory over ${calls} invocations`;
  return { curves: [], figures: [figure(name, await memoryOver(calls), '± 20 MB')] };
}

function invoke(service: BenchService, { token }: Issued): Promise<unknown> {
  const input = { capability: 'find_traveler', parameters: { traveler: 'TR-1' } };
  return service.ask('invoke', token, input);
}

function query(service: BenchService, { token }: Issued): Promise<unknown> {
  return service.ask('audit.query', token, { limit: 50 });
}

/**
 * What the largest log costs beside the smallest, by turns: the machine is not the same after the
 * minutes that it takes to fill one. Each turn has a small one of its own, since calls make it larger: by
 * up to four samples, so that it has a few thousand entries when the queries are asked.
 */
async function besideSmall(
  large: BenchService,
  { entries, sample }: Extent,
  alice: Issued,
): Promise<Growth> {
  const invoked: number[] = [];
  const queried: number[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const small = await openService();
    const own = await small.issue();
    await growTo(small, entries[0] ?? 0);
    invoked.push(
      await times(
        () => cpuOf(sample, () => invoke(large, alice)),
        () => cpuOf(sample, () => invoke(small, own)),
      ),
    );
    queried.push(
      await times(
        () => cpuOf(sample / 10, () => query(large, alice)),
        () => cpuOf(sample / 10, () => query(small, own)),
      ),
    );
    await small.close();
  }
  const sizes = `${entries.at(-1)}, of ${entries[0]}`;
  return {
    curves: [],
    figures: [
      figure(`invoke at ${sizes} entries`, median(invoked).toFixed(2), 'at most 1.05'),
      figure(
        `audit query of 50 own entries at ${sizes} stored`,
        median(queried).toFixed(2),
        'at most 1.25 (0.8 of the rate)',
      ),
    ],
  };
}

/** How many times as much the one costs as the other, which is measured before it and after it. */
async function times(one: () => Promise<number>, other: () => Promise<number>): Promise<number> {
  const before = await other();
  const cost = (await one()) + (await one());
  return cost / (before + (await other()));
}

const SOUGHT = {
  capability: 'sought_capability',
  task_id: 'sought-task',
  parent_invocation_id: 'inv-500400700a01',
  client_reference_id: 'sought-reference',
  invocation_id: 'inv-500400700a02',
  root_principal: 'human:sought@example.com',
};

type Sought = ReturnType<typeof entry>;

/** One entry below all others, with values of its own. */
async function appendSought({ store }: BenchService): Promise<Sought> {
  const sought = entry(SOUGHT);
  await store.append([sought]);
  return sought;
}

/** Asks for the oldest entry by each filter, and by its hash. */
async function filterFigures({ store }: BenchService, sought: Sought): Promise<Figure[]> {
  const filters = {
    capability: { capability: SOUGHT.capability },
    task: { taskId: SOUGHT.task_id },
    'parent invocation': { parentInvocationId: SOUGHT.parent_invocation_id },
    'client reference': { clientReferenceId: SOUGHT.client_reference_id },
    invocation: { invocationId: SOUGHT.invocation_id },
    principal: { rootPrincipal: SOUGHT.root_principal },
    'principal and entry type': {
      rootPrincipal: SOUGHT.root_principal,
      entryType: sought.entry_type,
    },
  };
  const figures: Figure[] = [];
  for (const [name, filter] of Object.entries(filters)) {
    let steps = 0;
    const cost = await turns(() =>
      cpuOf(16, async () => {
        steps = 0;
        for (let before: number | undefined; ; steps += 1) {
          const page = await store.queryEntries({
            ...filter,
            limit: 50,
            ...(before && { before }),
          });
          if (page.entries.some(({ entry_id }) => entry_id === sought.entry_id)) return;
          if (page.next === undefined) throw new Error(`Cannot find the entry by ${name}`);
          before = page.next;
        }
      }),
    );
    const pages = steps > 0 ? ` in ${steps + 1} pages` : '';
    figures.push(figure(`the oldest entry by ${name}, CPU`, milliseconds(cost), pages.trim()));
  }
  const byHash = () => cpuOf(16, () => store.findLeaf({ leaf_hash: sought.leaf_hash }));
  figures.push(figure('the oldest leaf by its hash, CPU', milliseconds(await turns(byHash)), ''));
  return figures;
}

function milliseconds(microseconds: number): string {
  return `${(microseconds / 1_000).toFixed(1)} ms`;
}

/** Of the database file. */
function fileBytes({ folder }: BenchService): number {
  return statSync(join(folder, STORE_FILE)).size;
}

async function logPart(
  service: BenchService,
  { entries, sample }: Extent,
  alice: Issued,
): Promise<Growth> {
  const { store } = service;
  const sought = await appendSought(service);
  const [begun, bytesBefore] = [(await store.sequence()).size, fileBytes(service)];
  const invoked: { at: number; value: number }[] = [];
  const queried: { at: number; value: number }[] = [];
  let seal = 0;
  let proof = 0;
  for (const size of entries) {
    await growTo(service, size);
    invoked.push({
      at: size,
      value: await turns(() => cpuOf(sample, () => invoke(service, alice))),
    });
    queried.push({
      at: size,
      value: await turns(() => cpuOf(sample / 10, () => query(service, alice))),
    });
    seal = await turns(async () => {
      await store.append([entry()]);
      return (await cpuOf(1, () => service.seal())) / 1_000;
    });
    const prove = () =>
      inclusionHashes(store, { first: 0, index: Math.floor(Math.random() * size), size });
    proof = (await turns(() => cpuOf(64, prove))) / 1_000;
  }
  const curves: Curve[] = [
    { title: 'Invoke, by entries in the log', unit: 'µs of CPU', points: invoked },
    { title: 'Audit query of 50 own entries, by entries', unit: 'µs of CPU', points: queried },
  ];
  const { size: ended } = await store.sequence();
  const bytes = (fileBytes(service) - bytesBefore) / (ended - begun);
  return {
    curves,
    figures: [
      ...(await filterFigures(service, sought)),
      figure('disk for an entry', `${bytes.toFixed(0)} bytes`, 'at most 974'),
      figure('sealing a checkpoint, CPU', `${seal.toFixed(1)} ms`, 'with the proof under 10 ms'),
      figure('one inclusion proof, CPU', `${proof.toFixed(1)} ms`, ''),
    ],
  };
}

const BATCH = 1_000;

async function growTo({ store }: BenchService, size: number): Promise<void> {
  const { size: has } = await store.sequence();
  for (let made = has; made < size; made += BATCH) {
    const others = Array.from({ length: Math.min(BATCH, size - made) }, () => entry());
    await store.append(others);
  }
}

async function tokenPart(
  { store }: BenchService,
  { tokens, sample }: Extent,
  read: () => Promise<unknown>,
): Promise<Growth> {
  const points: Curve['points'][number][] = [];
  let made = 0;
  for (const size of tokens) {
    for (; made < size; made += BATCH) {
      const batch = Array.from({ length: Math.min(BATCH, size - made) }, () => rootToken());
      await Promise.all(batch.map((token) => store.insertRoot(token, entry())));
    }
    points.push({ at: size, value: await turns(() => cpuOf(sample, read)) });
  }
  const curve = { title: 'Invoke, by tokens in the store', unit: 'µs of CPU', points };
  return {
    curves: [curve],
    figures: [figure(`invoke at ${ends(curve)} tokens`, ratio(curve), 'flat')],
  };
}

async function depthPart(service: BenchService, { sample }: Extent): Promise<Growth> {
  const chain: Issued[] = [await service.issue({ max_delegation_depth: 5 })];
  for (const depth of DEPTHS.slice(1)) {
    const subject = `agent:level-${depth}`;
    chain.push(await service.issue({ subject }, chain.at(-1)));
  }
  const values: number[][] = DEPTHS.map(() => []);
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const depth of DEPTHS) {
      values[depth]?.push(await cpuOf(sample, () => invoke(service, chain[depth] as Issued)));
    }
  }
  const points = DEPTHS.map((at) => ({ at, value: median(values[at] ?? []) }));
  const curve = { title: 'Invoke, by depth of delegation', unit: 'µs of CPU', points };
  const name = 'invoke under a token at depth 5, of depth 0';
  return { curves: [curve], figures: [figure(name, ratio(curve), 'at most 1.15')] };
}

/** Wall time until every descendant of a token is dead. */
async function revocationPart({ store }: BenchService, descendants: number): Promise<Growth> {
  const root = rootToken();
  await store.insertRoot(root, entry());
  const bounds = { now: root.issued_at, childrenMax: descendants + 1 };
  for (let made = 0; made < descendants; made += BATCH) {
    const batch = Array.from({ length: BATCH }, () => childToken(root));
    await Promise.all(batch.map((child) => store.insertChild(child, entry(), bounds)));
  }
  const begun = performance.now();
  const outcome = await store.revokeToken(root.token_id, root.issued_at, () => entry());
  const took = performance.now() - begun;
  const revoked = happened(outcome);
  if (!revoked?.wasAlive) throw new Error('Cannot measure a revocation: it ended nothing');
  const name = `revoking ${descendants} descendants`;
  return { curves: [], figures: [figure(name, `${took.toFixed(0)} ms`, 'under 1 s')] };
}

async function startPart(service: BenchService): Promise<Growth> {
  const took = await turns(() => startTime(service));
  const name = 'start to first answer, largest log';
  return { curves: [], figures: [figure(name, `${took.toFixed(0)} ms`, 'under 1 s')] };
}

/** A second process opens the same file, as after a restart. */
async function startTime({ folder }: BenchService): Promise<number> {
  const begun = performance.now();
  const environment = { WRIT_STORE: `sqlite:${folder}/${STORE_FILE}` };
  const program = await startProgram(DESK, { folder, environment });
  const answer = await fetch(`${program.url}/svc/manifest`);
  await answer.arrayBuffer();
  const took = performance.now() - begun;
  await program.stop();
  return took;
}

async function turns(work: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) values.push(await work());
  return median(values);
}

function ratio({ points }: Curve): string {
  return ((points.at(-1)?.value ?? Number.NaN) / (points[0]?.value ?? Number.NaN)).toFixed(2);
}

function ends({ points }: Curve): string {
  return `${points.at(-1)?.at}, of ${points[0]?.at}`;
}
