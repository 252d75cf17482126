/**
 * `writ deliveries`: the state of every notification about approvals.
 *
 * @module
 */

import type { Delivery } from '../../protocol/operator.ts';
import { answered, SERVICE_OPTIONS } from '../login/session.ts';
import { leaf } from '../shell/command.ts';
import { type Column, printJson, printTable } from '../shell/output.ts';

const STYLES = { pending: 'yellow', delivered: 'green', failed: 'red' } as const;

const COLUMNS: readonly Column<Delivery>[] = [
  { heading: 'event', cell: ({ event }) => event },
  { heading: 'request', cell: ({ approval_request_id }) => approval_request_id },
  { heading: 'target', cell: ({ target }) => target },
  { heading: 'state', cell: ({ state }) => state, style: ({ state }) => STYLES[state] },
  { heading: 'attempts', cell: ({ attempts }) => attempts, isRight: true },
  { heading: 'next or delivered', cell: (each) => each.delivered_at ?? each.next_attempt_at },
  { heading: 'last error', cell: ({ last_error }) => last_error },
];

export const deliveriesCommand = leaf({
  name: 'deliveries',
  summary: 'list notifications about approvals, and whether they arrived',
  about:
    'Lists the notifications that the service sends by webhook. Needs the scope operator:deliveries.',
  options: SERVICE_OPTIONS,
  examples: [['writ deliveries', 'which notifications arrived']],
  cannot: 'list deliveries',
  async run(given, io) {
    const { deliveries } = await answered('operator.deliveries', {}, given, io);
    if (given.json) for (const each of deliveries) printJson(io, each);
    else printTable(io, deliveries, COLUMNS, 'There is no notification.');
  },
});
