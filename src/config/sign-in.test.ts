import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../test/support/ends.ts';
import { configOf, loadConfig } from './config.ts';

const SECRET = 'hunter2-canary';
const ISSUER = { issuer: 'https://login.example', audience: 'desk' };
const CLIENT = { client_id: 'desk-web' };

const provider = (client: object) => ({ oidc: [{ ...ISSUER, sign_in: { ...CLIENT, ...client } }] });

/** The message of the fault. Fails when the secret is in it. */
function faultOf(settings: object): string {
  try {
    configOf(settings, '/srv');
  } catch (error) {
    const { message } = error as Error;
    assert.ok(!message.includes(SECRET));
    return message;
  }
  return '';
}

test('configOf() fills in the members of sign_in', () => {
  const { sign_in, oidc } = configOf(provider({}), '/srv');

  assert.deepEqual(sign_in, {
    session_hours: 12,
    idle_minutes: 60,
    access_minutes: 15,
    clients: [],
    registration: 'off',
    inside_hosts: [],
    step_up: [],
  });
  assert.deepEqual(oidc[0]?.sign_in, {
    client_id: 'desk-web',
    scopes: ['openid', 'email'],
    check: 'none',
  });
});

const signIn = (members: object) => ({ sign_in: members });
const client = (members: object) =>
  signIn({ clients: [{ client_id: 'c', name: 'C', redirect_uris: ['cursor://x'], ...members }] });

const faults: [what: string, settings: object, fault: RegExp][] = [
  [
    'both forms of a secret',
    provider({ client_secret: SECRET, client_secret_env: 'X' }),
    /"oidc\.0\.sign_in": expected at most one of "client_secret" and "client_secret_env"$/m,
  ],
  ['a secret that is not a text', provider({ client_secret: [SECRET] }), /sign_in\.client_secret"/],
  [
    'a variable of the settings as the secret',
    provider({ client_secret_env: 'WRIT_ROW_KEYS' }),
    /client_secret_env": expected another name: variables that begin with WRIT_ are settings$/m,
  ],
  [
    'a value in place of the name of a variable',
    provider({ client_secret_env: `${SECRET}!` }),
    /client_secret_env": expected the name of an environment variable$/m,
  ],
  ['scopes without openid', provider({ scopes: ['email'] }), /expected "openid" among the scopes/],
  ['a scope with a space', provider({ scopes: ['openid a'] }), /expected a scope without spaces/],
  ['another check', provider({ check: 'always' }), /expected "refresh" or "none"/],
  ['an unknown member', signIn({ session_hour: 1 }), /"sign_in\.session_hour": there is no such/],
  [
    'a session without end',
    signIn({ session_hours: 721 }),
    /expected a whole number from 1 to 720/,
  ],
  ['a step-up of nothing', signIn({ step_up: [{ scopes: ['a'] }] }), /"max_age_minutes", "acr" or/],
  [
    'a pattern that matches no scope',
    signIn({ step_up: [{ scopes: ['*'], acr: 'mfa' }] }),
    /step_up\.0\.scopes\.0": expected a scope, prefix\.\* or word:\*/,
  ],
  [
    'two values as one acr',
    signIn({ step_up: [{ scopes: ['a'], acr: 'one two' }] }),
    /expected one value without spaces/,
  ],
  ['a client without redirects', client({ redirect_uris: [] }), /expected at least 1 items/],
  [
    'a redirect with a fragment',
    client({ redirect_uris: ['https://a/#b'] }),
    /redirect_uris\[0\]: it has a fragment/,
  ],
  [
    'a relative redirect',
    client({ redirect_uris: ['/callback'] }),
    /redirect_uris\[0\]: it is not absolute/,
  ],
  [
    'one client twice',
    signIn({
      clients: [0, 1].map(() => ({ client_id: 'c', name: 'C', redirect_uris: ['cursor://x'] })),
    }),
    /expected a client_id of its own/,
  ],
  ['a URL as a host', signIn({ metadata_hosts: ['https://a.example'] }), /expected a host/],
  ['a host in upper case', signIn({ metadata_hosts: ['A.example'] }), /expected a host/],
];
for (const [what, settings, fault] of faults) {
  test(`configOf() refuses ${what}`, () => {
    assert.match(faultOf(settings), fault);
  });
}

const reached: [settings: object, isRefused: boolean][] = [
  [{}, false],
  [{ public_url: 'https://desk.example' }, false],
  [{ host: '0.0.0.0', public_url: 'https://desk.example' }, false],
  [{ host: '0.0.0.0', public_url: 'http://127.0.0.1:8420' }, false],
  [{ public_url: 'http://desk.example' }, true],
  [{ public_url: 'http://localhost.desk.example' }, true],
  [{ host: '0.0.0.0' }, true],
];
for (const [settings, isRefused] of reached) {
  test(`configOf() ${isRefused ? 'refuses' : 'takes'} sign-in with ${JSON.stringify(settings)}`, () => {
    const refused =
      /Cannot offer sign-in with "https:\/\/login\.example" on ".*": expected a public_url/;
    assert.equal(refused.test(faultOf({ ...settings, ...provider({}) })), isRefused);
    assert.equal(refused.test(faultOf({ ...settings, oidc: [ISSUER] })), false);
  });
}

test('loadConfig() reads a client secret from the variable that the file names', async () => {
  const folder = temporaryFolder();
  const lines = [
    'oidc:',
    '  - issuer: https://login.example',
    '    audience: desk',
    '    sign_in:',
  ];
  const members = ['      client_id: desk-web', '      client_secret_env: DESK_WEB_SECRET'];
  writeFileSync(join(folder, 'writ.config.yaml'), [...lines, ...members].join('\n'));

  const { oidc } = await loadConfig(folder, {}, { DESK_WEB_SECRET: SECRET });

  assert.equal(oidc[0]?.sign_in?.client_secret, SECRET);
  for (const environment of [{}, { DESK_WEB_SECRET: '' }]) {
    await assert.rejects(
      loadConfig(folder, {}, { ...environment, PORT: 'x' }),
      /"port": expected a number\n {2}Cannot sign in with "https:\/\/login\.example": the variable "DESK_WEB_SECRET" \(client_secret_env\) is not set$/,
    );
  }
});
