import assert from 'node:assert/strict';
import { test } from 'vitest';
import { carriedCall } from './search-tools.ts';

type Row = [what: string, sent: object, carried: object];

const CARRIED: Row[] = [
  ['takes the arguments', { name: 'a', arguments: { x: 1 } }, { name: 'a', arguments: { x: 1 } }],
  ['needs none', { name: 'a' }, { name: 'a', arguments: {} }],
  ['reads null as absent', { name: 'a', arguments: null }, { name: 'a', arguments: {} }],
  [
    'moves the reserved parameters into the arguments',
    { name: 'a', arguments: { x: 1 }, svc_idempotency_key: 'k', svc_approval_grant: 'g' },
    { name: 'a', arguments: { x: 1, svc_idempotency_key: 'k', svc_approval_grant: 'g' } },
  ],
  [
    'leaves out a reserved parameter that is null',
    { name: 'a', arguments: { svc_idempotency_key: 'k' }, svc_idempotency_key: null },
    { name: 'a', arguments: { svc_idempotency_key: 'k' } },
  ],
  [
    'lets the service refuse a key that stands in two places',
    { name: 'a', arguments: { svc_idempotency_key: 'k' }, svc_idempotency_key: 'k' },
    {
      name: 'a',
      arguments: { svc_idempotency_key: 'k', 'svc_idempotency_key beside "arguments"': 'k' },
    },
  ],
  [
    'lets the service refuse what stands beside the arguments',
    { name: 'a', arguments: { x: 1 }, x: 2, stream: true },
    {
      name: 'a',
      arguments: { x: 1, 'x beside "arguments"': 2, 'stream beside "arguments"': true },
    },
  ],
  [
    'keeps arguments that are a text',
    { name: 'a', arguments: '{}' },
    { name: 'a', arguments: '{}' },
  ],
  ['keeps arguments that are a list', { name: 'a', arguments: [1] }, { name: 'a', arguments: [1] }],
  [
    'keeps a name that is none',
    { name: { toString: 1 } },
    { name: { toString: 1 }, arguments: {} },
  ],
  ['keeps no name', {}, { name: undefined, arguments: {} }],
];
for (const [what, sent, carried] of CARRIED) {
  test(`carriedCall() ${what}`, () => {
    assert.deepEqual(carriedCall({ ...sent }), carried);
  });
}
