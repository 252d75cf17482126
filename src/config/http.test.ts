import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { configOf, loadConfig } from './config.ts';

const read = (settings: object) => configOf(settings, '/srv');

describe('rate limits', () => {
  test('configOf() has them on by default, for principals and for addresses', () => {
    const { rate_limits, principal_rate, address_rate } = read({});

    assert.equal(rate_limits, 'on');
    assert.deepEqual(principal_rate, { limit: 1_000, window: 'PT10S' });
    assert.deepEqual(address_rate, { limit: 10_000, window: 'PT10S' });
  });

  for (const host of ['127.0.0.1', '127.8.9.10', '::1', 'localhost']) {
    test(`loadConfig() takes WRIT_RATE_LIMITS=off on ${host}`, async () => {
      const config = await loadConfig('/srv', { host }, { WRIT_RATE_LIMITS: 'off' });

      assert.equal(config.rate_limits, 'off');
    });
  }

  for (const place of [
    { host: '0.0.0.0' },
    { host: '::' },
    { host: '192.0.2.7' },
    { host: 'desk.example.com' },
    { public_url: 'https://desk.example.com' },
  ]) {
    test(`loadConfig() refuses WRIT_RATE_LIMITS=off on ${JSON.stringify(place)}`, async () => {
      const fault = /WRIT_RATE_LIMITS=off: it is accepted on a loopback address only/;

      await assert.rejects(loadConfig('/srv', place, { WRIT_RATE_LIMITS: 'off' }), fault);
      assert.equal((await loadConfig('/srv', place, {})).rate_limits, 'on');
    });
  }
});

describe('trusted_proxies', () => {
  test('loadConfig() reads them between commas from the environment', async () => {
    const environment = { WRIT_TRUSTED_PROXIES: '10.0.0.0/8, 192.0.2.1,2001:db8::/32' };
    const { trusted_proxies } = await loadConfig('/srv', {}, environment);

    assert.deepEqual(trusted_proxies, ['10.0.0.0/8', '192.0.2.1', '2001:db8::/32']);
  });

  for (const wrong of [
    'proxy.example',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/8/8',
    '10.0.0/8',
    '/8',
    '10.0.0.0/',
  ]) {
    test(`configOf() refuses "${wrong}"`, () => {
      assert.throws(
        () => read({ trusted_proxies: [wrong] }),
        /trusted_proxies.*expected an address/s,
      );
    });
  }
});
