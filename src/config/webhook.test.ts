import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ConfigError, configOf } from './config.ts';
import { withTargetSecrets } from './webhook.ts';

const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 1).toString('base64')}`;
const target = { name: 'pager', url: 'https://hooks.example.com/in', secret: secretOf(24) };

const MAIL = { from: 'desk@example.com', to: ['ann@example.com'] };

function faultsOf(webhooks: object[]): string {
  try {
    configOf({ webhooks }, '/');
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
  return '';
}

test('configOf() takes a target and tells it everything by default', () => {
  const { webhooks } = configOf({ webhooks: [target] }, '/');

  const events = ['requested', 'granted', 'denied', 'expired'];
  assert.deepEqual(webhooks, [{ ...target, format: 'standard', events, allow_inside: false }]);
  assert.equal(faultsOf([{ ...target, secret: secretOf(64) }]), '');
  assert.equal(faultsOf([{ ...target, url: 'http://127.0.0.1:9000/x' }]), '');
});

const faults: [name: string, change: object, found: RegExp][] = [
  ['a secret without its prefix', { secret: secretOf(24).slice(6) }, /webhooks\.0\.secret/],
  ['a short secret', { secret: secretOf(23) }, /24 to 64 bytes/],
  ['a long secret', { secret: secretOf(65) }, /24 to 64 bytes/],
  ['a secret that is not base64', { secret: `whsec_${'*'.repeat(40)}` }, /webhooks\.0\.secret/],
  ['an address in the clear', { url: 'http://hooks.example.com' }, /expected https/],
  ['a user in the address', { url: 'https://u:p@hooks.example.com' }, /no query/],
  ['a name with spaces', { name: 'my pager' }, /webhooks\.0\.name/],
  ['an unknown event', { events: ['lost'] }, /webhooks\.0\.events/],
  ['no event', { events: [] }, /webhooks\.0\.events/],
  ['no address', { url: undefined }, /expected either "url" or "url_env"/],
  ['two addresses', { url_env: 'HOOK' }, /expected either "url" or "url_env"/],
  ['no secret', { secret: undefined }, /webhooks\.0\.secret.*verify it/],
  ['an email form of another format', { email: MAIL }, /webhooks\.0\.email/],
  ['no email form', { format: 'email' }, /webhooks\.0\.email/],
  ['a header of ours', { header_env: { host: 'X' } }, /the service sets this one/],
  ['a setting as a header', { header_env: { 'x-key': 'WRIT_ROW_KEYS' } }, /begin with WRIT_/],
  [
    'a receiver with a line break',
    { format: 'email', email: { ...MAIL, to: ['a@b.example\r\nBcc: c@d.example'] } },
    /expected an address such as/,
  ],
  ['a misspelt field', { allow_insid: true }, /allow_insid/],
];

for (const [name, change, found] of faults) {
  test(`configOf() refuses a webhook with ${name}, and repeats no value`, () => {
    const said = faultsOf([{ ...target, ...change }]);

    assert.match(said, found);
    assert.equal(said.includes('whsec_A'), false);
  });
}

test('configOf() refuses two targets of one name', () => {
  assert.match(
    faultsOf([target, { ...target, url: 'https://b.example.com' }]),
    /a name of its own/,
  );
});

test('configOf() takes cards for Slack and email without a secret', () => {
  const address = { url_env: 'SLACK_URL', secret: undefined };
  const [slack, email] = configOf(
    {
      webhooks: [
        { ...target, ...address, url: undefined, format: 'slack' },
        { ...target, name: 'mail', secret: undefined, format: 'email', email: MAIL },
      ],
    },
    '/',
  ).webhooks;

  assert.equal(slack?.format, 'slack');
  assert.equal(slack?.url, undefined);
  assert.deepEqual(email?.email?.fields.subject, 'subject');
  assert.equal(email?.email?.to_as, 'list');
});

const HOOK = 'https://hooks.example.com/services/T0/B0/canary';

test('withTargetSecrets() takes addresses and headers from the environment, and repeats none of them', () => {
  const { webhooks } = configOf(
    {
      webhooks: [
        { name: 'slack', format: 'slack', url_env: 'HOOK' },
        {
          name: 'mail',
          format: 'email',
          email: MAIL,
          url: 'https://mail.example.com/send',
          header_env: { authorization: 'MAIL_KEY' },
        },
      ],
    },
    '/',
  );

  const filled = withTargetSecrets(webhooks, { HOOK: `${HOOK}?key=1`, MAIL_KEY: 'Bearer canary' });
  const empty = withTargetSecrets(webhooks, {});
  const odd = withTargetSecrets(webhooks, {
    HOOK: HOOK.replace('https', 'http'),
    MAIL_KEY: 'canary\r\nx-other: 1',
  });

  assert.deepEqual(filled.faults, []);
  assert.equal(filled.webhooks[0]?.url, `${HOOK}?key=1`);
  assert.deepEqual(filled.webhooks[1]?.headers, { authorization: 'Bearer canary' });
  assert.deepEqual(empty.faults, [
    'Cannot notify "slack": the variable "HOOK" is not set',
    'Cannot notify "mail": the variable "MAIL_KEY" is not set',
  ]);
  assert.equal(odd.faults.length, 2);
  assert.equal(odd.faults.join().includes('canary'), false);
});
