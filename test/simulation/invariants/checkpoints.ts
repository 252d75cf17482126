/**
 * Checkpoints: every one covers a prefix of the one log, numbers follow each other, and the mark moves first.
 *
 * Roots are computed from the entries. Two checkpoints that both cover prefixes of one log are consistent.
 *
 * @module
 */

import { toHex } from '../../../src/domain/wire/hash.ts';
import type { CheckpointRecord } from '../../../src/storage/port/records.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import { broken } from '../broken.ts';
import type { Log } from './log.ts';
import type { Subject } from './shadow.ts';

type Head = Pick<CheckpointRecord, 'size' | 'root'>;

export function checkpoints(log: Log): Subject {
  /** By number: the id that the mark named first. */
  const marked = new Map<number, string>();
  const stored = new Set<number>();
  let last: CheckpointRecord | undefined;

  const mark = (checkpoint: CheckpointRecord) => {
    const { sequence, checkpoint_id } = checkpoint;
    const what = `the mark says checkpoint ${sequence}`;
    compare(log, checkpoint, what);
    const before = marked.get(sequence) ?? checkpoint_id;
    if (before !== checkpoint_id) {
      broken(
        'checkpoints',
        `checkpoint ${sequence} was marked as "${before}" and as "${checkpoint_id}"`,
      );
    }
    marked.set(sequence, checkpoint_id);
  };
  const insert = (checkpoint: CheckpointRecord) => {
    const { sequence, size, checkpoint_id } = checkpoint;
    compare(log, checkpoint, `checkpoint ${sequence}`);
    if (marked.get(sequence) !== checkpoint_id) {
      broken('checkpoints', `checkpoint ${sequence} was stored before the mark had it`);
    }
    if (sequence !== (last?.sequence ?? 0) + 1 || size < (last?.size ?? 0)) {
      const before = `${last?.sequence} of ${last?.size} entries`;
      broken('checkpoints', `checkpoint ${sequence} of ${size} entries follows ${before}`);
    }
    last = checkpoint;
    stored.add(size);
  };
  return {
    store: {
      insertCheckpoint({ args: [checkpoint], result }) {
        if (result) insert(checkpoint);
      },
    },
    mark: ({ checkpoint }) => mark(checkpoint),
    witness(event) {
      compare(log, event, 'a witness saw a checkpoint');
      if (stored.has(event.size)) return;
      broken(
        'checkpoints',
        `a witness saw a checkpoint of ${event.size} entries before it was stored`,
      );
    },
    atRest: (store) => refuseUncovered(log, store),
  };
}

function compare({ rootAt, entries }: Log, { size, root }: Head, what: string): void {
  const expected = rootAt(size);
  if (!expected) broken('checkpoints', `${what} of ${size} entries, the log has ${entries.length}`);
  if (toHex(expected) !== toHex(root)) {
    broken('checkpoints', `${what} of ${size} entries has another root than the log`);
  }
}

async function refuseUncovered({ entries }: Log, store: Store): Promise<void> {
  const size = (await store.lastCheckpoint())?.size ?? 0;
  if (size === entries.length) return;
  broken('liveness', `the last checkpoint covers ${size} of ${entries.length} entries`);
}
