/**
 * `writ ask`: any operation of a service under its one name, and the list of them.
 *
 * @module
 */

import { type InputOf, type OperationName, operations } from '../../protocol/operations.ts';
import { answerOrExit, clientFor, openClientFor, SERVICE_OPTIONS } from '../login/session.ts';
import { leaf } from '../shell/command.ts';
import { value } from '../shell/options.ts';
import { printJson, printTable } from '../shell/output.ts';
import { parametersIn } from './parameters.ts';

export const askCommand = leaf({
  name: 'ask',
  summary: 'ask a service for any operation by its name',
  about: `Asks for an operation under the name that client.ask() of the package writ/client takes, and prints the answer as JSON.
Without a name, it prints the operations. The other commands ask for the same operations, and print tables for people.
A capability is called with "writ invoke", which can repeat a lost call without a second effect.`,
  operands: { operation: value('<operation>', 'its name, such as tokens.get') },
  options: {
    input: value('<json>', 'the input: a JSON object, @file, or - for standard input'),
    ...SERVICE_OPTIONS,
  },
  examples: [
    ['writ ask', 'the operations, a line each'],
    ['writ ask tokens.get --input \'{"token_id": "tok_4f1e"}\'', 'one of them'],
  ],
  cannot: 'ask',
  async run(given, io) {
    const name = given.operation as OperationName | undefined;
    if (name === undefined) {
      const rows = Object.entries(operations).map(([each, { summary }]) => ({ each, summary }));
      const columns = [
        { heading: 'operation', cell: ({ each }: Row) => each },
        { heading: 'does', cell: ({ summary }: Row) => summary },
      ];
      if (given.json)
        printJson(
          io,
          rows.map(({ each, ...row }) => ({ operation: each, ...row })),
        );
      else printTable(io, rows, columns, '');
      return;
    }
    if (name === 'invoke') throw new Error('a capability is called with "writ invoke"');
    const input = (await parametersIn(given.input, io, '--input')) as InputOf<typeof name>;
    const isOpen = Object.hasOwn(operations, name) && operations[name].auth === 'none';
    const client = isOpen ? openClientFor(given, io) : await clientFor(given, io);
    printJson(io, answerOrExit(await client.ask(name, input), given, io));
  },
});

interface Row {
  readonly each: string;
  readonly summary: string;
}
