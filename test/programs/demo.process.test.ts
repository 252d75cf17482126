/**
 * `npm run demo`: every scene has the outcome that it claims, an outcome that differs ends the demo with an error, and nothing
 * that it started is left.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, test } from 'vitest';
import { optionsOf } from '../../scripts/demo/options.ts';
import { playDemo, SceneFailed } from '../../scripts/demo/play.ts';
import { editRow, type Scene } from '../../scripts/demo/scenes.ts';
import { findChromium, openBrowser } from '../support/chromium.ts';
import { temporaryFolder } from '../support/ends.ts';
import { launch, seen } from '../support/launch.ts';

/** Only to end a test that hangs. */
const SLOW = 240_000;

const MAIN = resolve('scripts/demo/main.ts');
const TSX = pathToFileURL(resolve('node_modules/tsx/dist/loader.mjs')).href;
const DEMO = ['--conditions=writ-source', '--import', TSX, MAIN];

/** The demo as a process, with a folder for what it keeps. */
function demo(args: readonly string[], environment: Record<string, string> = {}) {
  const folder = temporaryFolder();
  const chromium = findChromium();
  const given = { TMPDIR: folder, ...(chromium && { CHROME_PATH: chromium }), ...environment };
  return { folder, program: launch([...DEMO, ...args], process.cwd(), given) };
}

/** Plays these scenes by hand, so without a browser, and returns what was printed and where the guard was. */
async function play(scenes: Scene[], given: Partial<Parameters<typeof playDemo>[0]> = {}) {
  let printed = '';
  const folders: string[] = [];
  const watched = scenes.map(({ title, play: act }) => ({
    title,
    play: (stage: Parameters<typeof act>[0]) => {
      folders.push(stage.guard.folder);
      return act(stage);
    },
  }));
  const ended = await playDemo({
    scenes: watched,
    byHand: true,
    passkey: true,
    pace: 0,
    write: (text) => {
      printed += text;
    },
    columns: 80,
    colours: false,
    signal: new AbortController().signal,
    ...given,
  }).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { printed, ended, folders };
}

describe('npm run demo', { timeout: SLOW }, () => {
  test('plays five scenes with the outcomes that they claim, and leaves nothing behind', async () => {
    // Root gets a browser where there is none; the demo itself installs nothing.
    if (findChromium() === undefined) await (await openBrowser()).close();
    const { folder, program } = demo(['--pace', '0']);

    const status = await program.ended;

    const { out, err } = program.output;
    assert.equal(status, 0, `${out}\n${err}`);
    const scenes = out.split(/^\d of 5 {2}/m).slice(1);
    const outcomes = [
      [/✓ list_invoices, pay_invoice, refund_payment/, /INV-7 200 USD/],
      [/✓ payer-\d paid 200 USD/, /✕ payer-\d: budget_exceeded: .*\s+.*100\.00\s+remains/],
      [/✕ approval_required/, /✓ The agent continues by itself: \{"refunded":80/],
      [/agent: list_invoices\s+✕ invalid_token/, /payer-1: list_invoices\s+✕ invalid_token/],
      [/✕ invalid_token/, /alarm row_altered/, /✕ budget tok_/, /✓ Verified: checkpoint/],
    ];
    assert.equal(scenes.length, outcomes.length);
    for (const [at, patterns] of outcomes.entries()) {
      for (const pattern of patterns) assert.match(scenes[at] ?? '', pattern);
    }
    assert.equal(err, '');
    assert.deepEqual(left(folder), []);
  });

  test('ends all that it started at Ctrl-C', async () => {
    const { folder, program } = demo(['--by-hand', '--pace', '0']);
    const url = await seen(program, /payments offers 3 tools at (http:\S+)/);
    await seen(program, /"Let\s+it\s+act"/);
    assert.equal((await fetch(`${url}/.well-known/jwks.json`)).status, 200);

    program.child.kill('SIGINT');

    assert.equal(await program.ended, 130);
    await assert.rejects(fetch(`${url}/.well-known/jwks.json`));
    assert.deepEqual(left(folder), []);
  });

  test('names the way without a browser where there is none', async () => {
    const { program } = demo([], { CHROME_PATH: 'no-such-program' });

    assert.equal(await program.ended, 1);
    assert.match(program.output.err, /"no-such-program", .*npm run demo -- --by-hand/);
  });
});

test('optionsOf() refuses options that the demo cannot follow', () => {
  const lines = [['--pace', 'fast'], ['--pace', '-1'], ['--quick'], ['--record', 'a', '--by-hand']];

  for (const args of lines) {
    assert.match(String(optionsOf(args)), /^Cannot (play|record) the demo: /, args.join(' '));
  }
  const usual = { help: false, byHand: false, passkey: true, pace: 8, record: undefined };
  assert.deepEqual(optionsOf([]), usual);
  assert.deepEqual(optionsOf(['--slow']), { ...usual, pace: 20 });
});

describe('playDemo()', { timeout: SLOW }, () => {
  test('keeps the pages until the viewer has looked at them', async () => {
    const statuses: number[] = [];
    const pages: string[] = [];
    const scene: Scene = { title: 'One', play: async ({ guard }) => void pages.push(guard.pages) };
    const looked = async () => void statuses.push((await fetch(`${pages[0]}/sign-in`)).status);

    const { ended, printed } = await play([scene], { looked });

    assert.equal(ended, undefined);
    assert.match(printed, /Press Enter to stop the guard/);
    assert.deepEqual(statuses, [200]);
    await assert.rejects(fetch(`${pages[0]}/sign-in`));
  });

  test('leaves no folder when it is stopped while the guard starts', async () => {
    const before = left(tmpdir());
    const stopped = new AbortController();
    const playing = play([], { signal: stopped.signal });
    stopped.abort(new Error('stopped by the test'));

    const { ended } = await playing;

    assert.match(String(ended), /stopped by the test/);
    assert.deepEqual(left(tmpdir()), before);
  });
});

describe('a scene', { timeout: SLOW }, () => {
  test('fails the demo when a row that was not edited is not refused', async () => {
    const playUnedited = (stage: Parameters<Scene['play']>[0]) => editRow(stage, () => 'SQL: none');
    const unedited: Scene = { title: 'The row stays', play: playUnedited };

    const { ended, printed, folders } = await play([unedited]);

    assert.ok(ended instanceof SceneFailed, `${ended}\n${printed}`);
    assert.match(ended.message, /^Scene 1 of 1 \("The row stays"\) failed: /);
    assert.match(ended.message, /does not refuse the token of the edited row \(budget_exceeded\)/);
    assert.doesNotMatch(printed, /row_altered|Verified/);
    assert.deepEqual(folders.map(existsSync), [false]);
  });

  test('that fails ends the demo before the next one', async () => {
    const failing: Scene = { title: 'One', play: () => Promise.reject(new Error('it rained')) };
    const next: Scene = { title: 'Two', play: () => Promise.resolve() };

    const { ended, printed, folders } = await play([failing, next]);

    assert.ok(ended instanceof SceneFailed);
    assert.equal(ended.message, 'Scene 1 of 2 ("One") failed: it rained');
    assert.doesNotMatch(printed, /Two/);
    assert.deepEqual(folders.map(existsSync), [false]);
  });
});

/** What the demo left in the folder for temporary files. Caches of tsx are no part of it. */
function left(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith('writ-demo-'))
    .map((name) => join(folder, name));
}
