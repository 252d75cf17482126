/**
 * `writ audit export`: saves a service's log as a file that verifies without the service.
 *
 * Fetches the newest checkpoint first and exports only what it covers.
 * Entries arrive newest first and are written oldest first, by way of a temporary file, so a log of any
 * length takes little memory.
 *
 * A credential that may see every entry gets the whole log. Any other gets its own trail, with a proof
 * of each entry.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { firstPlaceOf, leafIndexOf, ORIGIN_SPAN } from '../../domain/log/origin.ts';
import { countText } from '../../domain/values/count-text.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import { type AuditEntry, type Checkpoint, CheckpointDetail } from '../../protocol/audit.ts';
import {
  type ExportedDetail,
  LOG_FORMAT,
  type LogHeader,
  TRAIL_FORMAT,
  type TrailHeader,
} from '../../protocol/export.ts';
import { operations } from '../../protocol/operations.ts';
import { Jwks } from '../../protocol/trust.ts';
import { credentialFor, SERVICE_OPTIONS, serviceOf } from '../login/session.ts';
import { writeAtomically } from '../shell/atomic-file.ts';
import { type Io, leaf } from '../shell/command.ts';
import { flag, needed } from '../shell/options.ts';
import { JSON_OPTION, type Progress, printJson, startProgress } from '../shell/output.ts';
import { type Remote, remoteAt } from '../shell/remote.ts';
import { newest, newestBelow, proofAt, serviceIdAt } from '../verify/fetch.ts';
import { checkpointPagesOf, pagesOf } from './pages.ts';
import { openSpool, type Spool } from './spool.ts';

export const exportCommand = leaf({
  name: 'export',
  summary: 'save the log, for "writ verify log"',
  about:
    'Saves the entries that the newest checkpoint covers, in a file for "writ verify log": the whole log with the credential of an operator (operator:audit), with any other credential its own trail with a proof of each entry.',
  options: {
    out: needed('<file>', 'a new file; it appears when it is complete'),
    whole: flag('export the whole log, or fail'),
    trail: flag('export a trail, even with the credential of an operator'),
    service: SERVICE_OPTIONS.service,
    'token-file': SERVICE_OPTIONS['token-file'],
    ...JSON_OPTION,
  },
  examples: [
    ['writ audit export --out desk.log', 'at the service of your login'],
    ['writ audit export --whole --out desk.log --token-file operator.key', 'the whole log'],
  ],
  cannot: 'read the log',
  async run(given, io) {
    const { out, whole, trail } = given;
    if (whole && trail) throw new Error('expected one of --whole and --trail');
    if (existsSync(out)) throw new Error(`"${out}" already exists`);
    const service = serviceOf(given.service, io);
    const remote = remoteAt(service, await credentialFor(service, given['token-file'], io));
    const extent = whole ? 'whole' : trail ? 'trail' : undefined;
    const progress = startProgress(io);
    const saved = await exported(remote, { out, extent, progress }).finally(progress.end);
    if (given.json) printJson(io, { out, ...saved });
    else printSaved(saved, io);
  },
});

interface Asked {
  readonly out: string;
  /** What to export; without it, the entries that the credential may see decide. */
  readonly extent: 'whole' | 'trail' | undefined;
  readonly progress: Progress;
}

/** What was saved, as `--json` prints it. */
interface Saved {
  readonly extent: 'whole' | 'trail';
  readonly entries: number;
  /** Entries that no checkpoint covers. */
  readonly left_out: number;
  /** The number of the checkpoint that covers all of it. */
  readonly checkpoint: number;
}

/** On standard error, as before: the result is the file. */
function printSaved({ extent, entries, left_out, checkpoint }: Saved, io: Io): void {
  const what = extent === 'whole' ? 'the whole log' : 'your own trail';
  io.err(
    `Saved ${what}: ${countText(entries, 'entry', 'entries')} up to checkpoint ${checkpoint}\n`,
  );
  if (left_out > 0)
    io.err(`Left out ${countText(left_out, 'entry', 'entries')} that no checkpoint covers\n`);
}

async function exported(remote: Remote, { out, extent, progress }: Asked): Promise<Saved> {
  const facts = await factsOf(remote);
  const part = `${out}.${randomUUID()}`;
  const entries = openSpool<AuditEntry>(`${part}.entries`);
  const earlier = openSpool<Checkpoint>(`${part}.checkpoints`);
  try {
    const ended = await endedLogs(remote, facts);
    const fetched = await fetchEntries(remote, { facts, ended }, entries, progress);
    const { count, current, unproved, isAnybodys } = fetched;
    const { entry_count, sequence } = facts.checkpoint;
    const isComplete = current === entry_count;
    // A credential that sees entries of others sees all of them, so a gap is a fault of the service.
    if (!isComplete && (extent === 'whole' || (isAnybodys && extent !== 'trail'))) {
      throw new Error(
        `of ${countText(entry_count, 'entry', 'entries')} the service gave only ${current}`,
      );
    }
    const isWhole = isComplete && extent !== 'trail';
    const earlierCount = isWhole ? await fetchCheckpoints(remote, facts, earlier) : 0;
    let proved = 0;
    const prove = (position: number) => {
      proved += 1;
      progress.say(`proofs ${proved} of ${count}`);
      return proofOf(remote, { facts, ended }, position);
    };
    const lines = isWhole
      ? logLines(facts, { entries, earlier, earlierCount, count })
      : trailLines(facts, entries, count - unproved, prove);
    await writeAtomically(out, part, lines);
    const left_out = isWhole ? 0 : unproved;
    const what = isWhole ? 'whole' : 'trail';
    return { extent: what, entries: count - left_out, left_out, checkpoint: sequence };
  } finally {
    entries.drop();
    earlier.drop();
  }
}

async function factsOf(remote: Remote): Promise<ExportFacts> {
  const jwks = Jwks.safeParse(await remote.json('GET', operations.jwks.path));
  const detail = CheckpointDetail.safeParse(await newest(remote));
  if (!jwks.success || !detail.success) {
    throw new Error(`"${remote.url}" did not answer with keys and a checkpoint`);
  }
  const { inclusion_proof: _, consistency_proof: __, ...checkpoint } = detail.data;
  return { serviceId: await serviceIdAt(remote), jwks: jwks.data, checkpoint };
}

interface Fetched {
  readonly count: number;
  /** Of the current log. */
  readonly current: number;
  /** Of logs that ended, beyond their last checkpoint. */
  readonly unproved: number;
  readonly isAnybodys: boolean;
}

interface Extent {
  readonly facts: ExportFacts;
  /** The last checkpoint of each log that an operator ended, by the log's first index. */
  readonly ended: ReadonlyMap<number, ExportedDetail>;
}

async function endedLogs(
  remote: Remote,
  { checkpoint }: ExportFacts,
): Promise<Map<number, ExportedDetail>> {
  const ended = new Map<number, ExportedDetail>();
  for (let first = firstPlaceOf(checkpoint.sequence) - ORIGIN_SPAN; first >= 0; ) {
    const detail = CheckpointDetail.safeParse(await newestBelow(remote, first + ORIGIN_SPAN));
    const { inclusion_proof: _, consistency_proof: __, ...last } = detail.data ?? {};
    if (!detail.success) break;
    first = firstPlaceOf(detail.data.sequence);
    ended.set(first, last as ExportedDetail);
    first -= ORIGIN_SPAN;
  }
  return ended;
}

/** The proof of one entry, with its own checkpoint if the entry is of a log that ended. */
async function proofOf(
  remote: Remote,
  { facts, ended }: Extent,
  position: number,
): Promise<object | undefined> {
  if (!isCovered({ facts, ended }, position)) return undefined;
  const own = ended.get(firstPlaceOf(position));
  const { checkpoint_id } = own ?? facts.checkpoint;
  const inclusion_proof = await proofAt(remote, checkpoint_id, leafIndexOf(position));
  return own ? { inclusion_proof, checkpoint: own } : { inclusion_proof };
}

function isCovered({ facts, ended }: Extent, position: number): boolean {
  const checkpoint = ended.get(firstPlaceOf(position)) ?? facts.checkpoint;
  return (
    position < coveredEnd(checkpoint) &&
    firstPlaceOf(position) === firstPlaceOf(checkpoint.sequence)
  );
}

/**
 * Skips entries after the checkpoint; the next export has them. Entries of an ended log that no
 * checkpoint covers are part of the whole log only: the first entry of the next log names their head.
 */
async function fetchEntries(
  remote: Remote,
  extent: Extent,
  spool: Spool<AuditEntry>,
  progress: Progress,
): Promise<Fetched> {
  let [count, current, unproved] = [0, 0, 0];
  const { checkpoint } = extent.facts;
  const first = firstPlaceOf(checkpoint.sequence);
  const owners = new Set<string | null>();
  for await (const page of pagesOf(remote, { entry_type: 'all', include: 'leaf' })) {
    const covered = page.filter(({ sequence }) => sequence < coveredEnd(checkpoint));
    spool.add(covered);
    count += covered.length;
    current += covered.filter(({ sequence }) => sequence >= first).length;
    unproved += covered.filter(({ sequence }) => !isCovered(extent, sequence)).length;
    for (const { root_principal } of covered) owners.add(root_principal);
    progress.say(`entries ${current} of ${checkpoint.entry_count}`);
  }
  return { count, current, unproved, isAnybodys: owners.size > 1 || owners.has(null) };
}

/** Returns the number of checkpoints before the newest. */
async function fetchCheckpoints(
  remote: Remote,
  { checkpoint }: ExportFacts,
  spool: Spool<Checkpoint>,
): Promise<number> {
  let count = 0;
  for await (const page of checkpointPagesOf(remote)) {
    const earlier = page.filter(({ sequence }) => sequence < checkpoint.sequence);
    spool.add(earlier);
    count += earlier.length;
  }
  return count;
}

/** Values of the whole export. */
interface ExportFacts {
  readonly serviceId: string;
  readonly jwks: Jwks;
  /** The newest checkpoint when the export began: the one that covers all of it. */
  readonly checkpoint: ExportedDetail;
}

interface FetchedLog {
  readonly entries: Spool<AuditEntry>;
  /** All checkpoints but the newest, as the service lists them. */
  readonly earlier: Spool<Checkpoint>;
  readonly earlierCount: number;
  /** Entries of all logs of the store. */
  readonly count: number;
}

/** The lines of an export, oldest first, from what was fetched newest first. */
async function* logLines(
  { serviceId, jwks, checkpoint }: ExportFacts,
  { entries, earlier, earlierCount, count }: FetchedLog,
): AsyncGenerator<string> {
  const header: LogHeader = {
    format: LOG_FORMAT,
    service_id: serviceId,
    tree_size: count,
    checkpoints: earlierCount + 1,
    jwks,
  };
  yield canonicalJson(header);
  const sealed = earlier.backwards();
  let [end, next] = [0, sealed.next()];
  // Several checkpoints may cover the same entries, and the first may cover none.
  const sealedHere = function* () {
    for (; !next.done && coveredEnd(next.value) === end; next = sealed.next()) {
      yield canonicalJson({ checkpoint: next.value });
    }
  };
  yield* sealedHere();
  for (const entry of entries.backwards()) {
    yield canonicalJson({ entry });
    end = entry.sequence + 1;
    yield* sealedHere();
  }
  yield canonicalJson({ checkpoint });
}

/** The index after the last entry that a checkpoint covers. */
function coveredEnd({ sequence, entry_count }: Checkpoint): number {
  return firstPlaceOf(sequence) + entry_count;
}

/** `prove` fetches the proof of the entry at one index; `undefined` when no checkpoint covers it. */
async function* trailLines(
  { serviceId, jwks, checkpoint }: ExportFacts,
  entries: Spool<AuditEntry>,
  count: number,
  prove: (position: number) => Promise<object | undefined>,
): AsyncGenerator<string> {
  const facts = { format: TRAIL_FORMAT, service_id: serviceId, entries: count } as const;
  yield canonicalJson({ ...facts, checkpoint, jwks } satisfies TrailHeader);
  for (const entry of entries.backwards()) {
    const proved = await prove(entry.sequence);
    if (proved) yield canonicalJson({ entry, ...proved });
  }
}
