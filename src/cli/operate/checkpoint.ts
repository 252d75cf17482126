/**
 * `writ checkpoint`: the signed heads of the log, and sealing one now.
 *
 * @module
 */

import type { Checkpoint } from '../../protocol/audit.ts';
import { answered, answerOrExit, openClientFor, SERVICE_OPTIONS } from '../login/session.ts';
import { type Group, type Io, leaf } from '../shell/command.ts';
import { number } from '../shell/options.ts';
import { type Column, printJson, printTable } from '../shell/output.ts';

/** The service lists so many at once. */
const LIMIT_DEFAULT = 20;

const COLUMNS: readonly Column<Checkpoint>[] = [
  { heading: 'number', cell: ({ sequence }) => sequence, isRight: true },
  { heading: 'time', cell: ({ timestamp }) => timestamp },
  { heading: 'entries', cell: ({ entry_count }) => entry_count, isRight: true },
  { heading: 'root', cell: ({ merkle_root }) => merkle_root },
  { heading: 'id', cell: ({ checkpoint_id }) => checkpoint_id },
];

export const checkpointCommand: Group = {
  name: 'checkpoint',
  summary: 'list the signed heads of the log, or seal one now',
  commands: [
    leaf({
      name: 'list',
      summary: 'list the newest checkpoints',
      about: 'Lists the checkpoints of a service, the newest first. Needs no credential.',
      options: {
        limit: number('<n>', `how many at most (default: ${LIMIT_DEFAULT})`),
        ...SERVICE_OPTIONS,
      },
      examples: [
        ['writ checkpoint list --service http://127.0.0.1:8420', 'the newest checkpoints'],
      ],
      cannot: 'list checkpoints',
      async run(given, io) {
        const client = openClientFor(given, io);
        const limit = given.limit ?? LIMIT_DEFAULT;
        const reply = await client.ask('checkpoints.list', { limit });
        show(answerOrExit(reply, given, io).checkpoints, given, io);
      },
    }),
    leaf({
      name: 'seal',
      summary: 'sign the head of the log now',
      about: 'Signs a checkpoint now. Needs the scope operator:checkpoints.',
      options: SERVICE_OPTIONS,
      examples: [['writ checkpoint seal', 'at the service of your login']],
      cannot: 'seal a checkpoint',
      async run(given, io) {
        const { checkpoint } = await answered('operator.checkpoints', {}, given, io);
        show([checkpoint], given, io);
      },
    }),
  ],
};

function show(checkpoints: readonly Checkpoint[], { json }: { json: boolean }, io: Io): void {
  if (json) for (const each of checkpoints) printJson(io, each);
  else printTable(io, checkpoints, COLUMNS, 'The log has no checkpoint yet.');
}
