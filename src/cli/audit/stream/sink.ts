/**
 * Where a stream goes: a folder, an object store or an HTTP receiver.
 *
 * @module
 */

import { bareHost, isLoopback } from '../../../address/host.ts';

/** One chunk on its way. */
export interface Chunk {
  readonly name: string;
  /** Its lines, each with a line break. */
  readonly text: string;
  readonly sha256: string;
}

export interface Sink {
  /** Names the target in a state, without secrets. */
  readonly target: string;
  /**
   * Resolves when the target has the chunk durably. The same chunk may be given again. Throws `Busy` when the target
   * may take it later, and another error when it never will.
   */
  put(chunk: Chunk, signal: AbortSignal): Promise<void>;
  /** The text of a chunk that the target has; `undefined` when it has none of that name or cannot tell. */
  get(name: string, signal: AbortSignal): Promise<string | undefined>;
  /** The name of the last chunk that the target has, where it can tell. */
  last?(): string | undefined;
}

export const CHUNK_NAME = /^chunk-(\d{12})\.jsonl$/;

export function chunkName(number: number): string {
  return `chunk-${String(number).padStart(12, '0')}.jsonl`;
}

/** Refuses an address that would send entries unencrypted, or that has a password in it. */
export function addressOf(text: string, allowHttp: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new Error(
      `"${withoutQuery(text)}" is not an address such as https://siem.example.com/logs`,
    );
  }
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(bareHost(url))) {
    const why = 'entries would travel unencrypted; use https, or give --allow-http';
    throw new Error(`"${url.origin}" is http: ${why}`);
  }
  return url;
}

/** A query or a user in an address may be a secret. */
function withoutQuery(text: string): string {
  return text.replace(/\/\/.*@/s, '//').replace(/[?#].*$/s, '');
}
