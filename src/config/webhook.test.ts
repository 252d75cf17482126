import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ConfigError, configOf } from './config.ts';

const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes, 1).toString('base64')}`;
const target = { name: 'pager', url: 'https://hooks.example.com/in', secret: secretOf(24) };

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
  assert.deepEqual(webhooks, [{ ...target, events, allow_inside: false }]);
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
