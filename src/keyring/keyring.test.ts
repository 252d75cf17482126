import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../test/support/ends.ts';
import { keyFilesIn } from '../../test/support/key-files.ts';
import { PAYLOAD_BYTES_MAX } from '../domain/wire/jws.ts';
import { ROTATION_LEAD_MS, rotateKey } from './key-folder.ts';
import { type Keyring, openKeyring, TOKEN_LIFETIME_MAX_MS } from './keyring.ts';
import { RETIREMENT_SKEW_MS } from './timeline.ts';
import { ARTEFACTS, type KeyUse } from './wire.ts';

const START = Date.parse('2030-01-01T00:00:00.000Z');
const CLAIMS = Buffer.from('{"sub":"agent:a"}');
const { delegation, checkpoint } = ARTEFACTS;

test('rotateKey() publishes first, signs later, and retires after the longest token', () => {
  const { keyring, published, rotate, at } = opened();
  const first = keyring.kid('token');
  const old = sign(keyring, 'token');
  const { kid: second } = rotate('token');

  keyring.refresh();
  assert.deepEqual(published('token'), [first, second]);
  at(ROTATION_LEAD_MS - 1);
  assert.equal(keyring.kid('token'), first);
  const last = sign(keyring, 'token');

  at(ROTATION_LEAD_MS);
  assert.equal(keyring.kid('token'), second);
  const fresh = sign(keyring, 'token');
  const end = ROTATION_LEAD_MS + TOKEN_LIFETIME_MAX_MS + RETIREMENT_SKEW_MS;
  for (const time of [ROTATION_LEAD_MS, end - 1]) {
    at(time);
    assert.deepEqual(published('token'), [first, second]);
    for (const token of [old, last, fresh]) assert.ok(verifies(keyring, 'token', token));
  }

  at(end);
  assert.deepEqual(published('token'), [second]);
  for (const token of [old, last]) assert.equal(verifies(keyring, 'token', token), false);
  assert.ok(verifies(keyring, 'token', fresh));
});

test('rotateKey() lets what the next key signs be verified before its turn', () => {
  const { keyring, rotate, at, reopened } = opened();
  rotate('token');
  // A replica whose clock is ahead signs with the next key before ours thinks it is time.
  const ahead = reopened(ROTATION_LEAD_MS);

  keyring.refresh();
  at(0);
  assert.notEqual(ahead.kid('token'), keyring.kid('token'));
  assert.ok(verifies(keyring, 'token', sign(ahead, 'token')));
});

test('rotateKey() keeps log keys published for good', () => {
  const { keyring, published, rotate, at } = opened();
  const sealed = [sign(keyring, 'log')];
  for (let turn = 1; turn <= 2; turn += 1) {
    rotate('log');
    keyring.refresh();
    at(turn * ROTATION_LEAD_MS);
    sealed.push(sign(keyring, 'log'));
  }

  at(100 * 365 * 86_400_000);
  assert.equal(published('log').length, 3);
  for (const text of sealed) assert.ok(verifies(keyring, 'log', text));
});

test('openKeyring() keeps a retired token key for as long as it is told', () => {
  const { rotate, reopened, keyring } = opened({ tokenLifetimeMaxMs: 1_000 });
  const old = sign(keyring, 'token');
  rotate('token');

  const end = ROTATION_LEAD_MS + 1_000 + RETIREMENT_SKEW_MS;
  assert.ok(verifies(reopened(end - 1, 1_000), 'token', old));
  assert.equal(verifies(reopened(end, 1_000), 'token', old), false);
});

test('openKeyring() keeps it for the longest lifetime that was ever allowed', () => {
  const { rotate, reopened, keyring } = opened({ tokenLifetimeMaxMs: 5_000 });
  const old = sign(keyring, 'token');
  rotate('token');

  const end = ROTATION_LEAD_MS + 5_000 + RETIREMENT_SKEW_MS;
  assert.ok(verifies(reopened(end - 1, 1_000), 'token', old));
  assert.equal(verifies(reopened(end, 1_000), 'token', old), false);
});

for (const tokenLifetimeMaxMs of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
  test(`openKeyring() refuses a token lifetime of ${tokenLifetimeMaxMs}`, () => {
    assert.throws(() => opened({ tokenLifetimeMaxMs }), /Cannot keep keys for a token lifetime/);
  });
}

test('revision() grows exactly when the published set changes', () => {
  const { keyring, rotate, at } = opened();
  const seen = [keyring.revision(), keyring.revision()];
  rotate('token');
  seen.push(keyring.revision());
  keyring.refresh();
  seen.push(keyring.revision(), keyring.revision());
  at(ROTATION_LEAD_MS);
  seen.push(keyring.revision());
  at(ROTATION_LEAD_MS + TOKEN_LIFETIME_MAX_MS + RETIREMENT_SKEW_MS);
  seen.push(keyring.revision(), keyring.revision());

  assert.deepEqual(seen, [1, 1, 1, 2, 2, 2, 3, 3]);
});

test('refresh() ends a key that is marked compromised, also for what was verified before', () => {
  const { keyring, published, rotate, edit } = opened();
  const first = keyring.kid('token');
  const stolen = sign(keyring, 'token');
  const detached = keyring.signDetached('token', ARTEFACTS.grant.typ, CLAIMS);
  assert.ok(verifies(keyring, 'token', stolen));
  const { kid: second } = rotate('token', 0);

  edit('token-0001.json', (content) => ({ ...content, compromised: true }));
  keyring.refresh();

  assert.deepEqual(published('token'), [second]);
  assert.equal(keyring.kid('token'), second);
  assert.equal(verifies(keyring, 'token', stolen), false);
  const { typ } = ARTEFACTS.grant;
  assert.equal(keyring.verifyDetached('token', typ, detached, CLAIMS), undefined);
  assert.notEqual(first, second);
});

test('refresh() lets the next key sign at once when the current one is compromised', () => {
  const { keyring, rotate, edit } = opened();
  const { kid: second } = rotate('token');

  edit('token-0001.json', (content) => ({ ...content, compromised: true }));
  keyring.refresh();

  assert.equal(keyring.kid('token'), second);
});

test('signer() signs with the key that it names, also when the next one signs', async () => {
  const { keyring, rotate } = opened();
  const signer = keyring.signer('token');
  const { kid: second } = rotate('token', 0);
  keyring.refresh();

  const text = await signer.sign(delegation.typ, CLAIMS);

  assert.equal(keyring.kid('token'), second);
  assert.equal(keyring.verify('token', delegation.typ, text as string)?.kid, signer.kid);
  assert.notEqual(signer.kid, second);
});

test('signer() signs nothing once its key is compromised, and again when that was a mistake', async () => {
  const { keyring, rotate, edit } = opened();
  const signer = keyring.signer('token');
  rotate('token', 0);
  const signing = signer.sign(delegation.typ, CLAIMS);
  edit('token-0001.json', (content) => ({ ...content, compromised: true }));
  keyring.refresh();

  // The one that was under way is not given out either.
  assert.equal(await signing, undefined);
  assert.equal(await signer.sign(delegation.typ, CLAIMS), undefined);

  edit('token-0001.json', (content) => ({ ...content, compromised: false }));
  keyring.refresh();
  const text = await signer.sign(delegation.typ, CLAIMS);
  assert.ok(verifies(keyring, 'token', text as string));
});

test('signer() makes what sign() makes, for many payloads at once', async () => {
  const { keyring } = opened();
  const signer = keyring.signer('token');
  const payloads = Array.from({ length: 50 }, (_, index) => Buffer.from(`{"jti":"${index}"}`));

  const texts = await Promise.all(payloads.map((payload) => signer.sign(delegation.typ, payload)));

  for (const [index, payload] of payloads.entries()) {
    const [signed] = (texts[index] as string).split(/\.[^.]*$/);
    assert.equal(signed, keyring.sign('token', delegation.typ, payload).split(/\.[^.]*$/)[0]);
    const verified = keyring.verify('token', delegation.typ, texts[index] as string);
    assert.deepEqual(Buffer.from(verified?.payload ?? []), payload);
  }
  const long = Buffer.alloc(PAYLOAD_BYTES_MAX + 1, 'x');
  await assert.rejects(
    signer.sign(delegation.typ, long),
    /^RangeError: Cannot sign .* bytes, 1 to/,
  );
  await assert.rejects(signer.sign(delegation.typ, Buffer.alloc(0)), /the payload has 0 bytes/);
});

test('signer() says so when every key is compromised', () => {
  const { keyring, edit } = opened();
  edit('token-0001.json', (content) => ({ ...content, compromised: true }));

  keyring.refresh();

  assert.throws(() => keyring.signer('token'), /^Error: Cannot sign: no token key may be used$/);
});

test('refresh() ends a log key too when it is compromised', () => {
  const { keyring, rotate, edit } = opened();
  const sealed = sign(keyring, 'log');
  rotate('log', 0);

  edit('log-0001.json', (content) => ({ ...content, compromised: true }));
  keyring.refresh();

  assert.equal(verifies(keyring, 'log', sealed), false);
});

test('refresh() takes a mark back when it was a mistake', () => {
  const { keyring, rotate, edit } = opened();
  const token = sign(keyring, 'token');
  rotate('token');
  edit('token-0001.json', (content) => ({ ...content, compromised: true }));
  keyring.refresh();

  edit('token-0001.json', (content) => ({ ...content, compromised: false }));
  keyring.refresh();

  assert.ok(verifies(keyring, 'token', token));
});

test('sign() says so when every key is compromised, and a restart says how to mend it', () => {
  const { keyring, edit, reopened, warnings, rotate } = opened();
  const token = sign(keyring, 'token');
  edit('token-0001.json', (content) => ({ ...content, compromised: true }));

  keyring.refresh();

  assert.throws(() => sign(keyring, 'token'), /^Error: Cannot sign: no token key may be used$/);
  assert.equal(verifies(keyring, 'token', token), false);
  assert.match(warnings.join(), /^Cannot sign with a token key: .* rotate with a lead of 0$/);
  assert.throws(() => reopened(0), /every one in ".*" is compromised; rotate with a lead of 0/);

  rotate('token', 0);
  keyring.refresh();
  assert.ok(verifies(keyring, 'token', sign(keyring, 'token')));
});

type Damage = (folder: string) => void;
const damages: [name: string, damage: Damage, warning: RegExp][] = [
  ['a damaged file', (f) => writeFileSync(join(f, 'token-0001.json'), '{'), /it is not JSON/],
  ['an empty file', (f) => writeFileSync(join(f, 'token-0001.json'), ''), /it is not JSON/],
  ['a readable file', (f) => chmodSync(join(f, 'token-0001.json'), 0o644), /chmod 600/],
  ['no file of this use', (f) => rmSync(join(f, 'token-0001.json')), /Cannot find a token key/],
  [
    'a key twice',
    (f) => copyFileSync(join(f, 'token-0001.json'), join(f, 'token-0002.json')),
    /same/,
  ],
  ['no folder', (f) => renameSync(f, `${f}.away`), /Cannot read key folder ".*": ENOENT/],
];
for (const [name, damage, warning] of damages) {
  test(`refresh() keeps the old keys and says why when it finds ${name}`, () => {
    const { keyring, folder, warnings } = opened();
    const before = keyring.jwks();
    const token = sign(keyring, 'token');

    damage(folder);
    keyring.refresh();

    assert.deepEqual(keyring.jwks(), before);
    assert.ok(verifies(keyring, 'token', token));
    assert.ok(verifies(keyring, 'token', sign(keyring, 'token')));
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? '', warning);
  });
}

test('refresh() still ends a compromised key when another file is damaged', () => {
  const { keyring, folder, rotate, edit } = opened();
  const stolen = sign(keyring, 'token');
  const { kid: second } = rotate('token', 0);
  keyring.refresh();

  writeFileSync(join(folder, 'token-0002.json'), '{');
  edit('token-0001.json', (content) => ({ ...content, compromised: true }));
  keyring.refresh();

  assert.equal(verifies(keyring, 'token', stolen), false);
  assert.equal(keyring.kid('token'), second);
});

test('refresh() says the same thing once, and again after it was mended', () => {
  const { keyring, folder, warnings } = opened();
  const path = join(folder, 'token-0001.json');
  const refreshAt = (mode: number) => {
    chmodSync(path, mode);
    keyring.refresh();
  };

  for (const mode of [0o644, 0o644, 0o600, 0o644]) refreshAt(mode);

  assert.equal(warnings.length, 2);
});

test('refresh() ends a key whose file was taken away', () => {
  const { keyring, folder, rotate } = opened();
  const token = sign(keyring, 'token');
  rotate('token', 0);
  rmSync(join(folder, 'token-0001.json'));

  keyring.refresh();

  assert.equal(verifies(keyring, 'token', token), false);
});

test('openKeyring() reads the folder again by itself until it is closed', async () => {
  const { keyring, published, rotate } = opened({ rereadMs: 5 });
  const { kid } = rotate('token');
  while (!published('token').includes(kid)) await delay(5);

  keyring.close();
  const { kid: unseen } = rotate('token');
  await delay(50);

  assert.equal(published('token').includes(unseen), false);
});

interface Content {
  readonly kid: string;
  readonly jwk: Record<string, string>;
}

/** A keyring on a folder of its own, under a clock that is set by `at`, counted from the start. */
function opened(options: { tokenLifetimeMaxMs?: number; rereadMs?: number } = {}) {
  const folder = join(temporaryFolder(), 'keys');
  const warnings: string[] = [];
  let now = START;
  const onWarning = (message: string) => void warnings.push(message);
  const keyring = openKeyring({ folder }, { now: () => new Date(now), onWarning, ...options });
  // Only the test of the timer wants it: the others refresh when they mean to.
  if (options.rereadMs === undefined) keyring.close();

  const contentOf = (name: string): Content => JSON.parse(readFileSync(join(folder, name), 'utf8'));
  return {
    keyring,
    folder,
    warnings,
    contentOf,
    published: (use: KeyUse) => {
      const names = keyFilesIn(folder).filter((name) => name.startsWith(use));
      const own = new Set(names.map((name) => contentOf(name).kid));
      return keyring
        .jwks()
        .keys.map(({ kid }) => kid)
        .filter((kid) => own.has(kid));
    },
    at: (elapsedMs: number) => {
      now = START + elapsedMs;
    },
    rotate: (use: KeyUse, leadMs?: number) =>
      rotateKey(folder, use, { now: new Date(now), leadMs }),
    edit: (name: string, change: (content: Content) => object) => {
      writeFileSync(join(folder, name), JSON.stringify(change(contentOf(name))));
    },
    reopened: (elapsedMs: number, tokenLifetimeMaxMs?: number) => {
      const clock = () => new Date(START + elapsedMs);
      const other = openKeyring({ folder }, { now: clock, onWarning, tokenLifetimeMaxMs });
      other.close();
      return other;
    },
  };
}

function typOf(use: KeyUse) {
  return use === 'token' ? delegation.typ : checkpoint.typ;
}

function sign(keyring: Keyring, use: KeyUse): string {
  return keyring.sign(use, typOf(use), CLAIMS);
}

function verifies(keyring: Keyring, use: KeyUse, text: string): boolean {
  return keyring.verify(use, typOf(use), text) !== undefined;
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
