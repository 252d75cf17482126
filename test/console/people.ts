/**
 * The people of the console's tests: those of the demo, and operators with one right each.
 *
 * @module
 */

import { DEMO_IDENTITIES } from '../../examples/travel/service.ts';
import { person } from '../support/person.ts';

export const READER = 'key-of-the-reader';
export const AUDITOR = 'key-of-the-auditor';
export const ENDER = 'key-of-the-ender';

export const PEOPLE = {
  rate_limits: 'off',
  identities: [
    ...DEMO_IDENTITIES,
    person(READER, 'human:rita@example.com', ['operator:read']),
    person(AUDITOR, 'human:otto@example.com', ['operator:read', 'operator:audit']),
    person(ENDER, 'human:edda@example.com', ['operator:revoke']),
  ],
} as const;
