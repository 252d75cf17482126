/**
 * Starts that fail: the process ends by itself, its exit code says so, and its message says what to do.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'vitest';
import { DEMO_IDENTITIES, travelDesk } from '../../examples/travel/service.ts';
import { serve } from '../../src/index.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';

const DESK = [process.execPath, 'dist/examples/travel/main.js'];
const NPM_START = ['npm', 'start', '--silent'];

/** In milliseconds. Ends a start that hangs, with an exit code that no test accepts. */
const HANGING_MS = 60_000;
const PATIENT = { timeout: HANGING_MS * 2 };

const folder = temporaryFolder();
const file = join(folder, 'file');
writeFileSync(
  file,
  'This text is not a database, and long enough to be read as the header of one.\n'.repeat(2),
);
writeFileSync(join(folder, 'broken.yaml'), 'port: [');
writeFileSync(
  join(folder, 'endless.mjs'),
  'await new Promise(() => undefined);\nexport default {};\n',
);

/** Takes a port for itself. */
const other = createServer();
other.listen(0, '127.0.0.1');
await once(other, 'listening');
const taken = (other.address() as AddressInfo).port;
atEnd(() => other.close());

const PLACE = {
  PORT: '0',
  WRIT_DATA: join(folder, 'data'),
  XDG_STATE_HOME: join(folder, 'state'),
  WRIT_LOG_LEVEL: 'silent',
};

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

async function ended(command: readonly string[], settings: Record<string, string>): Promise<Ended> {
  const [program = '', ...args] = command;
  const { npm_lifecycle_event: _, ...inherited } = process.env;
  const child = spawn(program, args, {
    env: {
      ...inherited,
      ...PLACE,
      ...settings,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: HANGING_MS,
    killSignal: 'SIGKILL',
  });
  const stderr = text(child.stderr);
  const [code, signal] = await once(child, 'close');
  return { code, signal, stderr: await stderr };
}

const MEND = /; fix that, or change (WRIT_\w+)( or WRIT_\w+)?\n$/;
type Case = [name: string, settings: () => Record<string, string>, said: RegExp[]];
const CASES: Case[] = [
  [
    'a store is not a database',
    () => ({ WRIT_STORE: `sqlite:${file}` }),
    [/is not a database/, MEND],
  ],
  [
    'the database is down',
    () => ({ WRIT_STORE: 'postgres://127.0.0.1:1/writ' }),
    [/connect ECONNREFUSED 127\.0\.0\.1:1/, MEND],
  ],
  [
    'the configuration never finishes loading',
    () => ({ WRIT_CONFIG: join(folder, 'endless.mjs') }),
    [/endless\.mjs": it never finished loading/],
  ],
  [
    'the port is taken',
    () => ({ PORT: String(taken) }),
    [/^Cannot listen on 127\.0\.0\.1:\d+: another program listens there; stop it, or set PORT/],
  ],
  [
    'the mark is not a database',
    () => ({ WRIT_MARK: `sqlite:${file}` }),
    [/mark of the log/, MEND],
  ],
  [
    'the folder of the mark is a file',
    () => ({ XDG_STATE_HOME: file }),
    [/^Cannot open the mark of the log: .* a file or link of this name exists/, MEND],
  ],
  [
    'one of several processes cannot start',
    () => ({ WRIT_WORKERS: '2', PORT: String(taken) }),
    [/set PORT to another port/, /Cannot start: a worker ended before it listened\n$/],
  ],
];
for (const [name, settings, said] of CASES) {
  test(`a start ends with exit code 1 and names the remedy when ${name}`, PATIENT, async () => {
    const { code, signal, stderr } = await ended(DESK, settings());

    assert.deepEqual([code, signal], [1, null], stderr);
    assert.match(stderr, /^Cannot /);
    for (const pattern of said) assert.match(stderr, pattern);
  });
}

/** What is refused before anything is opened needs no process of its own. */
const SETTINGS: Case[] = [
  ...(
    [
      ['the port of the database is none', 'WRIT_STORE', 'postgres://u:hunter2@127.0.0.1:70000/x'],
      ['a password has a bare "#"', 'WRIT_STORE', 'postgres://u:12#hunter2@127.0.0.1/x'],
      ['the port of the mark is none', 'WRIT_MARK', 'postgres://u:hunter2@127.0.0.1:70000/x'],
    ] as const
  ).map(
    ([name, variable, address]): Case => [
      name,
      () => ({ [variable]: address }),
      [
        /expected postgres:\/\/user:password@host:port\/database, with a port/,
        MEND,
        /^(?!.*hunter2)/s,
      ],
    ],
  ),
  [
    'the configuration file is a folder',
    () => ({ WRIT_CONFIG: folder }),
    [/Cannot read ".*": it is a folder, expected a file/],
  ],
  [
    'the address is of another machine',
    () => ({ HOST: '192.0.2.1', WRIT_MARK: `sqlite:${join(folder, 'mark.db')}` }),
    [/accepted on a loopback address only/],
  ],
  ['a setting cannot be used', () => ({ PORT: 'http' }), [/"port": expected a number/]],
  ['there is no such setting', () => ({ WRIT_STOER: 'memory:' }), [/"WRIT_STOER": there is no/]],
  [
    'the configuration file cannot be read',
    () => ({ WRIT_CONFIG: join(folder, 'broken.yaml') }),
    [/broken\.yaml/],
  ],
  [
    'the data path is a file',
    () => ({ WRIT_DATA: file }),
    [/a file or link of this name exists/, MEND],
  ],
  ['the data path is below a file', () => ({ WRIT_DATA: join(file, 'data') }), [/folder "/, MEND]],
];
for (const [name, given, said] of SETTINGS) {
  test(`a start names the remedy when ${name}`, async () => {
    const environment = { ...PLACE, ...given() };
    const settings = { identities: DEMO_IDENTITIES };
    const { message } = await serve(travelDesk, { environment, settings, signals: false }).then(
      () => assert.fail('it started'),
      (error: Error) => error,
    );

    assert.match(message, /^Cannot /);
    for (const pattern of said) assert.match(`${message}\n`, pattern);
  });
}

const hasProc = existsSync('/proc/self');
for (const data of ['/proc/writ', '/proc/self/writ/data']) {
  test.skipIf(!hasProc)(`a start ends when its data folder is ${data}`, PATIENT, async () => {
    const { code, signal, stderr } = await ended(DESK, { WRIT_DATA: data });

    assert.deepEqual([code, signal], [1, null], stderr);
    assert.match(stderr, /^Cannot make folder "\/proc\/.*does not allow a folder there/);
    assert.match(stderr, MEND);
  });
}

test('`npm start` returns the exit code of a failed start', PATIENT, async () => {
  const { code, stderr } = await ended(NPM_START, { PORT: String(taken) });

  assert.equal(code, 1);
  assert.match(stderr, /Cannot listen on .*; stop it, or set PORT to another port/);
});
