/**
 * `writ approvals`: approval requests at the command line.
 *
 * @module
 */

import type { Group } from '../shell/command.ts';
import { approveCommand, denyCommand } from './decide.ts';
import { digestCommand } from './digest.ts';
import { listCommand } from './list.ts';
import { showCommand } from './show.ts';
import { watchCommand } from './watch.ts';

export function approvalsCommand(): Group {
  return {
    name: 'approvals',
    summary: 'show, decide and watch approval requests',
    commands: [
      listCommand(),
      showCommand(),
      approveCommand(),
      denyCommand(),
      watchCommand(),
      digestCommand(),
    ],
  };
}
