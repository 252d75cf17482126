/**
 * A folder as the target of a stream: one file for each chunk, which appears complete and durable or not at all.
 *
 * @module
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { makeFolder } from '../../../folder.ts';
import { errorCode } from '../../../keyring/key-file.ts';
import { writeNew } from '../../shell/atomic-file.ts';
import { CommandFault, EXIT_FOUND } from '../../shell/exit.ts';
import { CHUNK_NAME, type Sink } from './sink.ts';

/** With its state in the folder itself, the folder may be moved. */
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
