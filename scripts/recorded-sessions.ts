/**
 * Records terminal sessions for the documentation: runs the commands of a session in a new folder with the compiled
 * command line, and makes the text that a page shows.
 *
 * Ids, times, keys and addresses have stand-ins, so two recordings of a session differ only in a few numbers, such as
 * the size of a file. A test records every session and compares its shape with its page.
 *
 * @module
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Session, Step } from './session-list.ts';
import { timeAfter, withStandIns } from './stand-ins.ts';

const ROOT = resolve(fileURLToPath(import.meta.url), '../..');

/** In milliseconds: a command that takes longer is stuck. */
const STEP_MS_MAX = 120_000;
const POLL_MS = 50;

/** On the pages; each recording has a free one. */
const SHOWN_PORT = 8_420;

/** What a page has between its marks. Rejects when a command ends with another status than the session says. */
export async function recordSession(session: Session): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-session-'));
  const running: ChildProcess[] = [];
  try {
    const env = await environmentIn(folder);
    const kept: Record<string, string> = {};
    const shown: string[] = [];
    for (const step of session.steps) {
      const command = step.type.replaceAll(/\{(\w+)\}/g, (_, name: string) => kept[name] ?? '');
      const cwd = join(folder, step.in ?? '.');
      if (step.stops) for (const child of running.splice(0)) await ended(child);
      const output = await outputOf({ step, command, cwd, env }, running);
      Object.assign(kept, keptOf(step, output));
      if (!step.hidden) shown.push(`$ ${command}\n${linesOf(output, step)}`);
    }
    return standIn(shown.join('\n'), folder);
  } finally {
    for (const child of running) await ended(child);
    rmSync(folder, { recursive: true, force: true });
  }
}

function keptOf({ type, keep = {} }: Step, output: string): Record<string, string> {
  const found = Object.entries(keep).map(([name, pattern]) => {
    const [, text] = pattern.exec(output) ?? [];
    if (text === undefined)
      throw new Error(`Cannot record "${type}": ${pattern} is not in\n${output}`);
    return [name, text];
  });
  return Object.fromEntries(found);
}

/** The page with the text of a session between its marks. */
export function withSession(page: string, { name }: Session, text: string): string {
  const marks = new RegExp(`(<!-- session: ${name} -->\n)[^]*?(<!-- end -->)`);
  if (!marks.test(page)) throw new Error(`Cannot find the marks of session "${name}"`);
  return page.replace(marks, (_, begin, end) => `${begin}\n\`\`\`console\n${text}\`\`\`\n\n${end}`);
}

export function pageOf({ page }: Session): { readonly path: string; readonly text: string } {
  const path = join(ROOT, page);
  return { path, text: readFileSync(path, 'utf8') };
}

async function environmentIn(folder: string): Promise<Record<string, string>> {
  const bin = join(folder, '.bin');
  mkdirSync(bin);
  const program = join(bin, 'writ');
  writeFileSync(program, `#!/bin/sh\nexec node "${join(ROOT, 'dist/src/cli/bin.js')}" "$@"\n`);
  chmodSync(program, 0o700);
  const port = String(await freePort());
  return {
    PATH: [bin, process.env.PATH ?? ''].join(delimiter),
    HOME: folder,
    XDG_STATE_HOME: join(folder, '.state'),
    XDG_CONFIG_HOME: join(folder, '.config'),
    REPOSITORY: ROOT,
    HOST: '127.0.0.1',
    PORT: port,
    WRIT_CLIENT_SERVICE: `http://127.0.0.1:${port}`,
    NO_COLOR: '1',
    npm_config_loglevel: 'error',
    npm_config_update_notifier: 'false',
  };
}

interface Typed {
  readonly step: Step;
  readonly command: string;
  readonly cwd: string;
  readonly env: Record<string, string>;
}

async function outputOf(typed: Typed, running: ChildProcess[]): Promise<string> {
  const { step, command, cwd, env } = typed;
  if (step.until) return startedOutput(typed, step.until, running);
  const { status, stdout } = spawnSync('bash', ['-c', `exec 2>&1; ${command}`], {
    ...{ cwd, env, encoding: 'utf8', timeout: STEP_MS_MAX },
  });
  if (status === (step.status ?? 0)) return stdout;
  throw new Error(`Cannot record "${command}": it ended with ${status} and printed\n${stdout}`);
}

/** A command that goes on running until the session ends. */
async function startedOutput(
  { command, cwd, env }: Typed,
  until: RegExp,
  running: ChildProcess[],
): Promise<string> {
  const child = spawn('bash', ['-c', `exec 2>&1; ${command}`], { cwd, env, detached: true });
  running.push(child);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  for (let waitedMs = 0; !until.test(output); waitedMs += POLL_MS) {
    if (child.exitCode !== null || waitedMs > STEP_MS_MAX) {
      throw new Error(`Cannot record "${command}": it printed\n${output}`);
    }
    await pause(POLL_MS);
  }
  return output;
}

/** Stops the command and what it started. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const closed = once(child, 'close');
  process.kill(-child.pid, 'SIGINT');
  await closed;
}

/** The pages say that log lines are left out. */
function linesOf(output: string, { only, lines }: Step): string {
  const all = output
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('{"level":'));
  const wanted = only ? all.filter((line) => only.test(line)) : all;
  const cut =
    lines !== undefined && wanted.length > lines ? [...wanted.slice(0, lines), '…'] : wanted;
  const text = cut.map((line) => line.trimEnd()).join('\n');
  return text === '' ? '' : `${text}\n`;
}

function standIn(text: string, folder: string): string {
  const named = text
    .replaceAll(folder, '~')
    .replaceAll(/http:\/\/(127\.0\.0\.1|localhost):\d+/g, (_, host) => `http://<${host}>`)
    .replaceAll(/\w{3} (\d+ \w{3} \d{4}), (\d\d:\d\d:\d\d UTC)/g, (_, day, time) =>
      shownTime(Date.parse(`${day} ${time}`)),
    )
    .replaceAll(/(?<!\d, )\d\d:\d\d:\d\d UTC/g, '09:00:00 UTC')
    .replaceAll(/(?<= under )[\w-]{16}(?=\))/g, 'k3yOfTheseRows-1');
  const { replaced } = withStandIns({ replaced: named }, Date.now());
  return replaced.replaceAll(/http:\/\/<(.*?)>/g, (_, host) => `http://${host}:${SHOWN_PORT}`);
}

/** As the commands print times for people. */
function shownTime(time: number): string {
  const text = new Date(timeAfter(time - Date.now())).toUTCString();
  return text.replace(/^(\w+), 0?(\d+ \w+ \d+) (.*) GMT$/, '$1 $2, $3 UTC');
}

/** What two recordings have in common: numbers and the width of columns depend on the machine. */
export function shapeOf(text: string): string {
  return text.replaceAll(/[\d.,]*\d/g, '0').replaceAll(/ {2,}/g, ' ');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address ? address.port : 0;
}
