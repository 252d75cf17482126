import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type Arrival, foreignArrival } from './arrival.ts';

const LOCAL = { localAddress: '127.0.0.1', publicUrl: 'http://127.0.0.1:8420' };
const BEHIND_PROXY = { localAddress: '::ffff:127.0.0.1', publicUrl: 'https://desk.example' };
const PUBLIC = { localAddress: '10.0.0.7', publicUrl: 'https://desk.example' };

const TABLE: [name: string, arrival: Partial<Arrival>, expected: RegExp | undefined][] = [
  ['a local name on loopback', { ...LOCAL, host: 'localhost:8420' }, undefined],
  ['an address on loopback', { ...LOCAL, host: '[::1]:8420' }, undefined],
  ['a rebound name', { ...LOCAL, host: 'evil.example:8420' }, /^Host "evil.example:8420"/],
  ['a name that only begins like ours', { ...LOCAL, host: 'localhost.evil.example' }, /^Host/],
  ['no Host on loopback', { ...LOCAL }, /^Host ""/],
  ['a rebound name on no known address', { localAddress: undefined, host: 'a.example' }, /^Host/],
  ['the public name behind a proxy', { ...BEHIND_PROXY, host: 'desk.example' }, undefined],
  ['another name behind a proxy', { ...BEHIND_PROXY, host: 'evil.example' }, /^Host/],
  ['any name on a public address', { ...PUBLIC, host: 'desk.internal' }, undefined],
  [
    'a page of this machine',
    { ...LOCAL, host: 'localhost', origin: 'http://localhost:1' },
    undefined,
  ],
  ['a page of elsewhere', { ...LOCAL, host: 'localhost', origin: 'https://a.example' }, /^Origin/],
  ['an opaque page', { ...LOCAL, host: 'localhost', origin: 'null' }, /^Origin "null"/],
  [
    'a local page at a public service',
    { ...PUBLIC, host: 'd', origin: 'http://localhost' },
    /^Origin/,
  ],
  [
    'its own page',
    { ...PUBLIC, host: 'desk.internal', origin: 'https://desk.internal' },
    undefined,
  ],
  [
    'the public page',
    { ...PUBLIC, host: 'desk.internal', origin: 'https://desk.example' },
    undefined,
  ],
];
for (const [name, arrival, expected] of TABLE) {
  test(`foreignArrival() ${expected ? 'refuses' : 'admits'} ${name}`, () => {
    const found = foreignArrival({ host: undefined, origin: undefined, ...LOCAL, ...arrival });

    if (expected) assert.match(found ?? '', expected);
    else assert.equal(found, undefined);
  });
}
