/**
 * Who reviews a tool at a terminal: the user of this machine.
 *
 * @module
 */

import { userInfo } from 'node:os';

export function reviewer(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
