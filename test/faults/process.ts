/**
 * Workers as processes: started, listened to, killed or told to stop.
 *
 * The program is bundled once, so that a start costs a fifth of a second and not one and a half. A
 * worker that ends without having been killed or stopped is a defect, told with the others.
 *
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { temporaryFolder } from '../support/ends.ts';
import type { Said } from './said.ts';

export interface Program {
  readonly path: string;
}

export async function bundle(url: URL): Promise<Program> {
  const source = fileURLToPath(url);
  const folder = temporaryFolder();
  await build({
    configFile: false,
    logLevel: 'error',
    ssr: { resolve: { conditions: ['writ-source', 'node'] } },
    build: { ssr: source, outDir: folder, emptyOutDir: false, target: 'node20' },
  });
  // Packages stay outside the bundle and are found as if it lay in the repository.
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return { path: join(folder, basename(source).replace(/\.ts$/, '.js')) };
}

export interface Worker {
  readonly pid: number;
  /** Resolves when so many lines have matched since the call, rejects when the worker ended before. */
  heard(count: number, matches: (said: Said) => boolean): Promise<void>;
  /** At once, and resolves when all it said has been read. */
  kill(): Promise<void>;
  /** Resolves when it has ended, by whatever. */
  readonly ended: Promise<unknown>;
  /** Ends its input and resolves when it has ended as it should. */
  stop(): Promise<void>;
}

export interface Launch {
  readonly program: Program;
  readonly argument: string;
  readonly onSaid: (said: Said) => void;
  /** A command that runs the command given to it as arguments. */
  readonly under?: readonly string[] | undefined;
}

export function startWorker({ program, argument, onSaid, under = [] }: Launch): Worker {
  const command = [...under, process.execPath, program.path, argument];
  const child = spawn(command[0] as string, command.slice(1), { stdio: 'pipe' });
  const ears = new Set<(said: Said) => void>();
  const ended = once(child, 'close');
  let isEndMeant = false;
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    // Enough to show why it ended.
    if (errors.length < 8_192) errors += chunk.toString('utf8');
  });
  // A worker that was killed does not read what is sent to it.
  child.stdin.on('error', () => {});
  createInterface({ input: child.stdout }).on('line', (line) => {
    const said = parsed(line);
    onSaid(said);
    for (const ear of ears) ear(said);
  });
  child.on('close', (code, signal) => {
    // Nobody but us sends this signal.
    if (signal === 'SIGKILL' || (isEndMeant && code === 0)) return;
    onSaid({ said: 'defect', why: `the worker ended with ${code ?? signal}: ${errors}` });
  });

  const heard: Worker['heard'] = (count, matches) =>
    new Promise((done, fail) => {
      let left = count;
      const ear = (said: Said) => {
        if (matches(said)) left -= 1;
        if (left > 0) return;
        ears.delete(ear);
        child.off('close', tooEarly);
        done();
      };
      const tooEarly = () => fail(new Error(`Cannot hear ${left} more: it ended: ${errors}`));
      ears.add(ear);
      if (isOver(child)) tooEarly();
      else child.once('close', tooEarly);
    });

  return {
    pid: child.pid as number,
    heard,
    ended,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    async stop() {
      isEndMeant = true;
      child.stdin.end();
      await ended;
    },
  };
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** The last line of a killed worker may be cut: then it was not said. */
function parsed(line: string): Said {
  try {
    return JSON.parse(line) as Said;
  } catch {
    return { said: 'mark' };
  }
}
