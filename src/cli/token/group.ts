/**
 * `writ token`: tokens, made, read and ended.
 *
 * @module
 */

import type { Group } from '../shell/command.ts';
import { delegateLeaf, issueLeaf } from './issue.ts';
import { revokeLeaf } from './revoke.ts';
import { inspectLeaf } from './token.ts';

export function tokenCommand(): Group {
  return {
    name: 'token',
    summary: 'issue, delegate, inspect and revoke tokens',
    commands: [issueLeaf(), delegateLeaf(), inspectLeaf(), revokeLeaf()],
  };
}
