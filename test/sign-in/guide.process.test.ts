/**
 * The guide to sign-in, run word for word against the compiled travel desk. A real browser does what the guide asks
 * of the person.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'vitest';
import { parse } from 'yaml';
import { configOf } from '../../src/config/config.ts';
import { openBrowser } from '../support/chromium.ts';
import { atEnd, closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { addressOf, DESK, launch } from '../support/launch.ts';
import { shellTraps } from '../support/shell-words.ts';
import { eventually } from '../support/world.ts';

/** Only to end a test that hangs. */
const SLOW = 180_000;

const GUIDE_URL = 'http://127.0.0.1:8420';
const guide = readFileSync('docs/sign-in.md', 'utf8');

interface Step {
  readonly script: string;
  /** Each must appear in what the script printed. */
  readonly expected: readonly string[];
}

const folder = temporaryFolder();
const url = await addressOf(launch([DESK], folder, { WRIT_LOG_LEVEL: 'silent' }));
const browser = closedAtEnd(await openBrowser());

function sectionOf(title: string): string {
  const text = guide.split(`\n## ${title}\n`)[1]?.split('\n## ')[0];
  assert.ok(text, `the guide has no section "${title}"`);
  return text;
}

function stepsIn(section: string): Step[] {
  const blocks = section.matchAll(/^```sh\n([\s\S]*?)^```$(?:\n```text\n([\s\S]*?)^```$)?/gm);
  return [...blocks].map(([, script = '', expected = '']) => ({
    script: script.replaceAll(GUIDE_URL, url),
    expected: expected.replaceAll(GUIDE_URL, url).split('\n').filter(Boolean),
  }));
}

function blocksOf(language: string, section: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...section.matchAll(fence)].map(([, text = '']) => text);
}

interface Shell {
  /** Sends lines, and resolves with all that was printed until they were done. */
  run(script: string): Promise<string>;
  /** Sends lines without waiting, and resolves with the first address in what is printed. */
  begin(script: string): Promise<string>;
  /** The rest of what `begin` sent prints. */
  end(): Promise<string>;
}

/** A shell as a reader has one: what one block sets is there in the next. */
function openShell(): Shell {
  const environment = { ...process.env, WRIT_LOGINS: join(folder, 'logins.json'), CLI };
  const child: ChildProcessWithoutNullStreams = spawn('bash', ['--norc', '-s'], {
    cwd: folder,
    env: environment,
  });
  atEnd(() => child.kill('SIGKILL'));
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  let steps = 0;
  const begin = (script: string) => {
    printed = '';
    steps += 1;
    child.stdin.write(`${script}\necho; echo "=== ${steps}"\n`);
  };
  const end = async () => {
    await eventually(() => printed.includes(`=== ${steps}\n`) || child.exitCode !== null);
    assert.equal(child.exitCode, null, printed);
    return printed;
  };
  // The guide says `npx writ`: here it is the compiled command of this repository.
  child.stdin.write('set -euo pipefail\nnpx() { shift; node "$CLI" "$@"; }\n');
  return {
    run(script) {
      begin(script);
      return end();
    },
    async begin(script) {
      begin(script);
      await eventually(() => /^http\S+$/m.test(printed) || child.exitCode !== null);
      return /^http\S+$/m.exec(printed)?.[0] ?? '';
    },
    end,
  };
}

const CLI = resolve('dist/src/cli/bin.js');

/** Signs in as the guide says, ticks what costs money, and lets the client act. Resolves with where the browser comes to. */
async function letAct(address: string, { ticked = '', limit = '0', pass = '0' }): Promise<URL> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(address);
  await page.getByRole('textbox', { name: 'Key' }).fill('demo-human-key');
  await page.getByRole('button', { name: 'Sign in with this key' }).click();
  if (ticked !== '') await page.getByLabel(ticked).check();
  await page.getByLabel('Spend at most, in total').fill(limit);
  await page.getByLabel('May it pass this on?').selectOption(pass);
  const answered = page.waitForRequest((request) => request.url().includes('/callback?'));
  await page.getByRole('button', { name: 'Let it act' }).click();
  const answer = new URL((await answered).url());
  await context.close();
  return answer;
}

function assertPrinted(printed: string, { expected }: Step): void {
  for (const text of expected) assert.ok(printed.includes(text), `lacks ${text}:\n${printed}`);
}

test('docs/sign-in.md: a client gets, renews, exchanges and ends a delegation', {
  timeout: SLOW,
}, async () => {
  const steps = stepsIn(sectionOf('For authors of clients'));
  const shell = openShell();
  let code = '';
  for (const step of steps) {
    const script = step.script.replace('read -r CODE\n', `read -r CODE\n${code}\n`);
    const printed = await shell.run(script);
    assertPrinted(printed, step);
    const [address] = /^http\S+\/authorize\S+$/m.exec(printed) ?? [];
    if (address === undefined || !step.script.includes('/authorize?')) continue;
    const choice = { ticked: 'Book flight', limit: '500', pass: '1' };
    const answer = await letAct(address, choice);
    assert.equal(answer.searchParams.get('state'), 'af0ifjsldkj');
    assert.equal(answer.searchParams.get('iss'), url);
    code = answer.searchParams.get('code') ?? '';
  }

  assert.notEqual(code, '');
  assert.ok(steps.filter(({ expected }) => expected.length > 0).length >= 5);
});

test('docs/sign-in.md: writ login keeps a delegation for other commands', {
  timeout: SLOW,
}, async () => {
  const [step] = stepsIn(sectionOf('writ login'));
  assert.ok(step);
  const shell = openShell();

  await letAct(await shell.begin(step.script), {});

  assertPrinted(await shell.end(), step);
  const { mode } = statSync(join(folder, 'logins.json'));
  assert.equal(mode & 0o777, 0o600);
});

test('docs/sign-in.md: its configuration is valid as printed', () => {
  const [text = ''] = blocksOf('yaml', sectionOf('For operators'));

  const { sign_in, oidc } = configOf(parse(text), '.');

  assert.equal(sign_in.clients[0]?.client_id, 'cursor');
  assert.equal(oidc[0]?.sign_in?.check, 'refresh');
});

test('docs/sign-in.md: the desk registers a client with the redirects that it names', async () => {
  const section = sectionOf('MCP clients');
  const rows = [...section.matchAll(/^\| (Claude Code|VS Code|Cursor) \|.*\| (.*) \|$/gm)];
  for (const [, client_name, cell = ''] of rows) {
    const redirect_uris = [...cell.matchAll(/`([^`]+)`/g)].map(([, uri]) => uri);
    const response = await fetch(`${url}/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name, redirect_uris, token_endpoint_auth_method: 'none' }),
    });
    assert.equal(response.status, 201, client_name);
  }

  assert.equal(rows.length, 3);
  for (const text of blocksOf('json', section)) assert.ok(text.includes(`${GUIDE_URL}/mcp`));
  for (const text of blocksOf('json', section)) assert.doesNotThrow(() => JSON.parse(text));
});

test('docs/sign-in.md: its pictures are there, and its commands mean the same in zsh', () => {
  const pictures = [...guide.matchAll(/\]\((images\/[^)]+)\)/g)].map(([, path = '']) => path);

  assert.deepEqual(
    pictures.filter((path) => !existsSync(join('docs', path))),
    [],
  );
  assert.equal(new Set(pictures).size, 5);
  assert.deepEqual(
    stepsIn(guide).flatMap(({ script }) => shellTraps(script)),
    [],
  );
});
