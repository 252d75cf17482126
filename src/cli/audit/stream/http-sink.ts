/**
 * An HTTP receiver as the target of a stream: the lines of each chunk, in batches that the receiver accepts.
 *
 * A chunk may arrive twice, and then with the same lines: `entry_id` and `checkpoint_id` name each of them.
 *
 * @module
 */

import { sha256, toHex, utf8 } from '../../../domain/wire/hash.ts';
import { readPrivately } from '../../../keyring/key-file.ts';
import type { Io } from '../../shell/command.ts';
import { CommandFault, EXIT_CREDENTIAL, EXIT_FOUND } from '../../shell/exit.ts';
import { sinkExchange } from './exchange.ts';
import { addressOf, type Sink } from './sink.ts';

/** Headers for the receiver, one a line, where no file is named. */
export const HEADERS_VARIABLE = 'WRIT_STREAM_HEADERS';

export interface HttpOptions {
  readonly to: string;
  readonly headerFile: string | undefined;
  readonly allowHttp: boolean;
  readonly timeoutMs: number;
  /** Bytes of one request. */
  readonly batchBytes: number;
}

export function httpSink(options: HttpOptions, io: Pick<Io, 'env'>): Sink {
  const url = addressOf(options.to, options.allowHttp);
  const own = headersFor(options.headerFile, io);
  // A receiver that refused a size refuses it again.
  let batchBytes = options.batchBytes;

  async function post(lines: readonly string[], signal: AbortSignal): Promise<void> {
    const body = lines.join('');
    const headers = {
      'content-type': 'application/x-ndjson',
      'idempotency-key': toHex(sha256(utf8(body))),
      ...own,
    };
    const bounds = { timeoutMs: options.timeoutMs, signal };
    const { status } = await sinkExchange(url, { method: 'POST', headers, body }, bounds);
    if (status >= 200 && status <= 299) return;
    if (status !== 413 || lines.length === 1) throw refusal(url, status, Buffer.byteLength(body));
    batchBytes = Math.min(batchBytes, Math.ceil(Buffer.byteLength(body) / 2));
    const half = Math.ceil(lines.length / 2);
    await post(lines.slice(0, half), signal);
    await post(lines.slice(half), signal);
  }

  const search = url.search === '' ? '' : `?${toHex(sha256(utf8(url.search)))}`;
  return {
    // The query may be a secret.
    target: `${url.origin}${url.pathname}${search}`,
    get: async () => undefined,
    async put({ text }, signal) {
      const lines = text.split(/(?<=\n)/);
      while (lines.length > 0) await post(lines.splice(0, fitting(lines, batchBytes)), signal);
    },
  };
}

/** How many of the first lines fit into a request; at least one. */
function fitting(lines: readonly string[], bytesMax: number): number {
  let [count, bytes] = [0, 0];
  for (const line of lines) {
    bytes += Buffer.byteLength(line);
    if (bytes > bytesMax && count > 0) break;
    count += 1;
  }
  return count;
}

/** Never prints a line of the headers: it may be a secret. */
function headersFor(file: string | undefined, { env }: Pick<Io, 'env'>): Record<string, string> {
  const text = file === undefined ? (env[HEADERS_VARIABLE] ?? '') : privateText(file);
  const from = file === undefined ? HEADERS_VARIABLE : `"${file}"`;
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const headers = lines.map((line, index) => {
    const [, name, value] = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([\x20-\x7e]*)$/.exec(line) ?? [];
    if (name !== undefined && value) return [name.toLowerCase(), value.trim()] as const;
    throw new Error(
      `line ${index + 1} of ${from} is not a header such as "Authorization: Bearer …"`,
    );
  });
  return Object.fromEntries(headers);
}

function privateText(file: string): string {
  const read = readPrivately(file);
  if ('fault' in read) throw new Error(`"${file}" cannot be used: ${read.fault}`);
  return new TextDecoder().decode(read.bytes);
}

function refusal({ origin, pathname }: URL, status: number, bytes: number): CommandFault {
  const exit = status === 401 || status === 403 ? EXIT_CREDENTIAL : EXIT_FOUND;
  const why = REASONS[status] ?? 'it does not take the lines';
  const what = `"${origin}${pathname}" answered ${status} to ${bytes} bytes: ${why}`;
  return new CommandFault(what, { exit });
}

const REASONS: Readonly<Record<number, string>> = {
  401: `its credential is not accepted; see --header-file`,
  403: `its credential is not accepted; see --header-file`,
  404: 'there is no receiver at this address',
  413: 'one line is more than it accepts',
};
