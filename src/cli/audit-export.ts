/**
 * `writ audit export`: a service's log as a file that can be verified without the service.
 *
 * The newest checkpoint is taken first and decides what is exported, so that all of it is covered.
 * Entries come newest first and stand in the file oldest first, by way of the disk: a log of any
 * length takes little memory.
 *
 * Whoever may see every entry gets the whole log. Others get their own trail, with a proof of each
 * entry: what is between their entries is not theirs to see.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type AuditEntry, type Checkpoint, CheckpointDetail } from '../protocol/audit.ts';
import { operations } from '../protocol/operations.ts';
import { Jwks } from '../protocol/trust.ts';
import { writeAtomically } from './atomic-file.ts';
import { type ExportFacts, logLines, trailLines } from './audit-lines.ts';
import type { AuditOptions } from './audit-options.ts';
import { checkpointPagesOf, pagesOf } from './audit-pages.ts';
import type { Io } from './io.ts';
import type { Remote } from './remote.ts';
import { openSpool, type Spool } from './spool.ts';
import { newest, proofAt, serviceIdAt } from './verify-fetch.ts';

export async function exportAudit({ remote, out }: AuditOptions, io: Io): Promise<void> {
  if (out === undefined) throw new Error('the file is not named; give --out');
  if (existsSync(out)) throw new Error(`"${out}" is there already`);
  const facts = await factsOf(remote);
  const part = `${out}.${randomUUID()}`;
  const entries = openSpool<AuditEntry>(`${part}.entries`);
  const earlier = openSpool<Checkpoint>(`${part}.checkpoints`);
  try {
    const count = await fetchEntries(remote, facts, entries, io);
    const { entry_count, sequence, checkpoint_id } = facts.checkpoint;
    const isWhole = count === entry_count;
    const earlierCount = isWhole ? await fetchCheckpoints(remote, facts, earlier) : 0;
    const prove = (place: number) => proofAt(remote, checkpoint_id, place);
    const lines = isWhole
      ? logLines(facts, { entries, earlier, earlierCount })
      : trailLines(facts, entries, count, prove);
    await writeAtomically(out, part, lines);
    const what = isWhole ? 'the whole log' : 'your own trail';
    io.err(`Saved ${what}: ${count} entries up to checkpoint ${sequence}\n`);
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

/** Entries that came after the checkpoint are left for the next export. */
async function fetchEntries(
  remote: Remote,
  { checkpoint }: ExportFacts,
  spool: Spool<AuditEntry>,
  io: Io,
): Promise<number> {
  let count = 0;
  for await (const page of pagesOf(remote, { entry_type: 'all', include: 'leaf' })) {
    const covered = page.filter(({ sequence }) => sequence < checkpoint.entry_count);
    spool.add(covered);
    count += covered.length;
    if (io.isTerminal?.err) io.err(`\rentries ${count} of ${checkpoint.entry_count}`);
  }
  if (io.isTerminal?.err) io.err('\n');
  return count;
}

/** Returns how many there are before the newest. */
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
