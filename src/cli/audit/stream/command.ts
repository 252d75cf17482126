/**
 * `writ audit stream`: exports the log of a service continuously, to files, to an object store or to an HTTP receiver.
 *
 * @module
 */

import { basename, dirname, join, resolve } from 'node:path';
import { pauseFor } from '../../../client/pace.ts';
import { countText } from '../../../domain/values/count-text.ts';
import { toHex, utf8 } from '../../../domain/wire/hash.ts';
import { printable } from '../../../domain/wire/printable.ts';
import { makeFolder } from '../../../folder.ts';
import type { StreamState } from '../../../protocol/export.ts';
import { verifyStream } from '../../../verify/export/stream.ts';
import { answerOrExit, clientFor, SERVICE_OPTIONS } from '../../login/session.ts';
import { type Io, leaf, stopSignal } from '../../shell/command.ts';
import { EXIT_FOUND, EXIT_OK, EXIT_UNAVAILABLE } from '../../shell/exit.ts';
import { bytesIn } from '../../shell/files.ts';
import { flag, type Given, list, needed, number, value } from '../../shell/options.ts';
import { printJson, startProgress } from '../../shell/output.ts';
import { catchUp, type Delivered, type Following, finishPending } from './follow.ts';
import { checkpointSigner } from './heads.ts';
import { HEADERS_VARIABLE, httpSink } from './http-sink.ts';
import { currentClient, type Patience, patiently } from './patience.ts';
import { s3Sink } from './s3-sink.ts';
import { CHUNK_NAME, chunkName, fileSink, type Sink } from './sink.ts';
import { openSource, type Source } from './source.ts';
import { newState, openState, type StateFile } from './state.ts';

const INTERVAL_SECONDS = 5;
const TIMEOUT_SECONDS = 30;
const TIMEOUT_SECONDS_MAX = 3_600;
const CHUNK_ENTRIES = 5_000;
const CHUNK_ENTRIES_MAX = 100_000;
const BATCH_BYTES = 1_048_576;

/** At the first contact: a wrong address is reported at once. */
const TRIES_FIRST = 2;
/** With --once, so that a run of a timer ends. */
const TRIES_ONCE = 8;

const OPTIONS = {
  to: needed('<target>', 'file:<folder>, s3://<bucket>/<prefix> or https://<receiver>'),
  state: value('<file>', 'the place of the stream (default for file: <folder>/state.json)'),
  once: flag('end when the target has everything, instead of following'),
  interval: number('<seconds>', `between two looks for checkpoints (default: ${INTERVAL_SECONDS})`),
  timeout: number('<seconds>', `for one answer of service or target (default: ${TIMEOUT_SECONDS})`),
  'chunk-entries': number('<n>', `entries of one chunk at most (default: ${CHUNK_ENTRIES})`),
  endpoint: value('<url>', 'an object store other than Amazon S3, with the bucket in the path'),
  'header-file': value(
    '<file>',
    `headers for the receiver, one a line, in a file of mode 0600 (default: $${HEADERS_VARIABLE})`,
  ),
  'batch-bytes': number('<n>', `bytes of one request to the receiver (default: ${BATCH_BYTES})`),
  'allow-http': flag('send entries unencrypted to a host that is not this machine'),
  'resume-from': value('<file>', 'the last chunk of the target, if its state is lost'),
  'log-pin': list(
    '<thumbprint>',
    'a key of the log that you know (default: the keys of --pin, else the first key is remembered)',
  ),
  ...SERVICE_OPTIONS,
} as const;

type StreamGiven = Given<typeof OPTIONS>;

export const streamCommand = leaf({
  name: 'stream',
  summary: 'export the log continuously to files, an object store or a SIEM',
  about: `Reads the whole log in order, verifies it under the checkpoints of the service, and writes it as numbered
chunks that verify without the service ("writ verify stream"). Follows the log until it is stopped, and continues where
it ended. Needs the scope operator:audit.

An object store takes its credential from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION.`,
  options: OPTIONS,
  examples: [
    ['writ audit stream --to file:./archive', 'follow the log into a folder'],
    ['writ audit stream --once --to file:./archive', 'for cron: write what is new, and end'],
    [
      'writ audit stream --to s3://audit/desk --endpoint https://objects.example.com --state desk.state',
      'to an object store',
    ],
    [
      'writ audit stream --to https://siem.example.com/ingest --header-file siem.headers --state siem.state',
      'to a SIEM, as JSON lines',
    ],
  ],
  exits: [
    [EXIT_OK, 'stopped by a signal, or with --once: the target has everything'],
    [EXIT_FOUND, 'the log does not continue what was exported, or the target refuses it'],
    [EXIT_UNAVAILABLE, 'the first contact failed, or with --once: service or target stays away'],
  ],
  cannot: 'export the log',
  run,
});

async function run(given: StreamGiven, io: Io): Promise<void> {
  const timeoutMs = Math.min(given.timeout ?? TIMEOUT_SECONDS, TIMEOUT_SECONDS_MAX) * 1_000;
  const { sink, state: path } = targetOf(given, timeoutMs, io);
  makeFolder(dirname(path));
  const file = openState(path);
  const stop = stopSignal(io);
  const progress = startProgress(io);
  const patience: Patience = {
    signal: stop,
    tries: TRIES_FIRST,
    pause: pauseFor,
    say(text) {
      progress.end();
      io.err(`${printable(text)}\n`);
    },
  };
  try {
    const source = await sourceFor(given, { patience, timeoutMs, io });
    patience.tries = given.once ? TRIES_ONCE : Number.POSITIVE_INFINITY;
    const following: Following = {
      source,
      sink,
      file,
      patience,
      pins: [...given['log-pin'], ...given.pin],
      chunkEntries: Math.min(given['chunk-entries'] ?? CHUNK_ENTRIES, CHUNK_ENTRIES_MAX),
      say: progress.say,
      delivered(chunk) {
        progress.end();
        show(chunk, given, io);
      },
    };
    await follow(following, await stateFor(given, { file, source, sink, patience }), given);
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    progress.end();
    file.release();
  }
}

async function follow(
  following: Following,
  begun: StreamState,
  { once, interval = INTERVAL_SECONDS }: StreamGiven,
): Promise<void> {
  const { patience } = following;
  let state = await finishPending(following, begun);
  for (;;) {
    state = await catchUp(following, state);
    if (once) return;
    await patience.pause(interval * 1_000, patience.signal);
  }
}

function targetOf(
  given: StreamGiven,
  timeoutMs: number,
  io: Io,
): { readonly sink: Sink; readonly state: string } {
  const { to, endpoint } = given;
  const shared = { to, timeoutMs, allowHttp: given['allow-http'] };
  const state = () => {
    if (given.state !== undefined) return resolve(given.state);
    throw new Error('no state is named; give --state');
  };
  if (to.startsWith('file:')) {
    const folder = to.slice('file:'.length);
    if (folder === '') throw new Error('no folder is named; give --to file:<folder>');
    const file = resolve(given.state ?? join(folder, 'state.json'));
    return { sink: fileSink(folder, file), state: file };
  }
  if (to.startsWith('s3:')) return { state: state(), sink: s3Sink({ ...shared, endpoint }, io) };
  if (/^https?:/.test(to)) {
    const [headerFile, batchBytes = BATCH_BYTES] = [given['header-file'], given['batch-bytes']];
    return { state: state(), sink: httpSink({ ...shared, headerFile, batchBytes }, io) };
  }
  throw new Error('expected --to file:<folder>, s3://<bucket>/<prefix> or https://<receiver>');
}

interface SourceFor {
  readonly patience: Patience;
  readonly timeoutMs: number;
  readonly io: Io;
}

async function sourceFor(
  given: StreamGiven,
  { patience, timeoutMs, io }: SourceFor,
): Promise<Source> {
  const first = await clientFor(given, io);
  const client = () => currentClient(first, given['token-file'], io);
  const failWith = (reply: Parameters<typeof answerOrExit>[0]): never => {
    answerOrExit(reply, given, io);
    throw new Error('the service refused');
  };
  return openSource({ patience, timeoutMs, client, refused: failWith });
}

interface StateFor {
  readonly file: StateFile;
  readonly source: Source;
  readonly sink: Sink;
  readonly patience: Patience;
}

/** Throws when the state is of another target or of another service. */
async function stateFor(
  given: StreamGiven,
  { file, source, sink, patience }: StateFor,
): Promise<StreamState> {
  const state = file.read();
  const { serviceId } = source;
  const resumeFrom = given['resume-from'];
  if (state === undefined) {
    const pins = [...given['log-pin'], ...given.pin];
    return beginState({ sink, patience, serviceId, pins, resumeFrom });
  }
  if (resumeFrom !== undefined) {
    throw new Error(`"${file.path}" has the place already; give --resume-from without a state`);
  }
  const { target, service_id } = state;
  if (target !== sink.target) {
    throw new Error(`"${file.path}" is the state of "${target}"; each target has its own`);
  }
  if (service_id !== serviceId) {
    throw new Error(`"${file.path}" is of service "${service_id}", and this is "${serviceId}"`);
  }
  return state;
}

function show(delivered: Delivered, { json }: StreamGiven, io: Io): void {
  if (json) {
    printJson(io, delivered);
    return;
  }
  const { name, from, entries, log_id, checkpoint, after_log_id } = delivered;
  if (after_log_id !== undefined) {
    const why = 'an operator of the service accepted the loss of signed entries';
    io.out(`Log ${printable(after_log_id)} ended: ${why}; log ${printable(log_id)} follows\n`);
  }
  const under = checkpoint === undefined ? '' : `, under checkpoint ${checkpoint}`;
  io.out(`${name}: ${countText(entries, 'entry', 'entries')} from place ${from}${under}\n`);
}

interface Begin {
  readonly sink: Sink;
  readonly patience: Patience;
  readonly serviceId: string;
  readonly pins: readonly string[];
  /** The file of the last chunk, where the target cannot list what it has. */
  readonly resumeFrom: string | undefined;
}

/**
 * Throws when the target has chunks and nothing says where they end. The last chunk is enough, because its header has
 * the tree before it and its checkpoint signs the tree after it.
 */
async function beginState(begin: Begin): Promise<StreamState> {
  const { sink, patience, serviceId, resumeFrom } = begin;
  const stored = async (name: string) => {
    return patiently(patience, () => sink.get(name, patience.signal));
  };
  if (resumeFrom !== undefined) {
    const state = await stateAfter(begin, basename(resumeFrom), bytesIn(resumeFrom));
    const next = chunkName(state.place.chunk + 1);
    if ((await stored(next)) === undefined) return state;
    throw new Error(`the target has "${next}" too; give the last chunk (--resume-from)`);
  }
  const last = sink.last?.();
  const text = last === undefined ? undefined : await stored(last);
  if (last !== undefined && text !== undefined) return stateAfter(begin, last, utf8(text));
  if ((await stored(chunkName(1))) !== undefined) {
    const ways = 'give its state (--state), or its last chunk as a file (--resume-from)';
    throw new Error(`the target has chunks and there is no state; ${ways}`);
  }
  return newState(sink.target, serviceId);
}

async function stateAfter(
  { sink, serviceId, pins }: Begin,
  name: string,
  bytes: Uint8Array,
): Promise<StreamState> {
  const number = Number(CHUNK_NAME.exec(name)?.[1] ?? Number.NaN);
  const keys = { pinned: pins.length > 0 ? pins : ('all' as const) };
  const ground = { keys, now: new Date(), serviceId, allowErased: true, isLast: true };
  const { checks, position, newest } = await verifyStream(
    [{ name, number, content: [bytes] }],
    ground,
  );
  const fault = checks.find(({ outcome }) => outcome !== 'ok');
  if (fault || !position || !newest) {
    const why = fault ? `${fault.what}: ${fault.detail}` : 'it has no checkpoint';
    throw new Error(`"${name}" does not say where to continue: ${why}`);
  }
  const { chunk, logId: log_id, first, size, peaks } = position;
  const after = { chunk, log_id, first, size, peaks: peaks.map(toHex), checkpoint: newest };
  return {
    ...newState(sink.target, serviceId),
    key: checkpointSigner(serviceId, newest),
    place: after,
  };
}
