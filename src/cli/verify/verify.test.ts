import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../../test/support/ends.ts';
import {
  CLAIMS,
  cosigned,
  fileOf,
  grant,
  JWKS,
  LOG_KID,
  LOG_VKEY,
  logLines,
  manifest,
  SERVICE,
  smallLog,
  token,
  WITNESS_VKEY,
} from '../../../test/verify/artefacts.ts';
import { main } from '../main.ts';

const folder = temporaryFolder();

function save(name: string, value: unknown): string {
  const file = join(folder, name);
  const isRaw = typeof value === 'string' || value instanceof Uint8Array;
  writeFileSync(file, isRaw ? value : JSON.stringify(value));
  return file;
}

async function writ(args: string[], input?: string) {
  const [out, err]: [string[], string[]] = [[], []];
  const status = await main(['verify', ...args], {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env: {},
    ...(input !== undefined && { input: async () => input }),
  });
  return { status, out: out.join(''), err: err.join('') };
}

const log = smallLog();
const [earlier, later] = log.checkpoints;
const keys = ['--jwks', save('jwks.json', JWKS)];
const named = [...keys, '--service-id', SERVICE];

const entry = save('entry.json', log.entries[3]);
const answer = save('answer.json', { entries: [log.entries[3]], count: 1, next_cursor: null });
const proved = save('proved.json', { ...later, inclusion_proof: log.inclusion(3, 5) });
const before = save('earlier.json', earlier);
const after = save('later.json', { ...later, consistency_proof: log.consistency(2, 5) });
const receipt = save('receipt.json', {
  entry_id: log.entries[3]?.entry_id,
  leaf_hash: log.entries[3]?.leaf_hash,
});
const body = save('manifest.json', manifest().body);
const file = save('log.jsonl', fileOf(logLines(log)));

const verified: [name: string, args: string[]][] = [
  ['a token', ['token', save('token', `${token()}\n`), ...keys]],
  ['a manifest', ['manifest', body, '--signature', manifest().signature, ...keys]],
  ['a grant', ['grant', save('grant.json', grant()), ...keys]],
  ['a checkpoint', ['checkpoint', before, ...named]],
  ['a checkpoint by its vkey', ['checkpoint', before, '--vkey', LOG_VKEY, '--service-id', SERVICE]],
  ['an entry', ['entry', entry, proved, ...named]],
  ['an entry as the service answers', ['entry', answer, proved, ...named]],
  ['consistency', ['consistency', before, after, ...named]],
  ['a receipt', ['receipt', receipt, proved, ...named]],
  ['a receipt in a log', ['receipt', receipt, '--log', file, ...named]],
  ['a log by a pinned key', ['log', file, '--pin', LOG_KID]],
];
for (const [name, args] of verified) {
  test(`writ verify ends with 0 on ${name} in files`, async () => {
    const { status, out, err } = await writ(args);

    assert.equal(err, '');
    assert.match(out, /\nVerified\n$/);
    assert.equal(status, 0);
  });
}

test('writ verify token reads standard input, and prints nothing of the token', async () => {
  const text = token();
  const { status, out } = await writ(['token', ...keys], text);

  assert.equal(status, 0);
  for (const part of text.split('.')) assert.equal(out.includes(part), false);
});

test('writ verify ends with 1 when a check failed, and shows which', async () => {
  const changed = save('changed.json', { ...later, sequence: 9 });
  const { status, out } = await writ(['checkpoint', changed, ...named]);

  assert.equal(status, 1);
  assert.match(out, /^FAILED {7}signature /m);
  assert.match(out, /\nNot verified: it failed\n$/);
});

test('writ verify ends with 2 when something could not be checked, and says why', async () => {
  const missing = await writ(['entry', entry, before, ...named]);
  const unseen = await writ(['checkpoint', before, ...named, '--vkey', WITNESS_VKEY]);
  const seen = save('seen.json', { ...later, tree_head: cosigned(later?.tree_head ?? '') });

  assert.equal(missing.status, 2);
  assert.match(missing.out, /^not checked {2}inclusion +there is no inclusion proof$/m);
  assert.match(missing.out, /\nNot verified: not all could be checked\n$/);
  assert.equal(unseen.status, 2);
  assert.equal((await writ(['checkpoint', seen, ...named, '--vkey', WITNESS_VKEY])).status, 0);
});

test('writ verify --json prints the report', async () => {
  const { status, out } = await writ(['checkpoint', before, ...named, '--json']);
  const report = JSON.parse(out);

  assert.equal(status, 0);
  assert.equal(report.what, 'checkpoint');
  assert.equal(report.verdict, 'verified');
  assert.deepEqual(report.checks[0], {
    what: 'form',
    outcome: 'ok',
    detail: 'svc-checkpoint+jws',
  });
});

test('writ verify lets no text of others steer the terminal', async () => {
  const subject = 'agent:\u001b[31mred\u202e';
  const { out } = await writ(['token', ...keys], token({ ...CLAIMS, sub: subject }));

  assert.match(out, /FAILED +claims/);
  assert.equal(out.includes('\u001b') || out.includes('\u202e'), false);
});

const refusals: [name: string, args: string[], why: RegExp][] = [
  ['an unknown kind', ['passport'], /unknown command "passport"/],
  ['no key', ['grant', join(folder, 'grant.json')], /no key to check with/],
  ['no service', ['checkpoint', before, ...keys], /no service is named/],
  [
    'a file that is not there',
    ['grant', join(folder, 'none'), ...keys],
    /cannot be read \(ENOENT\)/,
  ],
  ['a log that is not there', ['log', join(folder, 'none')], /ENOENT/],
  ['a file that is not JSON', ['grant', file, ...keys], /is not JSON/],
  ['a file too many', ['grant', before, after, ...keys], /too many arguments/],
  ['a key that is none', ['log', file, '--vkey', 'x'], /is not a key of the form/],
  [
    'a set that is none',
    ['grant', join(folder, 'grant.json'), '--jwks', before],
    /keys cannot be used/,
  ],
  [
    'an export that is not there',
    ['log', join(folder, 'absent')],
    /: ".*absent" cannot be read \(ENOENT\)$/m,
  ],
  ['an address that is none', ['checkpoint', '--service', 'ftp://desk'], /is not an address/],
  [
    'an address with a password',
    ['checkpoint', '--service', 'http://a:b@desk'],
    /is not an address/,
  ],
];
for (const [name, args, why] of refusals) {
  test(`writ verify ends with 2 when given ${name}`, async () => {
    const { status, err } = await writ(args);

    assert.equal(status, 2);
    assert.match(err, /^Cannot (?:verify|run "writ verify.*"): .*\n$/);
    assert.match(err, why);
  });
}

test('writ verify ends with 5 when the service does not answer', async () => {
  const { status, err } = await writ(['checkpoint', '--service', 'http://127.0.0.1:1']);

  assert.equal(status, 5);
  assert.match(err, /^Cannot verify: "http:.*" does not answer/);
});

test('writ verify --help tells its kinds, and that of a kind the exit codes', async () => {
  const { status, out } = await writ(['--help']);
  const log = await writ(['log', '--help']);

  assert.deepEqual([status, log.status], [0, 0]);
  assert.match(out, /consistency .*\n.*\n? *entry /);
  assert.match(log.out, /Exit status:\n {2}0 {2}everything verified/);
});
