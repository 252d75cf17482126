/**
 * `writ calls`: calls of unknown outcome, and what an operator found out about them.
 *
 * @module
 */

import type { IndeterminateInvocation } from '../../protocol/operator.ts';
import { answered, SERVICE_OPTIONS } from '../login/session.ts';
import { type Group, leaf } from '../shell/command.ts';
import { choice, needed } from '../shell/options.ts';
import { type Column, printFacts, printJson, printTable } from '../shell/output.ts';
import { shownMoney } from '../shell/values.ts';

const OUTCOMES = ['executed', 'not_executed'] as const;

const COLUMNS: readonly Column<IndeterminateInvocation>[] = [
  { heading: 'invocation', cell: ({ invocation_id }) => invocation_id },
  { heading: 'capability', cell: ({ capability }) => capability },
  { heading: 'agent', cell: ({ subject }) => subject },
  { heading: 'root principal', cell: ({ root_principal }) => root_principal },
  { heading: 'charged', cell: ({ charged }) => charged && shownMoney(charged), isRight: true },
  { heading: 'admitted', cell: ({ admitted_at }) => admitted_at },
];

export const callsCommand: Group = {
  name: 'calls',
  summary: 'list calls of unknown outcome, and reconcile them',
  commands: [
    leaf({
      name: 'unknown',
      summary: 'list calls of unknown outcome',
      about: `Lists calls that were admitted and whose outcome the service does not know, for example after a crash. They stay
charged until they are reconciled. Needs the scope operator:indeterminate.`,
      options: SERVICE_OPTIONS,
      examples: [['writ calls unknown', 'what has to be looked at']],
      cannot: 'list calls of unknown outcome',
      async run(given, io) {
        const { indeterminate } = await answered('operator.indeterminate', {}, given, io);
        if (given.json) for (const each of indeterminate) printJson(io, each);
        else printTable(io, indeterminate, COLUMNS, 'The outcome of every call is known.');
      },
    }),
    leaf({
      name: 'reconcile',
      summary: 'say what an unknown outcome was',
      about: `Records what you found out about a call of unknown outcome. Its charge stays if it was executed, and is refunded if
it was not. Cannot be undone. Needs the scope operator:reconcile.`,
      operands: { invocation_id: needed('<invocation_id>', 'the call, such as inv-…') },
      options: {
        outcome: choice(OUTCOMES, 'whether the call had its effect (needed)'),
        reason: needed('<text>', 'how you know; the log contains it'),
        ...SERVICE_OPTIONS,
      },
      examples: [
        [
          'writ calls reconcile inv-0123456789ab --outcome not_executed --reason "the supplier has no order"',
          'refund the charge',
        ],
      ],
      cannot: 'reconcile the call',
      async run(given, io) {
        const { invocation_id, outcome, reason } = given;
        if (!outcome) throw new Error(`give --outcome ${OUTCOMES.join(' or --outcome ')}`);
        const asked = { invocation_id, outcome, reason };
        const answer = await answered('operator.reconcile', asked, given, io);
        if (given.json) printJson(io, answer);
        else {
          printFacts(io, [
            ['invocation', answer.invocation_id],
            ['outcome', answer.outcome.replace('_', ' ')],
            ['refunded', answer.refunded ? shownMoney(answer.refunded) : 'nothing'],
          ]);
        }
      },
    }),
  ],
};
