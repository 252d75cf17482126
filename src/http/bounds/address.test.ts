import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { createAddresses, networkOf } from './address.ts';

describe('networkOf()', () => {
  const table: [address: string, network: string][] = [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:0001:2::9', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', ''],
  ];
  for (const [address, network] of table) {
    test(`counts "${address}" under "${network}"`, () => {
      assert.equal(networkOf(address), network);
    });
  }

  test('counts every address of a /64 together, however it is spelt', () => {
    const group = fc.integer({ min: 0, max: 0xffff }).map((value) => value.toString(16));
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const host = groups.slice(0, 4);
        const whole = networkOf(groups.join(':'));
        assert.equal(networkOf([...host, '0', '0', '0', '1'].join(':')), whole);
        assert.equal(networkOf(`${host.join(':').toUpperCase()}::1`), whole);
      }),
    );
  });
});

describe('clientOf()', () => {
  const { clientOf } = createAddresses(['10.0.0.0/8', '2001:db8:aaaa::/48', '127.0.0.1']);
  const table: [name: string, remote: string, forwarded: string | undefined, client: string][] = [
    ['the connection where no header is sent', '10.0.0.1', undefined, '10.0.0.1'],
    ['the connection where it is not a trusted proxy', '192.0.2.9', '198.51.100.1', '192.0.2.9'],
    ['what a trusted proxy saw', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['a proxy over mapped IPv4', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['a proxy over IPv6', '2001:db8:aaaa::5', '198.51.100.1', '198.51.100.1'],
    ['the rightmost hop that is not trusted', '10.0.0.1', '1.1.1.1, 198.51.100.1, 10.9.9.9', '198.51.100.1'],
    ['the leftmost where every hop is trusted', '10.0.0.1', '10.1.1.1, 10.2.2.2', '10.1.1.1'],
    ['a hop with a port', '10.0.0.1', '198.51.100.1:5555', '198.51.100.1'],
    ['a hop in brackets', '10.0.0.1', '[2001:db8::1]:443', '2001:db8:0:0::/64'],
    ['the proxy that wrote no address', '10.0.0.1', '1.1.1.1, unknown', '10.0.0.1'],
    ['the proxy before a list that is empty', '10.0.0.1', '', '10.0.0.1'],
    ['the proxy before a name', '127.0.0.1', 'localhost', '127.0.0.1'],
  ]; // biome-ignore format: one row a case.
  for (const [name, remote, forwarded, client] of table) {
    test(`is ${name}`, () => {
      assert.equal(clientOf(remote, forwarded), client);
    });
  }

  test('does not look at more hops than a way through proxies has', () => {
    const hops = ['198.51.100.1', ...Array<string>(50).fill('10.0.0.2')].join(',');

    assert.equal(clientOf('10.0.0.1', hops), '10.0.0.2');
  });

  test('believes no header where no proxy is trusted', () => {
    const { clientOf: untrusting, isTrusted } = createAddresses([]);

    assert.equal(untrusting('127.0.0.1', '198.51.100.1'), '127.0.0.1');
    assert.equal(isTrusted('127.0.0.1'), false);
  });
});
