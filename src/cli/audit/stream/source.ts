/**
 * The service as the source of a stream: checkpoints, proofs and entries, in the order of the log.
 *
 * The service lists entries newest first, below a cursor. For an operator without filters the cursor is a position and
 * positions have no gaps, so blocks of entries are read forwards by asking below the end of each block.
 *
 * @module
 */

import type { AskOptions, Client, Reply } from '../../../client/index.ts';
import type { Hash } from '../../../domain/log/merkle.ts';
import { canonicalJson } from '../../../domain/wire/canonical.ts';
import {
  AUDIT_PAGE_MAX,
  type AuditEntry,
  type Checkpoint,
  CheckpointDetail,
  InclusionProof,
} from '../../../protocol/audit.ts';
import type { AnswerOf, InputOf, OperationName } from '../../../protocol/operations.ts';
import { Jwks } from '../../../protocol/trust.ts';
import { readEntry } from '../../../verify/leaf.ts';
import { CommandFault, EXIT_CREDENTIAL, EXIT_FOUND } from '../../shell/exit.ts';
import { Busy, type Patience, patiently } from './patience.ts';

/** Entries in the first block. Later blocks have as many as fit into a page of the service. */
const BLOCK_FIRST = 64;

/** Bytes of lines in one block: about one page of the service. */
const BLOCK_BYTES = 1_048_576;

/** Bytes of lines after which a block is read again in halves. */
const BLOCK_BYTES_MAX = 4 * BLOCK_BYTES;

/** An entry as a line of a chunk. */
export interface SourceEntry {
  readonly position: number;
  readonly hash: Hash;
  readonly line: string;
}

export interface Source {
  readonly serviceId: string;
  jwks(): Promise<Jwks>;
  /** The newest checkpoint, or the newest with a number below `end`. */
  newest(end?: number): Promise<Checkpoint | undefined>;
  /** In detail, with the proof that it extends `from`. `undefined` when the service does not know one of them. */
  checkpoint(id: string, from?: string): Promise<CheckpointDetail | undefined>;
  /** The proof of one leaf in the tree of a checkpoint. */
  proof(id: string, index: number): Promise<InclusionProof | undefined>;
  /** The entry with the highest position below `end`. */
  entryBelow(end: number): Promise<AuditEntry | undefined>;
  /** The entries from position `from` up to, not including, `to`. */
  entries(from: number, to: number): AsyncGenerator<SourceEntry>;
}

export interface SourceParts {
  readonly patience: Patience;
  readonly timeoutMs: number;
  /** A client with a credential that holds now: a login is renewed, a file is read again. */
  client(): Promise<Client>;
  /** Ends the command with the refusal of the service. */
  refused(reply: Reply<unknown>): never;
}

type Ask = <Name extends OperationName>(
  name: Name,
  input: InputOf<Name>,
) => Promise<AnswerOf<Name> | undefined>;

export async function openSource(parts: SourceParts): Promise<Source> {
  const ask = askerOf(parts);
  const { svc_discovery } = await known(ask('discovery', {}));
  const newest = async (end?: number) => {
    const asked = { limit: 1, ...(end !== undefined && { cursor: String(end) }) };
    return (await known(ask('checkpoints.list', asked))).checkpoints[0];
  };
  return {
    serviceId: svc_discovery.service_id,
    // A later version of a service may answer with more fields than a chunk has.
    jwks: async () => Jwks.parse(await known(ask('jwks', {}))),
    newest,
    async checkpoint(id, from) {
      const asked = { checkpoint_id: id, ...(from && { consistency_from: from }) };
      const answer = await ask('checkpoints.get', asked);
      return answer && CheckpointDetail.parse(answer);
    },
    async proof(id, index) {
      const asked = { checkpoint_id: id, include_proof: true, leaf_index: index };
      const proof = (await ask('checkpoints.get', asked))?.inclusion_proof;
      return proof && InclusionProof.parse(proof);
    },
    entryBelow: async (end) => (await pageBelow(ask, end, 1))[0],
    entries: (from, to) => entriesBetween(ask, from, to),
  };
}

/** The answer of an operation; `undefined` when what it names is not there. Waits while the service is busy. */
function askerOf({ patience, timeoutMs, client, refused }: SourceParts): Ask {
  const options: AskOptions = { timeoutMs, retries: 0, signal: patience.signal };
  const once = async <Name extends OperationName>(name: Name, input: InputOf<Name>) => {
    const reply = await (await client()).ask(name, input, options);
    if (reply.ok) return reply.answer as AnswerOf<Name>;
    const { failure, answer, retryAfterMs } = reply;
    if (answer === undefined || PASSING.has(failure.type)) {
      throw new Busy(failure.detail, { retryAfterMs });
    }
    return failure.type === 'not_found' ? undefined : refused(reply);
  };
  return (name, input) => {
    return patiently(patience, async () => {
      try {
        return await once(name, input);
      } catch (error) {
        // The login may have ended between two requests: the second one renews it.
        const isEnded = error instanceof CommandFault && error.exit === EXIT_CREDENTIAL;
        if (!isEnded) throw error;
        return once(name, input);
      }
    });
  };
}

/** Failures that pass by themselves. */
const PASSING: ReadonlySet<string> = new Set([
  'rate_limited',
  'service_unavailable',
  'internal_error',
]);

async function known<Answer>(answer: Promise<Answer | undefined>): Promise<Answer> {
  const found = await answer;
  if (found !== undefined) return found;
  throw new CommandFault('the service does not know its own documents', { exit: EXIT_FOUND });
}

async function pageBelow(ask: Ask, end: number, limit: number): Promise<readonly AuditEntry[]> {
  const asked = { entry_type: 'all', include: 'leaf', limit, cursor: String(end) } as const;
  return (await known(ask('audit.query', asked))).entries;
}

async function* entriesBetween(ask: Ask, from: number, to: number): AsyncGenerator<SourceEntry> {
  let count = BLOCK_FIRST;
  for (let at = from; at < to; ) {
    const end = Math.min(to, at + count);
    const block = await readBlock(ask, at, end);
    if (block === undefined) {
      count = Math.ceil(count / 2);
      continue;
    }
    const bytes = block.reduce((sum, { line }) => sum + line.length, 0);
    count = Math.floor((BLOCK_BYTES * block.length) / Math.max(1, bytes));
    count = Math.min(Math.max(count, 1), AUDIT_PAGE_MAX);
    at = end;
    yield* block;
  }
}

/** The entries of a block, oldest first; `undefined` when it has several and more bytes than a block may have. */
async function readBlock(ask: Ask, from: number, end: number): Promise<SourceEntry[] | undefined> {
  const block: SourceEntry[] = [];
  let bytes = 0;
  for (let below = end; below > from; ) {
    const page = await pageBelow(ask, below, below - from);
    if (page.length === 0) throw missing(below - 1);
    for (const entry of page) {
      if (entry.sequence !== below - 1) throw missing(below - 1);
      const read = lineOf(entry);
      bytes += read.line.length;
      block.push(read);
      below -= 1;
    }
    if (bytes > BLOCK_BYTES_MAX && below > from) return undefined;
  }
  return block.reverse();
}

function lineOf(entry: AuditEntry): SourceEntry {
  const read = readEntry(entry);
  const position = entry.sequence;
  if ('fault' in read) {
    throw new CommandFault(`the entry at place ${position} is not genuine: ${read.fault}`, {
      exit: EXIT_FOUND,
    });
  }
  return { position, hash: read.hash, line: canonicalJson({ entry }) };
}

function missing(position: number): CommandFault {
  const why = 'the credential needs the scope operator:audit, else the service hides the entry';
  return new CommandFault(`the service does not show the entry at place ${position}; ${why}`, {
    exit: EXIT_FOUND,
  });
}
