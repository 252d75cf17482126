/**
 * `writ login` and `writ logout` as real programs, and the commands that use what they saved.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { test } from 'vitest';
import { call, newAgent, VERSIONS } from '../mcp/agent.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { type Launched, launch, seen } from '../support/launch.ts';
import { ALICE } from '../support/world.ts';
import { consent, type Decision, locationOf } from './browser.ts';
import { listeningDesk, personOver } from './listening.ts';

const SLOW = 60_000;
const WRIT = join(process.cwd(), 'dist/src/cli/bin.js');
const READS = { chosen: ['search_flights'] };
const TRIP = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };

// An access token is renewed in its last minute: with one of a minute every command renews it.
const { service, url } = await listeningDesk({ settings: { sign_in: { access_minutes: 1 } } });

/** A user of the command line: a folder for the file of logins, and the programs. */
function user() {
  const folder = temporaryFolder();
  const file = join(folder, 'state', 'logins.json');
  const environment = { WRIT_LOGINS: file };
  const run = (...args: string[]) => launch([WRIT, ...args], folder, environment);
  return { file, environment, run, logIn: () => run('login', '--service', url) };
}

type User = ReturnType<typeof user>;

/** Opens the address that the program printed, and decides. */
async function decided(program: Launched, decision: Decision | 'refuse'): Promise<void> {
  const address = new URL(await seen(program, /^(http:\S+)\n/m));
  const person = personOver(url);
  await person.signIn(ALICE);
  const path = `${address.pathname}${address.search}`;
  const answer =
    decision === 'refuse'
      ? await person.send(await person.open(path), '/authorize', { answer: 'refuse' })
      : await consent(person, path, decision);
  const response = await fetch(locationOf(answer));
  assert.equal(response.status, 200);
}

async function loggedIn(one: User, decision: Decision = READS): Promise<void> {
  const program = one.logIn();
  await decided(program, decision);
  assert.equal(await program.ended, 0, program.output.err);
  assert.match(program.output.out, /^Logged in to http:\S+: travel\.search\n$/);
}

/** The exit code of a program that could not do it, and what it wrote beside the address to open. */
async function failed(program: Launched): Promise<[code: number | null, written: string]> {
  const code = await program.ended;
  const { out, err } = program.output;
  return [code, out + err.replace(/^Open this address to sign in:\nhttp:\S+\n/, '')];
}

interface Saved {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_at: string;
}

function savedIn({ file }: User): Saved {
  return JSON.parse(readFileSync(file, 'utf8'))[url];
}

test('writ login saves a delegation for this user alone', { timeout: SLOW }, async () => {
  const one = user();
  await loggedIn(one);

  assert.equal(statSync(one.file).mode & 0o777, 0o600);
  const { status } = await service.invoke(savedIn(one).access_token, 'search_flights', TRIP);
  assert.equal(status, 200);
});

test('writ audit query uses the login and renews it', { timeout: SLOW }, async () => {
  const one = user();
  await loggedIn(one);
  const before = savedIn(one);
  service.advance(61_000);
  const program = one.run('audit', 'query', '--service', url);

  assert.equal(await program.ended, 0, program.output.err);
  const after = savedIn(one);
  assert.notEqual(after.access_token, before.access_token);
  assert.notEqual(after.refresh_token, before.refresh_token);
  assert.equal(statSync(one.file).mode & 0o777, 0o600);

  const later = { ...after, expires_at: new Date(Date.now() + 3_600_000).toISOString() };
  writeFileSync(one.file, JSON.stringify({ [url]: later }), { mode: 0o600 });
  const next = one.run('audit', 'query', '--service', url);
  assert.equal(await next.ended, 0, next.output.err);
  assert.deepEqual(savedIn(one), later, 'a login that is not about to end is used as it is');
});

test('writ mcp uses the login and renews it while it runs', { timeout: SLOW }, async () => {
  const one = user();
  await loggedIn(one);
  const client = newAgent(VERSIONS[0]);
  const args = [WRIT, 'mcp', '--service', url];
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, env: one.environment }),
  );
  atEnd(() => client.close());
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['search_flights'],
  );
  service.advance(61_000);

  // Several calls at once find the same token about to end.
  const told = await Promise.all([1, 2, 3, 4].map(() => call(client, 'search_flights', TRIP)));
  assert.deepEqual(
    told.map(({ isError, text }) => (isError ? text : 'done')),
    ['done', 'done', 'done', 'done'],
  );
});

test('writ logout ends the delegation and forgets it', { timeout: SLOW }, async () => {
  const one = user();
  await loggedIn(one);
  const { access_token, refresh_token } = savedIn(one);
  const program = one.run('logout', '--service', url);

  assert.equal(await program.ended, 0, program.output.err);
  assert.equal(program.output.out, `Logged out of ${url}\n`);
  assert.equal(savedIn(one), undefined);
  assert.equal((await service.invoke(access_token, 'search_flights', TRIP)).status, 401);
  assert.doesNotMatch(readFileSync(one.file, 'utf8'), new RegExp(refresh_token));
  const [code, line] = await failed(one.run('logout', '--service', url));
  assert.deepEqual([code, line], [4, `Cannot log out: there is no login for "${url}"\n`]);
});

test('a file that others can read is refused', { timeout: SLOW }, async () => {
  const one = user();
  mkdirSync(dirname(one.file));
  writeFileSync(one.file, '{}');
  chmodSync(one.file, 0o640);
  const why = `others can read "${one.file}"; run: chmod 600 "${one.file}"`;
  const commands: [what: string, ...args: string[]][] = [
    ['Cannot log in', 'login'],
    ['Cannot log out', 'logout'],
    ['Cannot read the log', 'audit', 'query'],
    ['Cannot serve MCP', 'mcp'],
  ];
  const programs = commands.map(([, ...args]) => one.run(...args, '--service', url));

  for (const [place, [what]] of commands.entries()) {
    assert.deepEqual(await failed(programs[place] as Launched), [2, `${what}: ${why}\n`]);
  }
});

test('a refused consent saves nothing', { timeout: SLOW }, async () => {
  const one = user();
  const program = one.logIn();
  await decided(program, 'refuse');

  assert.deepEqual(await failed(program), [1, 'Cannot log in: you refused in the browser\n']);
  assert.equal(existsSync(one.file), false);
});

test('a delegation that ended meanwhile is named, and forgotten', { timeout: SLOW }, async () => {
  const one = user();
  await loggedIn(one);
  const body = new URLSearchParams({
    token: savedIn(one).refresh_token,
    client_id: 'writ-cli',
  });
  assert.equal((await fetch(`${url}/revoke`, { method: 'POST', body })).status, 200);
  const again = `run "writ login --service ${url}" again`;
  const [code, line] = await failed(one.run('mcp', '--service', url));

  assert.deepEqual(
    [code, line],
    [4, `Cannot serve MCP: the login at "${url}" has ended; ${again}\n`],
  );
  const [nextCode, next] = await failed(one.run('mcp', '--service', url));
  assert.equal(nextCode, 4);
  assert.match(next, /^Cannot serve MCP: there is no credential; /);
});

test('a service without sign-in is named', { timeout: SLOW }, async () => {
  const other = await listeningDesk({ settings: { identities: [] } });
  const one = user();

  const program = one.run('login', '--service', other.url);
  const why = `"${other.url}" has no sign-in; its operator can configure it`;
  assert.deepEqual(await failed(program), [2, `Cannot log in: ${why}\n`]);
  const [code, line] = await failed(one.run('login', '--service', 'http://127.0.0.1:1'));
  assert.deepEqual([code, line], [5, 'Cannot log in: "http://127.0.0.1:1" does not answer\n']);
});

test('an answer of another login does not count', { timeout: SLOW }, async () => {
  const one = user();
  const program = one.logIn();
  const address = new URL(await seen(program, /^(http:\S+)\n/m));
  const callback = new URL(address.searchParams.get('redirect_uri') as string);
  callback.search = new URLSearchParams({ code: 'injected', state: 'x', iss: url }).toString();
  await fetch(callback);

  assert.deepEqual(await failed(program), [2, 'Cannot log in: the answer is of another login\n']);
});
