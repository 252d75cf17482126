/**
 * Who there is in the test world: keys, entitlements and actor policies.
 *
 * @module
 */

export const ALICE = 'alice-key';
export const BOB = 'bob-key';
export const APPROVER = 'approver-key';
export const OPERATOR = 'operator-key';

const WHOEVER = ['agent:*', 'human:*', 'service:*'];

/** Their classes are told everything, so that a test sees the whole failure. */
export const SETTINGS = {
  identities: [
    {
      key: ALICE,
      principal: 'human:alice',
      scopes: ['w.*'],
      subjects: WHOEVER,
      caller_class: 'internal',
    },
    {
      key: BOB,
      principal: 'human:bob',
      scopes: ['w.*'],
      subjects: WHOEVER,
      caller_class: 'internal',
    },
    {
      key: APPROVER,
      principal: 'human:approver',
      scopes: ['approver:*'],
      caller_class: 'internal',
    },
    {
      key: OPERATOR,
      principal: 'service:operator',
      scopes: ['operator:*'],
      caller_class: 'internal',
    },
  ],
  actor_policies: [
    {
      principals: ['agent:tenant-*'],
      inputs: {
        account: { value: 'acme' },
        region: { value: 'eu', allowed: ['eu', 'us'] },
        tier: { value: 'gold' },
      },
    },
    { principals: ['agent:odd'], inputs: { account: { value: 'odd' }, tier: { value: 'lead' } } },
  ],
};
