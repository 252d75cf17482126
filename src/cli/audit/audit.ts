/**
 * `writ audit`: shows entries of a service's log, or saves the log so that it can be verified.
 *
 * @module
 */

import type { Group } from '../shell/command.ts';
import { exportCommand } from './export.ts';
import { queryCommand } from './query.ts';
import { streamCommand } from './stream/command.ts';
import { tailCommand } from './tail.ts';

export const auditCommand: Group = {
  name: 'audit',
  summary: 'read, follow or save the log of a service',
  commands: [queryCommand, tailCommand, exportCommand, streamCommand],
};
