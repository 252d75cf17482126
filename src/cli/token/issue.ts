/**
 * `writ token issue` and `writ token delegate`: new tokens, from a credential or from another token.
 *
 * A new token is a secret: it goes to a new file, or alone to standard output.
 *
 * @module
 */

import type { Client, Refused } from '../../client/index.ts';
import type { InputOf } from '../../protocol/operations.ts';
import type { IssueAnswer } from '../../protocol/token.ts';
import { answerOrExit, clientFor, SERVICE_OPTIONS } from '../login/session.ts';
import { writeSecret } from '../shell/atomic-file.ts';
import { type Io, type Leaf, leaf } from '../shell/command.ts';
import { CommandFault, EXIT_CREDENTIAL } from '../shell/exit.ts';
import { secretIn } from '../shell/files.ts';
import { flag, type Given, list, needed, value } from '../shell/options.ts';
import { type Cell, printFacts, printJson } from '../shell/output.ts';
import { amountIn, countIn, durationIn, pairsIn, shownMoney } from '../shell/values.ts';
import { readJwt } from './jwt.ts';
import { conditionLines, conditionsIn } from './where.ts';

const HOUR_MS = 3_600_000;

const TOKEN_OPTIONS = {
  scope: list('<scope>', 'a scope of the token (at least one; may be repeated)'),
  capability: value('<name>', 'the only capability that the token may use'),
  purpose: list('<name=value>', 'what the token is for, such as task_id=offsite (may be repeated)'),
  where: list(
    '<conditions>',
    'what the calls are about, such as "amount: { at_least: 0, at_most: 50 }" with --capability, or "refund: { amount: 5 }" without (may be repeated)',
  ),
  budget: value('<amount>', 'what may be spent under it, such as "500 USD"'),
  ttl: value('<duration>', 'how long it lives, such as "2h" (default: that of the service)'),
  'max-depth': value(
    '<n>',
    'how many delegations a chain may have, counted from its first token; 0 is none',
  ),
  'caller-class': value('<class>', 'the class of the caller, such as automated_agent'),
  'session-id': value('<id>', 'the session that the token belongs to'),
  exclusive: flag('at most one call at a time under the token'),
  out: value('<file>', 'a new file for the token (mode 0600) instead of standard output'),
} as const;

type TokenGiven = Given<typeof TOKEN_OPTIONS>;

const ABOUT_OUTPUT = `Without --out, standard output has the token alone and standard error the facts, so that
TOKEN=$(writ token issue …) works. With --json, standard output has the answer of the service; together
with --out it has the answer without the token.`;

export const issueLeaf = leaf({
  name: 'issue',
  summary: 'issue a root token',
  about: `Issues a token with the authority of your credential. Scopes are never inferred: name each one.\n\n${ABOUT_OUTPUT}`,
  options: {
    ...TOKEN_OPTIONS,
    subject: value('<principal>', 'who may use it, such as agent:planner (default: you)'),
    ...SERVICE_OPTIONS,
  },
  examples: [
    [
      'writ token issue --scope travel.search --subject agent:planner --budget "500 USD" --out planner.token',
      'a token for an agent, in a new file',
    ],
    ['TOKEN=$(writ token issue --scope travel.search)', 'a token for this shell'],
    [
      "writ token issue --scope shop.refund --subject agent:helper --capability refund_order --where 'amount: { at_least: 0, at_most: 50 }' --out helper.token",
      'a token for refunds of at most 50',
    ],
  ],
  cannot: 'issue a token',
  async run(given, io) {
    const request = { ...(await requestOf(given)), subject: given.subject };
    return issued(await clientFor(given, io), request, given, io);
  },
});

export function delegateLeaf(): Leaf {
  const { 'token-file': _, ...service } = SERVICE_OPTIONS;
  return leaf({
    name: 'delegate',
    summary: 'issue a narrower token below a token',
    about: `Issues a token below the one in --parent-file, which pays for it and ends it with itself. It can only be narrower.\n\n${ABOUT_OUTPUT}`,
    options: {
      'parent-file': needed('<file>', 'a file with the token to delegate from'),
      subject: needed('<principal>', 'who may use the new token, such as agent:finder'),
      ...TOKEN_OPTIONS,
      ...service,
    },
    examples: [
      [
        'writ token delegate --parent-file planner.token --scope travel.search --subject agent:finder --out finder.token',
        'a token for the agent of an agent',
      ],
    ],
    cannot: 'delegate',
    async run(given, io) {
      const file = given['parent-file'];
      const parent_token = tokenIdIn(file);
      const client = await clientFor({ ...given, 'token-file': file }, io);
      const request = { ...(await requestOf(given)), subject: given.subject, parent_token };
      return issued(client, request, given, io);
    },
  });
}

/** The id of the token in a file. Its signature is for the service to verify. */
function tokenIdIn(file: string): string {
  const jwt = readJwt(secretIn(file).trim());
  const id = 'fault' in jwt ? undefined : jwt.claims.jti;
  if (typeof id === 'string') return id;
  // Does not quote the text: it may be another secret.
  throw new CommandFault(`"${file}" has no delegation token`, { exit: EXIT_CREDENTIAL });
}

async function requestOf(given: TokenGiven): Promise<InputOf<'tokens.issue'>> {
  if (given.scope.length === 0) {
    throw new Error('no scope is named; give --scope at least once, it is never inferred');
  }
  const budget = given.budget === undefined ? undefined : amountIn(given.budget, '--budget');
  const depth = given['max-depth'];
  return {
    scope: [...given.scope],
    capability: given.capability,
    purpose_parameters:
      given.purpose.length > 0
        ? Object.fromEntries(pairsIn(given.purpose, '--purpose'))
        : undefined,
    budget: budget && { currency: budget.currency, max_amount: budget.amount },
    ttl_hours: given.ttl === undefined ? undefined : durationIn(given.ttl, '--ttl') / HOUR_MS,
    max_delegation_depth: depth === undefined ? undefined : countIn(depth, '--max-depth'),
    caller_class: given['caller-class'],
    session_id: given['session-id'],
    concurrent_branches: given.exclusive ? 'exclusive' : undefined,
    conditions: await conditionsIn(given.where, given.capability),
  };
}

type Output = Pick<TokenGiven, 'out'> & { readonly json: boolean };

async function issued(
  client: Client,
  request: InputOf<'tokens.issue'>,
  given: Output,
  io: Io,
): Promise<void> {
  const ask = async (): Promise<IssueAnswer> => {
    const reply = await client.ask('tokens.issue', request);
    if (reply.ok || reply.answer !== undefined || reply.failure.type !== 'outcome_unknown') {
      return answerOrExit(reply, given, io);
    }
    const { failure } = reply;
    const detail = `${failure.detail}; a token may exist that you do not have: see "writ agents list" and end it with "writ agents end"`;
    const unknown: Refused = { ...reply, failure: { ...failure, detail } };
    return answerOrExit<IssueAnswer>(unknown, given, io);
  };
  if (given.out === undefined) {
    const answer = await ask();
    if (given.json) printJson(io, answer);
    else {
      io.out(`${answer.token}\n`);
      // The facts go to standard error, which is no place for colours of standard output.
      printFacts({ env: {}, out: io.err, err: io.err }, factsOf(answer));
    }
    return;
  }
  const { out } = given;
  const made: IssueAnswer[] = [];
  await writeSecret(out, async () => {
    const answer = await ask();
    made.push(answer);
    return answer.token;
  }).catch((error: Error) => {
    const [lost] = made;
    if (!lost) throw error;
    const why = `${error.message}; end the token that was issued: writ token revoke ${lost.token_id}`;
    throw new Error(why, { cause: error });
  });
  for (const { token: _, ...answer } of made) {
    if (given.json) printJson(io, answer);
    else printFacts(io, [...factsOf(answer), ['token', `in "${out}"`]]);
  }
}

function factsOf(answer: Omit<IssueAnswer, 'token'>): [name: string, value: Cell][] {
  const { budget, conditions } = answer;
  return [
    ['id', answer.token_id],
    ['scope', answer.scope.join(' ')],
    ['capability', answer.capability],
    ['task', answer.task_id],
    ['conditions', conditionLines(conditions)],
    ['budget', budget && shownMoney({ currency: budget.currency, amount: budget.max_amount })],
    ['expires', answer.expires_at],
  ];
}
