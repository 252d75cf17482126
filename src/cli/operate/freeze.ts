/**
 * `writ freeze` and `writ unfreeze`: the kill switch of operators.
 *
 * @module
 */

import type { InputOf } from '../../protocol/operations.ts';
import type { Freeze } from '../../protocol/operator.ts';
import { answered, SERVICE_OPTIONS, type ServiceGiven } from '../login/session.ts';
import { type Group, type Io, type Leaf, leaf } from '../shell/command.ts';
import { EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { needed, number, value } from '../shell/options.ts';
import { type Column, printFacts, printJson, printTable } from '../shell/output.ts';
import { timeIn } from '../shell/values.ts';

/** The most that the service lists at once. */
const LIMIT_DEFAULT = 1_000;

const REASON = {
  reason: needed('<text>', 'why; the log contains it, and those who are refused read it'),
};
const UNTIL = {
  until: value('<time>', 'when it ends by itself: a time, or a duration such as "2h"'),
};
const FOR = { for: value('<principal>', 'only for the calls of this root principal') };
const PRINCIPAL = {
  principal: needed('<principal>', 'a root principal, such as human:ann@example.com'),
};
const CAPABILITY = { capability: needed('<capability>', 'its name') };

type Target = Pick<InputOf<'operator.unfreeze'>, 'what' | 'target' | 'root_principal'>;

const SERVICE_TARGET: Target = { what: 'service' };
const principalTarget = (principal: string): Target => ({
  what: 'root_principal',
  target: principal,
});
const capabilityTarget = (capability: string, principal: string | undefined): Target => ({
  what: 'capability',
  target: capability,
  root_principal: principal,
});

export function freezeCommand(): Group {
  const cannot = 'freeze';
  return {
    name: 'freeze',
    summary: 'refuse a principal, a capability or everything',
    about: `Refuses calls at once, on every replica: of a root principal and all its agents, of a capability, or all. Calls that
run finish. Needs the scope operator:freeze. "writ unfreeze" lifts it.`,
    commands: [
      leaf({
        name: 'service',
        summary: 'refuse every call',
        options: { ...REASON, ...UNTIL, ...SERVICE_OPTIONS },
        examples: [['writ freeze service --reason "incident 12" --until 2h', 'for two hours']],
        cannot,
        run: (given, io) => frozen(SERVICE_TARGET, given, io),
      }),
      leaf({
        name: 'principal',
        summary: 'refuse a root principal and all its agents',
        operands: PRINCIPAL,
        options: { ...REASON, ...UNTIL, ...SERVICE_OPTIONS },
        examples: [
          [
            'writ freeze principal human:ann@example.com --reason "lost laptop"',
            'until it is lifted',
          ],
        ],
        cannot,
        run: (given, io) => frozen(principalTarget(given.principal), given, io),
      }),
      leaf({
        name: 'capability',
        summary: 'refuse a capability, for everyone or for one root principal',
        operands: CAPABILITY,
        options: { ...FOR, ...REASON, ...UNTIL, ...SERVICE_OPTIONS },
        examples: [
          ['writ freeze capability book_flight --reason "supplier is down"', 'for everyone'],
        ],
        cannot,
        run: (given, io) => frozen(capabilityTarget(given.capability, given.for), given, io),
      }),
      listLeaf,
    ],
  };
}

export function unfreezeCommand(): Group {
  const cannot = 'unfreeze';
  const exits: Leaf['exits'] = [[1, 'there was no such freeze, or the service refused']];
  return {
    name: 'unfreeze',
    summary: 'lift a freeze',
    about: 'Lifts a freeze that "writ freeze list" shows. Needs the scope operator:unfreeze.',
    commands: [
      leaf({
        name: 'service',
        summary: 'lift the freeze of the service',
        options: { ...REASON, ...SERVICE_OPTIONS },
        examples: [['writ unfreeze service --reason "incident 12 is over"', 'go on']],
        exits,
        cannot,
        run: (given, io) => lifted(SERVICE_TARGET, given, io),
      }),
      leaf({
        name: 'principal',
        summary: 'lift the freeze of a root principal',
        operands: PRINCIPAL,
        options: { ...REASON, ...SERVICE_OPTIONS },
        examples: [['writ unfreeze principal human:ann@example.com --reason "found it"', 'go on']],
        exits,
        cannot,
        run: (given, io) => lifted(principalTarget(given.principal), given, io),
      }),
      leaf({
        name: 'capability',
        summary: 'lift the freeze of a capability',
        operands: CAPABILITY,
        options: { ...FOR, ...REASON, ...SERVICE_OPTIONS },
        examples: [['writ unfreeze capability book_flight --reason "supplier is back"', 'go on']],
        exits,
        cannot,
        run: (given, io) => lifted(capabilityTarget(given.capability, given.for), given, io),
      }),
    ],
  };
}

type Reasoned = ServiceGiven & { readonly reason: string };

async function frozen(
  target: Target,
  given: Reasoned & { readonly until: string | undefined },
  io: Io,
): Promise<void> {
  const until = given.until && timeIn(given.until, '--until', new Date());
  const freeze = await answered(
    'operator.freeze',
    { ...target, reason: given.reason, until },
    given,
    io,
  );
  if (given.json) printJson(io, freeze);
  else printFacts(io, [['frozen', nameOf(freeze)], ...factsOf(freeze)]);
}

async function lifted(target: Target, given: Reasoned, io: Io): Promise<number> {
  const answer = await answered(
    'operator.unfreeze',
    { ...target, reason: given.reason },
    given,
    io,
  );
  if (given.json) printJson(io, answer);
  else io.out(answer.lifted ? 'Lifted.\n' : 'Nothing was frozen under that name.\n');
  return answer.lifted ? EXIT_OK : EXIT_FOUND;
}

const COLUMNS: readonly Column<Freeze>[] = [
  { heading: 'frozen', cell: nameOf },
  { heading: 'reason', cell: ({ reason }) => reason },
  { heading: 'by', cell: ({ frozen_by }) => frozen_by },
  { heading: 'since', cell: ({ frozen_at }) => frozen_at },
  { heading: 'until', cell: ({ until }) => until ?? 'lifted' },
];

const listLeaf = leaf({
  name: 'list',
  summary: 'list what is frozen now',
  about: 'Lists what is frozen now, the newest first. Needs the scope operator:frozen.',
  options: {
    limit: number('<n>', `how many at most (default: ${LIMIT_DEFAULT})`),
    cursor: value('<cursor>', 'continue after an earlier list'),
    ...SERVICE_OPTIONS,
  },
  examples: [['writ freeze list', 'what is refused now']],
  cannot: 'list freezes',
  async run(given, io) {
    const { cursor, limit = LIMIT_DEFAULT } = given;
    const { frozen: found, next_cursor } = await answered(
      'operator.frozen',
      { limit, cursor },
      given,
      io,
    );
    if (given.json) for (const each of found) printJson(io, each);
    else printTable(io, found, COLUMNS, 'Nothing is frozen.');
    if (next_cursor !== null) io.err(`There are more: --cursor ${next_cursor}\n`);
  },
});

function nameOf({ what, target, root_principal }: Freeze): string {
  if (what === 'service') return 'the service';
  if (what === 'root_principal') return target ?? '';
  return `${target}${root_principal === null ? '' : ` for ${root_principal}`}`;
}

function factsOf({ reason, until }: Freeze): [name: string, value: string][] {
  return [
    ['reason', reason],
    ['until', until ?? 'it is lifted'],
  ];
}
