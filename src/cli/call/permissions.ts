/**
 * `writ permissions`: what the presented token may do, what it lacks, and what is left of its budget.
 *
 * @module
 */

import { isObject } from '../../domain/wire/json.ts';
import type { AvailableCapability, PermissionsAnswer } from '../../protocol/permissions.ts';
import { answered, SERVICE_OPTIONS } from '../login/session.ts';
import { leaf } from '../shell/command.ts';
import { type Column, printJson, printTable } from '../shell/output.ts';
import { shownMoney } from '../shell/values.ts';

interface Row {
  readonly capability: string;
  readonly may: 'yes' | 'not yet' | 'no';
  readonly why?: string;
  readonly left?: string | undefined;
}

const STYLES = { yes: 'green', 'not yet': 'yellow', no: 'red' } as const;

const COLUMNS: readonly Column<Row>[] = [
  { heading: 'capability', cell: ({ capability }) => capability },
  { heading: 'may', cell: ({ may }) => may, style: ({ may }) => STYLES[may] },
  { heading: 'budget left', cell: ({ left }) => left, isRight: true },
  { heading: 'lacks', cell: ({ why }) => why },
];

export const permissionsCommand = leaf({
  name: 'permissions',
  summary: 'show what a token may do, and what it lacks',
  about: `Asks the service what the presented token may do. A bootstrap credential has no permissions of its own: issue a
token with it first. With --json, standard output has the answer of the service.`,
  options: SERVICE_OPTIONS,
  examples: [
    ['writ permissions --token-file planner.token', 'what an agent may do'],
    ['writ permissions', 'what your login may do'],
  ],
  cannot: 'show permissions',
  async run(given, io) {
    const answer = await answered('permissions', {}, given, io);
    if (given.json) printJson(io, answer);
    else printTable(io, rowsOf(answer), COLUMNS, 'The service has no capability.');
  },
});

function rowsOf({ available, restricted, denied }: PermissionsAnswer): Row[] {
  return [
    ...available.map(
      (each): Row => ({ capability: each.capability, may: 'yes', left: budgetLeft(each) }),
    ),
    ...restricted.map(({ capability, reason, grantable_by, resolution_hint }): Row => {
      const next = resolution_hint ? `; next: ${resolution_hint.replaceAll('_', ' ')}` : '';
      const by = grantable_by ? ` (ask ${grantable_by})` : '';
      return { capability, may: 'not yet', why: `${reason}${next}${by}` };
    }),
    ...denied.map(({ capability, reason }): Row => ({ capability, may: 'no', why: reason })),
  ];
}

/** Constraints are open: a later version may write others. */
function budgetLeft({ constraints: { budget } }: AvailableCapability): string | undefined {
  if (!isObject(budget)) return undefined;
  const { currency, remaining } = budget;
  if (typeof currency !== 'string' || typeof remaining !== 'number') return undefined;
  return shownMoney({ currency, amount: remaining });
}
