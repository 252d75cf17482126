/**
 * Where a stream goes: a folder, an object store or an HTTP receiver.
 *
 * @module
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { bareHost, isLoopback } from '../../../address/host.ts';
import { makeFolder } from '../../../folder.ts';
import { errorCode } from '../../../keyring/key-file.ts';
import { writeNew } from '../../shell/atomic-file.ts';
import { CommandFault, EXIT_FOUND } from '../../shell/exit.ts';

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

/**
 * A folder: one file for each chunk, which appears complete and durable or not at all. With its state in the folder
 * itself, the folder may be moved.
 */
export function fileSink(folder: string, state: string): Sink {
  const path = resolve(folder);
  makeFolder(path);
  const get = async (name: string) => {
    const file = join(path, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  };
  return {
    target: dirname(state) === path ? 'file:.' : `file:${path}`,
    get,
    async put({ name, text }) {
      const there = await get(name);
      if (there === text) return;
      if (there !== undefined) throw otherChunk(`"${join(path, name)}"`);
      try {
        await writeNew(join(path, name), [text]);
      } catch (error) {
        // Another process, with another state, was faster.
        throw errorCode(error) === 'EEXIST' ? otherChunk(`"${join(path, name)}"`) : error;
      }
    },
    last: () => chunksIn(path).at(-1),
  };
}

/** The names of the chunks in a folder, in order. */
export function chunksIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => CHUNK_NAME.test(name))
    .sort();
}

export function otherChunk(what: string): CommandFault {
  const why = 'another process writes there, or the state is older than the target';
  return new CommandFault(`${what} is there already, with other contents: ${why}`, {
    exit: EXIT_FOUND,
  });
}
