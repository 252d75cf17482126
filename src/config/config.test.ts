import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'vitest';
import { temporaryFolder } from '../../test/support/ends.ts';
import { ConfigError, configOf, loadConfig, Settings } from './config.ts';

const SECRET = 'hunter2-canary';
const HASH = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const ALICE = { principal: 'human:alice', key: SECRET };

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

/** The lines of the error, without its first. Fails when a secret is among them. */
function faultsOf(settings: object): string[] {
  return linesOf(assert.throws.bind(assert), () => configOf(settings, '/srv'));
}

function linesOf(throws: typeof assert.throws, act: () => unknown): string[] {
  let lines: string[] = [];
  throws(act, (error: Error) => {
    lines = faultLines(error);
    return true;
  });
  return lines;
}

function faultLines(error: unknown): string[] {
  assert.ok(error instanceof ConfigError);
  assert.doesNotMatch(error.message, new RegExp(SECRET));
  const [first, ...lines] = error.message.split('\n');
  assert.equal(first, 'Cannot start with this configuration:');
  return lines.map((line) => line.trim());
}

describe('defaults', () => {
  test('configOf() fills in everything, with absolute paths', () => {
    const config = configOf({}, '/srv');

    assert.equal(config.host, '127.0.0.1');
    assert.equal(config.port, 8420);
    assert.equal(config.data, '/srv/.writ');
    assert.equal(config.store, 'sqlite:/srv/.writ/writ.db');
    assert.equal(config.keys, '/srv/.writ/keys');
    assert.equal(config.public_url, undefined);
    assert.equal(config.max_ttl_hours, 720);
    assert.equal(config.max_delegation_depth, 5);
    assert.deepEqual(config.identities, []);
    assert.deepEqual(config.disclosure, {
      internal: 'full',
      partner: 'reduced',
      automated_agent: 'full',
      default: 'reduced',
    });
  });

  test('configOf() derives store and keys from the data folder', () => {
    const config = configOf({ data: 'd' }, '/srv');

    assert.equal(config.store, 'sqlite:/srv/d/writ.db');
    assert.equal(config.keys, '/srv/d/keys');
  });

  test('configOf() makes the path of a SQLite store absolute and leaves other stores', () => {
    assert.equal(configOf({ store: 'sqlite:a/b.db' }, '/srv').store, 'sqlite:/srv/a/b.db');
    assert.equal(configOf({ store: 'sqlite:/a/b.db' }, '/srv').store, 'sqlite:/a/b.db');
    assert.equal(configOf({ store: 'memory:' }, '/srv').store, 'memory:');
    assert.equal(configOf({ store: 'postgres://db/x' }, '/srv').store, 'postgres://db/x');
  });

  test('configOf() drops the slash at the end of the public address', () => {
    const { public_url } = configOf({ public_url: 'https://desk.example.com/' }, '/srv');

    assert.equal(public_url, 'https://desk.example.com');
  });

  test('configOf() lets one class be told more without forgetting the others', () => {
    const { disclosure } = configOf({ disclosure: { partner: 'redacted' } }, '/srv');

    assert.equal(disclosure.partner, 'redacted');
    assert.equal(disclosure.default, 'reduced');
  });

  test('configOf() reads the short form of OIDC as one more issuer', () => {
    const settings = { oidc_issuer_url: 'https://id.example.com', oidc_audience: 'desk' };

    const [issuer, ...others] = configOf(settings, '/srv').oidc;

    assert.equal(issuer?.issuer, 'https://id.example.com');
    assert.equal(issuer?.audience, 'desk');
    assert.deepEqual(others, []);
  });
});

describe('values that cannot be used', () => {
  const PORT_EXPECTED = /^Cannot use setting "port": expected a whole number from 0 to 65535$/;
  const rows: [name: string, settings: object, fault: RegExp][] = [
    [
      'an unknown setting',
      { hots: 'x' },
      /^Cannot use setting "hots": there is no such setting; did you mean "host"\?$/,
    ],
    [
      'an unknown field of a list',
      { identities: [{ ...ALICE, scope: ['a'] }] },
      /^Cannot use setting "identities.0.scope": there is no such setting; docs\/configuration\.md lists/,
    ],
    ['a port out of range', { port: 70_000 }, PORT_EXPECTED],
    ['the port after the last', { port: '65536' }, PORT_EXPECTED],
    ['a negative port', { port: -1 }, PORT_EXPECTED],
    ['half a port', { port: 80.5 }, PORT_EXPECTED],
    ['a port in words', { port: 'http' }, /^Cannot use setting "port": expected a number$/],
    ['a port in hex', { port: '0x50' }, /^Cannot use setting "port": expected a number$/],
    ['a port with a power', { port: '1e3' }, /^Cannot use setting "port": expected a number$/],
    ['no port at all', { port: null }, /^Cannot use setting "port": expected a number$/],
    ['a port that is a list', { port: [] }, /^Cannot use setting "port": expected a number$/],
    ['a port that is true', { port: true }, /^Cannot use setting "port": expected a number$/],
    ['an empty host', { host: '' }, /^Cannot use setting "host": expected a text, not an empty/],
    ['another scheme', { public_url: 'ftp://x' }, /"public_url": expected an address such as http/],
    ['no address', { public_url: 'desk' }, /"public_url": expected an address such as https:/],
    [
      'a rate in words',
      { rate_limit: 'often' },
      /"rate_limit": expected <calls>\/<duration>, such as/,
    ],
    ['a list that is a text', { webhooks: 'x' }, /"webhooks": expected a list$/],
    [
      'an unknown store',
      { store: `mysql://root:${SECRET}@db/x` },
      /^Cannot use setting "store": expected memory:, sqlite:<file> or postgres:/,
    ],
    ['a store that is not a text', { store: { url: SECRET } }, /^Cannot use setting "store": /],
    [
      'an unknown level',
      { log_level: 'loud' },
      /"log_level": expected "fatal" or "error" or "warn"/,
    ],
    ['no lifetime', { max_ttl_hours: 0 }, /"max_ttl_hours": expected more than 0$/],
    [
      'too great a depth',
      { max_delegation_depth: 33 },
      /^Cannot use setting "max_delegation_depth"/,
    ],
    ['a class in capitals', { disclosure: { Partner: 'full' } }, /^Cannot use setting "disclosure/],
    [
      'an unknown level of disclosure',
      { disclosure: { partner: 'some' } },
      /^Cannot use setting "disclosure.par/,
    ],
    [
      'an identity without a credential',
      { identities: [{ principal: 'human:alice' }] },
      /^Cannot use setting "identities.0": expected exactly one of "key" and "key_sha256"$/,
    ],
    [
      'an identity with two credentials',
      { identities: [{ ...ALICE, key_sha256: HASH }] },
      /^Cannot use setting "identities.0": expected exactly one of "key" and "key_sha256"$/,
    ],
    [
      'a hash that is none',
      { identities: [{ principal: 'human:alice', key_sha256: SECRET }] },
      /^Cannot use setting "identities.0.key_sha256": expected 64 lower-case hex digits$/,
    ],
    [
      'an identity of no class',
      { identities: [{ ...ALICE, principal: 'alice' }] },
      /^Cannot use setting "identities.0.principal": /,
    ],
    [
      'an identity with an invisible letter',
      { identities: [{ ...ALICE, principal: 'human:al\u200bice' }] },
      /^Cannot use setting "identities.0.principal": ".*" is not a principal$/,
    ],
    [
      'a scope that entitles to nothing',
      { identities: [{ ...ALICE, scopes: ['travel.*', '*'] }] },
      /^Cannot use setting "identities.0.scopes": "\*" is neither a scope nor a pattern$/,
    ],
    [
      'a subject that means nobody',
      { identities: [{ ...ALICE, subjects: ['*'] }] },
      /^Cannot use setting "identities.0.subjects": "\*" is neither a principal nor a pattern with one "\*"$/,
    ],
    [
      'a rule for nobody',
      { entitlements: [{ principals: ['alice@*'] }] },
      /^Cannot use setting "entitlements.0.principals": "alice@\*" is neither a principal nor a pattern/,
    ],
    [
      'a rule that entitles to nothing',
      { entitlements: [{ principals: ['human:*'], scopes: ['a b'] }] },
      /^Cannot use setting "entitlements.0.scopes": "a b" is neither a scope nor a pattern$/,
    ],
    [
      'an actor policy that no store can keep',
      { actor_policies: [{ principals: ['agent:x'], inputs: { a: { value: 'a\0b' } } }] },
      /^Cannot use setting "actor_policies.0.inputs.a.value": expected a JSON value/,
    ],
    [
      'an actor policy for nobody',
      { actor_policies: [{ principals: ['*:x'], inputs: {} }] },
      /^Cannot use setting "actor_policies.0.principals": "\*:x" is neither a principal nor a pattern/,
    ],
  ];
  for (const [name, settings, fault] of rows) {
    test(`configOf() refuses ${name}`, () => {
      const faults = faultsOf(settings);

      assert.equal(faults.length, 1, faults.join('\n'));
      assert.match(faults[0] ?? '', fault);
    });
  }

  test('configOf() takes a number as text, as the environment has it', () => {
    const config = configOf({ port: '0', max_ttl_hours: '0.5' }, '/srv');

    assert.equal(config.port, 0);
    assert.equal(config.max_ttl_hours, 0.5);
  });
});

describe('contradictions', () => {
  test('configOf() refuses half of OIDC, either half', () => {
    const fault =
      'Cannot use OIDC: OIDC_ISSUER_URL and OIDC_AUDIENCE are set together or not at all';

    assert.deepEqual(faultsOf({ oidc_issuer_url: 'https://id.example.com' }), [fault]);
    assert.deepEqual(faultsOf({ oidc_audience: 'desk' }), [fault]);
  });

  test('configOf() refuses successors of keys that are not in the environment', () => {
    const [fault = ''] = faultsOf({ successors: 'a.b.c' });

    assert.match(fault, /WRIT_SUCCESSORS without WRIT_TOKEN_KEYS/);
  });

  test('configOf() refuses half of the keys, either half, and prints none', () => {
    for (const setting of ['token_keys', 'log_keys', 'row_keys']) {
      const [fault, ...others] = faultsOf({ [setting]: SECRET });

      assert.match(
        fault ?? '',
        /WRIT_TOKEN_KEYS, WRIT_LOG_KEYS and WRIT_ROW_KEYS are set together or not at all$/,
      );
      assert.deepEqual(others, []);
    }
  });

  const demo = { ...ALICE, demo: true };
  for (const host of ['0.0.0.0', '::', '192.0.2.7', 'desk.example.com', '127.0.0.1.example.com']) {
    test(`configOf() refuses demo credentials on ${host}`, () => {
      const [fault, ...others] = faultsOf({ host, identities: [demo] });

      assert.match(fault ?? '', /with the demo credentials of human:alice: they are public/);
      assert.deepEqual(others, []);
    });

    test(`configOf() takes other credentials on ${host}`, () => {
      assert.equal(configOf({ host, identities: [ALICE] }, '/srv').host, host);
    });
  }
  for (const host of ['127.0.0.1', '127.8.9.10', '::1', 'localhost']) {
    test(`configOf() takes demo credentials on ${host}`, () => {
      assert.equal(configOf({ host, identities: [demo] }, '/srv').host, host);
    });
  }

  test('configOf() refuses one credential for two identities, in whichever form it is given', () => {
    const bob = { principal: 'human:bob', key: 'test' };
    const hashed = {
      principal: 'human:carol',
      key_sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    };
    const fault = /^Cannot distinguish the identities: the credential of human:\w+ appears twice$/;

    for (const identities of [
      [ALICE, { ...ALICE, principal: 'human:bob' }],
      [hashed, { ...hashed, principal: 'human:dave' }],
      [bob, hashed],
    ]) {
      assert.match(faultsOf({ identities })[0] ?? '', fault);
    }
  });
});

describe('all faults at once', () => {
  test('configOf() lists unknown, unusable and contradicting settings together', () => {
    const faults = faultsOf({
      hots: 'x',
      prot: 1,
      port: 'x',
      log_level: 'loud',
      token_keys: SECRET,
      oidc_audience: 'desk',
      identities: [{ principal: 'x', key: SECRET }, { principal: 'human:b' }],
    });

    assert.equal(faults.length, 8, faults.join('\n'));
    for (const word of [
      'hots',
      'prot',
      'setting "port"',
      'log_level',
      'identities.0',
      'identities.1',
    ]) {
      assert.equal(faults.filter((fault) => fault.includes(word)).length, 1, word);
    }
    assert.ok(faults.some((fault) => fault.startsWith('Cannot use OIDC')));
    assert.ok(faults.some((fault) => fault.startsWith('Cannot use keys of the environment')));
  });

  test('configOf() finds no contradiction with a setting that cannot be used anyway', () => {
    const faults = faultsOf({ oidc_issuer_url: 'x', oidc_audience: 'desk' });

    assert.equal(faults.length, 1, faults.join('\n'));
    assert.match(faults[0] ?? '', /"oidc_issuer_url"/);
  });
});

describe('where a setting comes from', () => {
  test('loadConfig() lets the environment win over the file, and the file over the program', async () => {
    writeFileSync(join(folder, 'writ.config.yaml'), 'port: 2\nlog_level: error\n');
    const given = { port: 1, log_level: 'fatal', max_delegation_depth: 1 } as const;

    const config = await loadConfig(folder, given, { PORT: '3' });

    assert.equal(config.port, 3);
    assert.equal(config.log_level, 'error');
    assert.equal(config.max_delegation_depth, 1);
    assert.equal(config.stop_grace_seconds, 25);
  });

  test('loadConfig() keeps the port open for five seconds at a stop, and on loopback not at all', async () => {
    const delayOf = async (environment: Record<string, string>) =>
      (await loadConfig(folder, { mark: 'none' }, environment)).stop_delay_seconds;

    assert.equal(await delayOf({}), 0);
    assert.equal(await delayOf({ HOST: '::1' }), 0);
    assert.equal(await delayOf({ HOST: '0.0.0.0' }), 5);
    assert.equal(await delayOf({ HOST: '0.0.0.0', WRIT_STOP_DELAY_SECONDS: '0' }), 0);
    assert.equal(await delayOf({ WRIT_STOP_DELAY_SECONDS: '12' }), 12);
    await assert.rejects(delayOf({ WRIT_STOP_DELAY_SECONDS: '601' }), /stop_delay_seconds/);
  });

  test('loadConfig() takes an empty variable for none, and leaves those of others alone', async () => {
    const others = {
      HOME: '/x',
      WRIT_TEST_REPORT: 'x',
      WRIT_CLIENT_CREDENTIAL: 'x',
      WRIT_LOGINS: 'x',
    };
    const environment = { PORT: '', WRIT_STORE: '', ...others };

    const config = await loadConfig(folder, { port: 1 }, environment);

    assert.equal(config.port, 1);
  });

  test('loadConfig() knows a variable for every setting that is no list', async () => {
    const lists = [
      'oidc',
      'disclosure',
      'entitlements',
      'actor_policies',
      'identities',
      'webhooks',
      'retention',
      'witnesses',
      'sign_in',
    ];
    const { ENVIRONMENT } = await import('./config.ts');

    assert.deepEqual(
      Object.keys(Settings.shape).filter((name) => !lists.includes(name)),
      Object.keys(ENVIRONMENT),
    );
  });
});
