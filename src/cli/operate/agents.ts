/**
 * `writ agents`: the delegations of a root principal as trees, and ending one.
 *
 * @module
 */

import type { AgentView } from '../../protocol/agents.ts';
import type { TokenView } from '../../protocol/token.ts';
import { answered, answerOrExit, clientFor, SERVICE_OPTIONS } from '../login/session.ts';
import { answersYes, type Group, type Io, leaf } from '../shell/command.ts';
import { EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { flag, needed, number, value } from '../shell/options.ts';
import { type Cell, type Column, printFacts, printJson, printTable } from '../shell/output.ts';
import { shownMoney } from '../shell/values.ts';
import { printRevocation } from '../token/revoke.ts';

export function agentsCommand(): Group {
  return {
    name: 'agents',
    summary: 'list the agents of a principal, and end one',
    commands: [listLeaf, endLeaf],
  };
}

interface Row {
  readonly agent: AgentView;
  /** Of the tree: 0 for a root token. */
  readonly level: number;
}

const STYLES = { active: 'green', expired: 'dim', revoked: 'dim' } as const;

const COLUMNS: readonly Column<Row>[] = [
  { heading: 'agent', cell: ({ agent, level }) => `${'  '.repeat(level)}${nameOf(agent)}` },
  {
    heading: 'state',
    cell: ({ agent }) => stateOf(agent),
    style: ({ agent }) => STYLES[agent.state],
  },
  { heading: 'budget left', cell: ({ agent }) => budgetLeft(agent), isRight: true },
  { heading: 'expires', cell: ({ agent }) => agent.expires_at },
  { heading: 'last call', cell: ({ agent }) => lastCall(agent) },
  { heading: 'token', cell: ({ agent }) => agent.token_id },
];

const listLeaf = leaf({
  name: 'list',
  summary: 'list agents as trees',
  about: `Lists the delegations of a root principal, the newest first, each with the agents below it. With a bootstrap
credential these are your own; with the token of an agent, the agents below it. Operators with operator:read name any
root principal. With --json, each tree is one line.`,
  options: {
    'root-principal': value('<principal>', 'whose agents (default: yours; others for operators)'),
    ended: flag('delegations that have ended, instead of those that live'),
    limit: number('<n>', 'how many trees at most (default: 25)'),
    cursor: value('<cursor>', 'continue after an earlier list'),
    ...SERVICE_OPTIONS,
  },
  examples: [
    ['writ agents list', 'your agents'],
    ['writ agents list --root-principal human:ann@example.com', 'those of another person'],
  ],
  cannot: 'list agents',
  async run(given, io) {
    const { 'root-principal': root_principal, ended, limit, cursor } = given;
    const { agents, next_cursor } = await answered(
      'agents.list',
      { root_principal, ended, limit, cursor },
      given,
      io,
    );
    if (given.json) for (const each of agents) printJson(io, each);
    else
      printTable(
        io,
        agents.flatMap((agent) => rowsOf(agent, 0)),
        COLUMNS,
        'There is no agent.',
      );
    if (next_cursor !== null) io.err(`There are more: --cursor ${next_cursor}\n`);
  },
});

function rowsOf(agent: AgentView, level: number): Row[] {
  return [{ agent, level }, ...agent.children.flatMap((child) => rowsOf(child, level + 1))];
}

function nameOf({ subject, client_name, children, children_count }: AgentView): string {
  const client = client_name === null ? '' : ` (${client_name})`;
  const hidden = children_count - children.length;
  return `${subject}${client}${hidden > 0 ? ` (+${hidden} below)` : ''}`;
}

function stateOf({ state, is_frozen, waits_for }: AgentView): string {
  if (state !== 'active') return state;
  if (is_frozen) return 'frozen';
  return waits_for === null ? state : `waits for ${waits_for}`;
}

function budgetLeft({ budget }: AgentView): Cell {
  return budget && shownMoney({ currency: budget.currency, amount: budget.left });
}

function lastCall({ last_act, acts_are_whole }: AgentView): string {
  if (!last_act) return acts_are_whole ? 'none' : '';
  const { capability, timestamp, success, failure_type } = last_act;
  return `${capability} ${success ? 'succeeded' : failure_type} ${timestamp}`;
}

const endLeaf = leaf({
  name: 'end',
  summary: 'end an agent and everything below it',
  about: `Revokes the token of an agent and all tokens below it, at once. Calls that run finish. Shows the agent and asks
first; --yes does not ask.`,
  operands: {
    token_id: needed('<token_id>', 'the token of the agent, as "writ agents list" shows it'),
  },
  options: { yes: flag('do not ask'), ...SERVICE_OPTIONS },
  examples: [['writ agents end tok_0123456789abcdef0123456789abcdef', 'show it, ask, and end it']],
  exits: [[1, 'you said no, or the service refused']],
  cannot: 'end the agent',
  async run(given, io) {
    const client = await clientFor(given, io);
    const { token_id } = given;
    if (!given.yes) {
      if (!io.ask) throw new Error('there is no terminal to ask at; give --yes');
      const view = answerOrExit(await client.ask('tokens.get', { token_id }), given, io);
      if (!(await isMeant(view, io))) return EXIT_FOUND;
    }
    const reply = await client.ask('tokens.revoke', { token_id });
    printRevocation(answerOrExit(reply, given, io), given, io);
    return EXIT_OK;
  },
});

/** Asks on standard error: standard output has the result alone. */
async function isMeant(view: TokenView, io: Io): Promise<boolean> {
  const { budget, budget_remaining: left } = view;
  printFacts({ env: {}, out: io.err, err: io.err }, [
    ['agent', view.subject],
    ['of', view.root_principal],
    ['state', view.state],
    ['purpose', view.purpose && JSON.stringify(view.purpose)],
    ['scope', view.scope.join(' ')],
    [
      'budget left',
      budget && left !== null ? shownMoney({ currency: budget.currency, amount: left }) : undefined,
    ],
    ['directly below', view.children_count],
  ]);
  return answersYes(io, 'End it and everything below it? [y/N] ');
}
