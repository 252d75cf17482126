/**
 * Rules on the failure types that a capability declares for itself.
 *
 * @module
 */

import type { ResolutionAction } from '../../protocol/failure.ts';
import { isOfProtocol, RECOVERY } from '../failure.ts';
import { duplicates, type FaultRule, fault } from './fault.ts';

/** Actions that repeat the same call without any change. */
const REPEATING: readonly ResolutionAction[] = ['retry_now', 'wait_and_retry'];

/** Another name that the specification uses for `scope_insufficient`. */
const OTHER_SPELLINGS: readonly string[] = ['insufficient_scope'];

/** A failure type has one meaning for every client, so a capability may not declare a type of the protocol. */
export const failureFaults: FaultRule = ({ name, kind, failure_types: declared = [] }) => {
  if (kind === 'composed' && declared.length > 0) {
    return [
      fault(
        name,
        'failure_types',
        'a composed capability has none: its steps have',
        'them at the steps',
      ),
    ];
  }
  const twice = duplicates(declared.map(({ type }) => type)).map((type) =>
    fault(name, 'failure_types', `"${type}" appears twice`, 'each type once'),
  );
  const unusable = declared.flatMap(({ type, retry, action }, index) => {
    const at = `failure_types[${index}]`;
    const isTaken = isOfProtocol(type) || OTHER_SPELLINGS.includes(type);
    return [
      ...(isTaken
        ? [
            fault(
              name,
              `${at}.type`,
              `"${type}" is a failure type of the protocol`,
              'a name of its own',
            ),
          ]
        : []),
      ...(retry && RECOVERY[action] === 'terminal'
        ? [
            fault(
              name,
              `${at}.retry`,
              `"${action}" is terminal, so the call is never retried`,
              'false',
            ),
          ]
        : []),
      ...(!retry && REPEATING.includes(action)
        ? [fault(name, `${at}.action`, unretried(action), 'another action, or retry: true')]
        : []),
    ];
  });
  return [...twice, ...unusable];
};

function unretried(action: ResolutionAction): string {
  return `"${action}" repeats the same call, but "retry" is false`;
}
