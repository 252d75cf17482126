/**
 * Who there is in the test world: keys, entitlements and actor policies.
 *
 * @module
 */

import { person } from '../support/person.ts';

export const ALICE = 'alice-key';
export const BOB = 'bob-key';
export const APPROVER = 'approver-key';
export const OPERATOR = 'operator-key';

export const SETTINGS = {
  identities: [
    person(ALICE, 'human:alice', ['w.*']),
    person(BOB, 'human:bob', ['w.*']),
    person(APPROVER, 'human:approver', ['approver:*'], { subjects: [] }),
    person(OPERATOR, 'service:operator', ['operator:*'], { subjects: [] }),
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
