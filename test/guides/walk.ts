/**
 * Walks through a guide as a reader does: writes the files that it shows, types its commands into a shell, and looks for
 * the output that it promises.
 *
 * What the fences of a guide mean:
 *
 * - `sh`: commands for the first terminal, each of which succeeds. Where the word `refused` follows, the last one fails,
 *   and no other.
 *   The word `serve` marks one command that runs in a terminal of its own until the guide ends or says `<!-- stop -->`;
 *   `<!-- stop: 8420 -->` stops the one that listens there, not the one that was started last.
 * - `text` directly after `sh`: every line of it is in the output. `…` in a line stands for any text within a line.
 * - Any other `text`: every line of it is in what the terminals showed when the guide ends, or in what the test noted.
 * - A language and a path, such as `ts src/service.ts`: the file as the reader saves it. With the language `diff` it is
 *   the change of a file that is there, whose other lines the file has in this order. An empty line parts two places.
 * - `text serve`: a line that the terminal of `sh serve` shows next. The reader waits for it.
 * - `apr_…` in a command: the id of that kind that the terminal showed last.
 * - `<!-- type: word -->`: the next command asks at a terminal, and the reader types this word.
 * - `<!-- do: name -->`: what the guide asks a person to do elsewhere, such as in a browser; the test does it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { temporaryFolder } from '../support/ends.ts';
import { freePorts } from '../support/free-ports.ts';
import { type Launched, launchGroup, launchProgram, seen } from '../support/launch.ts';

export interface Block {
  /** `shown` is a fence for the eye alone. */
  readonly kind:
    | 'run'
    | 'refused'
    | 'serve'
    | 'seen'
    | 'file'
    | 'change'
    | 'shown'
    | 'stop'
    | 'type'
    | 'do';
  readonly language: string;
  /** Of a file its path, of an act its name, of `type` the word, of a stop the port. */
  readonly name: string;
  readonly text: string;
  /** Each is in what the commands print. */
  readonly expected: readonly string[];
}

/** A reader in the middle of a guide. */
export interface Reader {
  readonly folder: string;
  /** The port that stands for 8420. */
  readonly port: number;
  /** The port that stands for 8421, for a guide with two services. */
  readonly secondPort: number;
  readonly env: Readonly<Record<string, string>>;
  /** All that the terminals showed so far, and what was noted. */
  output(): string;
  /** Adds what a person or a program elsewhere saw, such as the answer that a client got. */
  note(text: string): void;
}

export interface WalkOptions {
  /** bash unless set. */
  readonly shell?: 'bash' | 'zsh';
  readonly env?: Readonly<Record<string, string>>;
  /** Where a service listens that the test started; a free one unless set. */
  readonly port?: number;
  /** What a person does at `<!-- do: name -->`. */
  readonly acts?: Readonly<Record<string, (reader: Reader) => Promise<void>>>;
  /** Only the fences after this heading, up to the next of its level. */
  readonly section?: string;
}

/** Each reads commands on standard input, as a person types them, without a person's own settings. */
const SHELLS = {
  bash: ['--noprofile', '--norc', '-s'],
  zsh: ['--no-rcs', '--interactive', '-s'],
} as const;

/** A program that serves says so earlier, on a busy machine too. */
const SERVING_MS_MAX = 90_000;

const SHOWN_PORTS = /842[01]/g;

const BLOCKS =
  /^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$(?:\n```text\n([\s\S]*?)^```$)?|^<!-- (stop|type|do)(?:: (\S+))? -->$/gm;

/** In the order of the page. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(BLOCKS)].map(
    ([, language = '', word = '', text = '', shown = '', mark, act = '']) => ({
      kind: (mark ?? fenceKind(language, word)) as Block['kind'],
      language,
      name: mark ? act : word,
      text,
      expected: shown.split('\n').filter(Boolean),
    }),
  );
}

function fenceKind(language: string, word: string): Block['kind'] {
  if (language === 'text' && word === 'serve') return 'seen';
  if (language !== 'sh') return word === '' ? 'shown' : language === 'diff' ? 'change' : 'file';
  if (word === '') return 'run';
  assert.ok(word === 'serve' || word === 'refused', `no fence has the word "${word}" after sh`);
  return word;
}

/** The first of these programs that this machine lacks. */
export function missingTool(...tools: readonly string[]): string | undefined {
  return tools.find((tool) => spawnSync(tool, ['--version']).error !== undefined);
}

/** Rejects where a command ends otherwise than the guide says, or its output lacks a line. */
export async function walk(path: string, options: WalkOptions = {}): Promise<void> {
  const section = sectionOf(readFileSync(path, 'utf8'), options.section);
  const blocks = blocksOf(section);
  assert.ok(
    blocks.some(({ language }) => language === 'sh'),
    `${path} has no commands`,
  );
  assert.doesNotMatch(section.replaceAll(BLOCKS, ''), /^\s*(```|~~~)/m, 'a fence means nothing');
  const isFile = ({ kind }: Block) => kind === 'file' || kind === 'change';
  assert.ok(
    !blocks.some((block) => isFile(block) && block.expected.length > 0),
    'output of a file',
  );
  const place = await placeFor(options);
  const onPorts = (text: string) =>
    text.replaceAll(SHOWN_PORTS, (shown) => `${shown === '8420' ? place.port : place.secondPort}`);
  for (const [index, block] of blocks.entries()) {
    const { kind, name, text, expected } = block;
    const step = {
      ...block,
      name: kind === 'stop' ? onPorts(name) : name,
      text: onPorts(text),
      expected: expected.map(onPorts),
    };
    await STEPS[kind](place, step, index).catch((error: Error) => {
      throw new Error(`${path}, block ${index + 1}: ${error.message}`);
    });
  }
  for (const { kind, language, text } of blocks) {
    if (kind === 'shown' && language === 'text') {
      expectLines(onPorts(text).split('\n'), place.output());
    }
  }
}

interface Place extends Reader {
  readonly shell: Launched;
  readonly shellName: 'bash' | 'zsh';
  readonly served: ReturnType<typeof launchGroup>[];
  readonly acts: NonNullable<WalkOptions['acts']>;
  /** Lines that a guide waited for in the terminal of its service. */
  readonly awaited: string[];
  /** What the reader types when the next command asks. */
  answer: string | undefined;
}

async function placeFor(options: WalkOptions): Promise<Place> {
  const { shell: shellName = 'bash', acts = {} } = options;
  const folder = temporaryFolder();
  const [free = 0, secondPort = 0] = await freePorts(2);
  const port = options.port ?? free;
  const env = { ...environmentIn(folder, port), ...options.env };
  const shell = launchProgram([shellName, ...SHELLS[shellName]], folder, env);
  await typed(shell, { script: 'exec 2>&1\nset -o pipefail', mark: 'ready' });
  const served: Place['served'] = [];
  const noted: string[] = [];
  const output = () =>
    [...[shell, ...served].map((each) => each.output.out + each.output.err), ...noted].join('\n');
  const note = (text: string) => void noted.push(text);
  const reader = { folder, port, secondPort, env, output, note };
  return { ...reader, shell, shellName, served, acts, awaited: [], answer: undefined };
}

type Step = (place: Place, block: Block, index: number) => Promise<void>;

const runBlock: Step = async (place, { kind, text, expected }, index) => {
  const mayFail = kind === 'refused';
  const { shell, answer } = place;
  place.answer = undefined;
  const script = withIds(text, shell.output.out);
  const typing = { script, mark: `${index}`, mayFail, answer };
  const { output, status, failures } = await typed(shell, typing);
  assert.equal(status !== 0, mayFail, `ended with ${status}:\n${output}`);
  assert.equal(failures, mayFail ? 1 : 0, `${failures} commands failed:\n${output}`);
  expectLines(expected, output);
};

function expectLines(lines: readonly string[], output: string): void {
  for (const line of lines) {
    assert.match(output, patternOf(line), `lacks "${line}":\n${output}`);
  }
}

const STEPS: Readonly<Record<Block['kind'], Step>> = {
  run: runBlock,
  refused: runBlock,
  async serve({ shell, shellName, served, env }, { text, expected }, index) {
    const program = launchGroup([shellName, '-c', text], await folderOf(shell, index), env);
    served.push(program);
    for (const pattern of expected.length > 0 ? expected.map(patternOf) : [/ at http:\/\/\S+/]) {
      await Promise.race([seen(program, pattern), lateWithout(program, pattern)]);
    }
  },
  async file({ shell }, { name, text }, index) {
    const file = resolve(await folderOf(shell, index), name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  },
  async change({ shell }, { name, text }, index) {
    const file = resolve(await folderOf(shell, index), name);
    const parts = text.split(/\n\n+/);
    writeFileSync(file, parts.reduce(changed, readFileSync(file, 'utf8')));
  },
  async seen({ served, awaited }, { text }) {
    const last = served.at(-1);
    assert.ok(last, 'nothing runs');
    const line = text.trim();
    awaited.push(line);
    const times = awaited.filter((each) => each === line).length;
    await seen(last, new RegExp(`(?:[^]*?${patternOf(line).source}){${times}}`));
  },
  async shown() {},
  async stop({ served }, { name }) {
    const program = served.findLast(
      ({ child, output }) =>
        (child.exitCode ?? child.signalCode) === null &&
        (name === '' || output.out.includes(`:${name}`)),
    );
    assert.ok(program, 'nothing runs there');
    program.stop('SIGINT');
    await program.ended;
  },
  async type(place, { name }) {
    place.answer = name;
  },
  async do(place, { name }) {
    assert.ok(place.acts[name], `the test does not know "${name}"`);
    await place.acts[name]?.(place);
  },
};

/** The lines of a diff with one of these marks, without it. */
function linesOf(diff: string, marks: string): string {
  return diff
    .split('\n')
    .filter((line) => line !== '' && marks.includes(line.charAt(0)))
    .map((line) => `${line.slice(1)}\n`)
    .join('');
}

/** The text with the lines of a diff changed. */
function changed(text: string, diff: string): string {
  const old = linesOf(diff, ' -');
  assert.equal(text.split(old).length, 2, `the file has not once:\n${old}`);
  return text.replace(old, () => linesOf(diff, ' +'));
}

/** The commands with each id as the reader copies it from the terminal. */
function withIds(script: string, output: string): string {
  return script.replaceAll(/\b([a-z]{3})_…/g, (_, kind: string) => {
    const id = [...output.matchAll(new RegExp(`\\b${kind}_[0-9a-f]{32}\\b`, 'g'))].at(-1);
    assert.ok(id, `the terminal showed no id that begins with ${kind}_`);
    return id[0];
  });
}

function sectionOf(page: string, section: string | undefined): string {
  if (section === undefined) return page;
  const text = page.split(`\n## ${section}\n`)[1]?.split('\n## ')[0];
  assert.ok(text, `the page has no section "${section}"`);
  return text;
}

/** Runs what is installed in this folder or in one around it, as npx does. A shell starts faster than Node. */
const NPX = `#!/bin/sh
folder=$PWD
until [ -x "$folder/node_modules/.bin/$1" ]; do
  if [ "$folder" = / ]; then
    echo "npx would download \\"$1\\": a guide installs a package first" >&2
    exit 1
  fi
  folder=$(dirname "$folder")
done
program=$folder/node_modules/.bin/$1
shift
exec "$program" "$@"
`;

function environmentIn(folder: string, port: number): Record<string, string> {
  const bin = join(folder, '.bin');
  mkdirSync(bin);
  const npm = `#!/bin/sh\nexec "${process.execPath}" "${resolve('test/guides/npm.mjs')}" "$@"\n`;
  writeFileSync(join(bin, 'npm'), npm, { mode: 0o700 });
  writeFileSync(join(bin, 'npx'), NPX, { mode: 0o700 });
  return {
    PATH: [bin, process.env.PATH ?? ''].join(delimiter),
    HOME: folder,
    XDG_STATE_HOME: join(folder, '.state'),
    XDG_CONFIG_HOME: join(folder, '.config'),
    REPOSITORY: process.cwd(),
    HOST: '127.0.0.1',
    PORT: String(port),
    WRIT_LOG_LEVEL: 'silent',
    NO_COLOR: '1',
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
  };
}

interface Typed {
  readonly script: string;
  readonly mark: string;
  readonly mayFail?: boolean;
  readonly answer?: string | undefined;
}

interface Ran {
  readonly output: string;
  readonly status: number;
  /** How many commands failed. */
  readonly failures: number;
}

/** What the shell prints for these lines. It runs them itself, because later lines use the variables of earlier ones. */
async function typed(
  shell: Launched,
  { script, mark, mayFail = false, answer }: Typed,
): Promise<Ran> {
  const { length } = shell.output.out;
  const file = join(temporaryFolder(), 'lines');
  // Where a command may fail, the shell goes on after it, and counts.
  const counted = `trap 'walk_failures=$((walk_failures + 1))' ERR\n${script}\nwalk_status=$?\ntrap - ERR\nreturn $walk_status\n`;
  writeFileSync(file, mayFail ? counted : script);
  const run =
    answer === undefined
      ? `. ${file} < /dev/null`
      : `echo ${answer} | script -qec 'stty cols 100; sh -e ${file}' /dev/null`;
  shell.child.stdin.write(
    `walk_failures=0\nset ${mayFail ? '+e' : '-e'}\n${run}\nprintf '\\n=== ${mark} %s\\n' "$? $walk_failures"\n`,
  );
  const ended = seen(shell, new RegExp(`\\n=== ${mark} (\\d+ \\d+)\\n`));
  const numbers = await ended.catch((error: Error) => {
    throw new Error(`${error.message}\n${shell.output.out.slice(length)}`);
  });
  const output = shell.output.out.slice(length).split(`\n=== ${mark} `)[0] ?? '';
  const [status = 1, failures = 0] = numbers.split(' ').map(Number);
  return { output, status, failures };
}

/** Rejects with what the program wrote instead. */
async function lateWithout({ output }: Launched, pattern: RegExp): Promise<never> {
  await pause(SERVING_MS_MAX, undefined, { ref: false });
  throw new Error(`does not show ${pattern}:\n${output.out}${output.err}`);
}

async function folderOf(shell: Launched, index: number): Promise<string> {
  const { output } = await typed(shell, { script: 'pwd', mark: `folder ${index}` });
  return output.trim();
}

function patternOf(line: string): RegExp {
  const parts = line
    .trim()
    .split('…')
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  // A number is whole: 80 is not the beginning of 800.
  const [before, after] = [/^\d/.test(line) ? '(?<!\\d)' : '', /\d$/.test(line) ? '(?!\\d)' : ''];
  return new RegExp(before + parts.join('.*') + after);
}
