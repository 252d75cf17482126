/**
 * The process of an upstream: starts it, reads its lines, and ends it together with its children.
 *
 * The command runs without a shell, in a process group of its own, and gets only the environment it is given. Lines
 * are bounded, and what it writes to standard error is kept only for the message that says why it ended. Process
 * groups are those of POSIX: on Windows neither the group nor commands such as `npx.cmd` would work.
 *
 * @module
 */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Platform } from '../../platform.ts';
import { createLineCutter } from '../../service/pace/lines.ts';
import { systemCode, UpstreamFault } from './fault.ts';
import { type Secrets, visibleLine } from './foreign-text.ts';

/** Bytes of one line, which is one message. A result may have an eighth of it. */
const LINE_BYTES_MAX = 8 * 1024 * 1024;

/** Bytes that wait for a child that does not read. */
const UNREAD_BYTES_MAX = 16 * 1024 * 1024;

/** Bytes and characters of a line on standard error. */
const WORDS_BYTES_MAX = 4_096;
const WORDS_LENGTH_MAX = 200;

/** In milliseconds, after standard input was closed. */
const SIGTERM_AFTER_MS = 1_000;
const SIGKILL_AFTER_MS = 3_000;

/** In milliseconds: how long the rest of the output may take after the exit. A grandchild may keep it open. */
const REST_MS = 500;

export interface ChildOptions {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** The whole environment of the child. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly platform: Platform;
  readonly secrets: Secrets;
  /** Must not throw. */
  onLine(line: Uint8Array): void;
}

/** How a connection ended. */
export interface Ending {
  readonly why: string;
  /** Whether it was ended because of what the upstream sent. The same request would lead to the same end. */
  readonly isRefused: boolean;
}

/** Of a connection that the guard closed. */
export const CLOSED: Ending = { why: 'the guard has closed it', isRefused: false };

export interface Child {
  /** Resolves when the child takes more. Rejects when it cannot. */
  write(line: string): Promise<void>;
  /** Resolves when the process and its output have ended. Never rejects. */
  readonly ended: Promise<Ending>;
  /** Ends the process group at once because of a fault, which is then the reason. */
  kill(why: string): void;
  /** Asks the process to end, then makes it end. Resolves when it has ended. */
  close(): Promise<void>;
}

export function startChild(options: ChildOptions): Child {
  const { command, env, cwd, platform } = options;
  const [program = '', ...rest] = command;
  const child = spawn(program, rest, { env, cwd, detached: true, stdio: 'pipe' });
  let ending: Ending | undefined;
  const kill = (why: string) => {
    ending ??= { why, isRefused: true };
    signalGroup(child, 'SIGKILL');
  };
  const words = lastWords(child, options.secrets);
  const killAtExit = () => signalGroup(child, 'SIGKILL');
  process.once('exit', killAtExit);
  const ended = childExit(child, platform).then((how) => {
    process.removeListener('exit', killAtExit);
    return ending ?? { why: [how, words()].filter(Boolean).join(': '), isRefused: false };
  });
  readLines(child, options, kill);
  // A broken pipe is no news: the end of the process is reported anyway.
  child.stdin.on('error', () => undefined);

  return {
    ended,
    kill,
    write: (line) => write(child, line),
    async close() {
      ending ??= CLOSED;
      child.stdin.end();
      const term = platform.after(SIGTERM_AFTER_MS, () => signalGroup(child, 'SIGTERM'));
      const last = platform.after(SIGKILL_AFTER_MS, () => signalGroup(child, 'SIGKILL'));
      await ended;
      platform.cancel(term);
      platform.cancel(last);
    },
  };
}

/** Sends a signal to the child and everything it started, unless they have ended. */
function signalGroup({ pid }: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has ended, or macOS refuses because only a zombie is left.
  }
}

function write({ stdin }: ChildProcessWithoutNullStreams, line: string): Promise<void> {
  if (stdin.destroyed || stdin.writableEnded) {
    const facts = { mayHaveActed: false, isLost: true };
    return Promise.reject(new UpstreamFault('it has ended', facts));
  }
  if (stdin.writableLength + line.length > UNREAD_BYTES_MAX) {
    return Promise.reject(
      new UpstreamFault('it does not read what it is sent', { mayHaveActed: false }),
    );
  }
  return new Promise((resolve, reject) => {
    stdin.write(line, (error) => {
      if (!error) return resolve();
      reject(new UpstreamFault('it ended', { mayHaveActed: true, isLost: true }));
    });
  });
}

/** Resolves when the process has ended and its output was read, with how it ended. */
function childExit(child: ChildProcessWithoutNullStreams, platform: Platform): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) =>
      resolve(`it cannot be started (${systemCode(error) ?? 'error'})`),
    );
    child.once('exit', (code, signal) => {
      // What the process started must not outlive it.
      signalGroup(child, 'SIGKILL');
      const how = signal ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
      const timer = platform.after(REST_MS, () => {
        child.stdout.destroy();
        child.stderr.destroy();
        resolve(how);
      });
      child.once('close', () => {
        platform.cancel(timer);
        resolve(how);
      });
    });
  });
}

function readLines(
  { stdout }: ChildProcessWithoutNullStreams,
  { onLine }: ChildOptions,
  kill: (why: string) => void,
): void {
  const cutter = createLineCutter(LINE_BYTES_MAX);
  const tooLong = `it sent a line of more than ${LINE_BYTES_MAX} bytes`;
  let begun = 0;
  stdout.on('error', () => undefined);
  stdout.on('data', (piece: Buffer) => {
    for (const line of cutter.cut(piece)) {
      if ('tooLong' in line) return kill(tooLong);
      onLine(line.bytes);
    }
    // A line that never ends is noticed while it grows.
    const end = piece.lastIndexOf('\n');
    begun = end === -1 ? begun + piece.length : piece.length - end - 1;
    if (begun > LINE_BYTES_MAX) kill(tooLong);
  });
}

/** Reads standard error, and returns its last line for a message. */
function lastWords({ stderr }: ChildProcessWithoutNullStreams, secrets: Secrets): () => string {
  const cutter = createLineCutter(WORDS_BYTES_MAX);
  let last = '';
  const keep = (line: ReturnType<typeof cutter.rest>) => {
    // Where a line was cut, half a secret could be left.
    if (!line || 'tooLong' in line) return;
    const text = visibleLine(
      secrets.inText(Buffer.from(line.bytes).toString('utf8')),
      WORDS_LENGTH_MAX,
    );
    if (text !== '') last = text;
  };
  stderr.on('error', () => undefined);
  stderr.on('data', (piece: Buffer) => {
    for (const line of cutter.cut(piece)) keep(line);
  });
  return () => {
    keep(cutter.rest());
    return last;
  };
}
