/**
 * `writ attack`: attacks a running service as a black box, and says what held and what did not.
 *
 * Harmless unless the user allows effects: it reads, asks for narrow tokens of its own, and calls only capabilities that
 * read and cost nothing. It ends its tokens. It never prints a credential or a token.
 *
 * @module
 */

import { type Case, KINDS, kindOf } from '../../attack/case.ts';
import { APPROVED_CALLS_MAX } from '../../attack/cases/approvals.ts';
import { PAID_CALLS_MAX } from '../../attack/cases/budgets.ts';
import { type Credential, prepared } from '../../attack/prepare.ts';
import { CASES, endAll, runCases } from '../../attack/run.ts';
import { CannotRun } from '../../attack/target/service.ts';
import type { PaidCall, World } from '../../attack/target/world.ts';
import { printable } from '../../domain/wire/printable.ts';
import { parametersIn } from '../call/parameters.ts';
import { CREDENTIAL_VARIABLE, credentialOf } from '../login/session.ts';
import { answersYes, type Io, leaf, stopSignal } from '../shell/command.ts';
import {
  CommandFault,
  EXIT_CREDENTIAL,
  EXIT_FAILED,
  EXIT_FOUND,
  EXIT_OK,
  EXIT_UNAVAILABLE,
} from '../shell/exit.ts';
import { flag, type Given, value } from '../shell/options.ts';
import { JSON_OPTION, startProgress } from '../shell/output.ts';
import { baseOf } from '../shell/remote.ts';
import { shownMoney } from '../shell/values.ts';
import { printCases, printReport, printStart } from './print.ts';

const OTHER_VARIABLE = 'WRIT_CLIENT_OTHER_CREDENTIAL';
const APPROVER_VARIABLE = 'WRIT_CLIENT_APPROVER_CREDENTIAL';

const OPTIONS = {
  url: value('<url>', 'the service, such as http://127.0.0.1:8420'),
  'token-file': value(
    '<file>',
    `a file with the credential of a principal (default: $${CREDENTIAL_VARIABLE})`,
  ),
  'other-token-file': value(
    '<file>',
    `a file with the credential of another principal (default: $${OTHER_VARIABLE})`,
  ),
  'approver-token-file': value(
    '<file>',
    `with --with-effects: a file with the credential of an approver (default: $${APPROVER_VARIABLE})`,
  ),
  subject: value(
    '<principal>',
    'the subject of the tokens that the first credential asks for (default: the service decides)',
  ),
  'other-subject': value('<principal>', 'the same for the second credential'),
  capability: value(
    '<name>',
    'the capability that cases call: it only reads and costs nothing (default: the first that succeeds)',
  ),
  parameters: value(
    '<json>',
    'with --capability: its parameters, as {…}, @file or - (default: made up from their types)',
  ),
  only: value('<list>', `only these classes (${KINDS.join(', ')}) or cases, separated by commas`),
  list: flag('list the cases, and send nothing'),
  'with-effects': flag(
    'also call a capability that costs money, and one that needs approval, after you confirmed it',
  ),
  yes: flag('with --with-effects: do not ask'),
  ...JSON_OPTION,
} as const;

type AttackGiven = Given<typeof OPTIONS>;

export const attackCommand = leaf({
  name: 'attack',
  summary: 'attack a service, and say which rules held',
  about: `Attacks a running service of the protocol svc/0.24 with the credentials of two principals, as a stranger would who has
them: forged and stolen tokens, wider delegations, strange budgets, forged approvals, foreign entries of the log, malformed
requests. Prints one line for each case: held, broken, or not applicable and why.

Harmless by default: it issues narrow tokens of its own, reads, and calls only capabilities that read and cost nothing, so that
even a broken service does nothing else. It ends its tokens. With --with-effects it also spends money and asks for
approvals; it prints what that costs at most, and asks you first.

Attack only services that you may attack. The requests of a run are bounded, and name themselves in their User-Agent.`,
  options: OPTIONS,
  examples: [
    [
      'writ attack --url http://127.0.0.1:8420 --token-file alice.key --other-token-file bob.key',
      'every harmless case',
    ],
    [
      'writ attack --url http://127.0.0.1:8420 --only tokens,log.foreign-entries --json',
      'some cases, with credentials of the environment, for a program',
    ],
    ['writ attack --list', 'what there is, without sending anything'],
  ],
  exits: [
    [EXIT_OK, 'nothing is broken'],
    [EXIT_FOUND, 'a rule is broken'],
    [EXIT_FAILED, 'the attack could not run or was stopped, or no case applied'],
  ],
  cannot: 'attack',
  async run(given, io) {
    const cases = chosen(given.only);
    if (given.list) {
      printCases(io, cases, given.json);
      return EXIT_OK;
    }
    if (given.url === undefined) throw new Error('give --url');
    const signal = stopSignal(io);
    const world = await preparedFor({ ...given, url: given.url }, io, signal);
    try {
      return await attacked(world, cases, given, { io, signal });
    } catch (error) {
      await endAll(world);
      throw error;
    }
  },
});

/** The cases that the user asks for, in their order. */
function chosen(only: string | undefined): readonly Case[] {
  if (only === undefined) return CASES;
  const names = only.split(',').map((name) => name.trim());
  const known = new Set<string>([...KINDS, ...CASES.map(({ id }) => id)]);
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) {
    throw new Error(`there is no class and no case "${unknown}"; see "writ attack --list"`);
  }
  return CASES.filter((each) => names.includes(each.id) || names.includes(kindOf(each)));
}

async function preparedFor(
  given: AttackGiven & { url: string },
  io: Io,
  signal: AbortSignal,
): Promise<World> {
  const { capability, subject } = given;
  const first = credentialOf(given['token-file'], io);
  const second = otherCredential(given['other-token-file'], OTHER_VARIABLE, io);
  if (second === undefined) {
    const ways = `set ${OTHER_VARIABLE} or give --other-token-file`;
    throw new CommandFault(`there is no credential of another principal; ${ways}`, {
      exit: EXIT_CREDENTIAL,
    });
  }
  const third = otherCredential(given['approver-token-file'], APPROVER_VARIABLE, io);
  if (given.parameters !== undefined && capability === undefined) {
    throw new Error('--parameters needs --capability');
  }
  const parameters =
    given.parameters === undefined ? undefined : await parametersIn(given.parameters, io);
  const progress = startProgress(io);
  progress.say('looking at the service');
  try {
    return await prepared({
      url: baseOf(given.url),
      self: partyOf(first, subject),
      other: partyOf(second, given['other-subject']),
      approver: third === undefined ? undefined : partyOf(third, undefined),
      call: capability === undefined ? undefined : { capability, parameters },
      now: () => new Date(),
      signal,
    });
  } catch (error) {
    throw error instanceof CannotRun ? faultOf(error) : error;
  } finally {
    progress.end();
  }
}

function partyOf(secret: string, subject: string | undefined): Credential {
  return { secret, subject };
}

/** A credential that another option or variable gives. Undefined where neither does. */
function otherCredential(file: string | undefined, variable: string, io: Io): string | undefined {
  if (file === undefined && !io.env[variable]) return undefined;
  return credentialOf(file, { ...io, env: { [CREDENTIAL_VARIABLE]: io.env[variable] } });
}

const EXITS = {
  silent: EXIT_UNAVAILABLE,
  credential: EXIT_CREDENTIAL,
  other: EXIT_FAILED,
} as const;

function faultOf(error: CannotRun): CommandFault {
  return new CommandFault(error.message, { exit: EXITS[error.reason], cause: error });
}

async function attacked(
  world: World,
  cases: readonly Case[],
  given: AttackGiven,
  { io, signal }: { io: Io; signal: AbortSignal },
): Promise<number> {
  if (!given.json) printStart(io, world);
  const started = Date.now();
  const withEffects = given['with-effects'] && (await mayHaveEffects(world, cases, given.yes, io));
  const progress = startProgress(io);
  const results = await runCases(world, {
    cases,
    withEffects,
    signal,
    onCase: ({ id }, done) => progress.say(`${done + 1} of ${cases.length}: ${id}`),
  });
  progress.say('ending the tokens of this run');
  const cleanup = await endAll(world);
  progress.end();
  const seconds = Math.round((Date.now() - started) / 1_000);
  printReport(io, {
    world,
    results,
    cleanup,
    seconds,
    left: cases.length - results.length,
    json: given.json,
  });
  if (results.some(({ verdict }) => verdict === 'broken')) return EXIT_FOUND;
  const isWhole = results.length === cases.length;
  return isWhole && results.some(({ verdict }) => verdict === 'held') ? EXIT_OK : EXIT_FAILED;
}

/** Says what the cases may do. False where the user does not want it. */
async function mayHaveEffects(
  world: World,
  cases: readonly Case[],
  isSure: boolean,
  io: Io,
): Promise<boolean> {
  const kinds = new Set(cases.filter(({ hasEffects }) => hasEffects).map(kindOf));
  if (kinds.size === 0) return false;
  const { approver } = world;
  const paid = kinds.has('budgets') ? world.paid : undefined;
  const approved = kinds.has('approvals') ? world.approved : undefined;
  const lines = [
    ...(paid
      ? [line(world, paid, { usual: 'at most twice if every rule holds', most: PAID_CALLS_MAX })]
      : []),
    ...(approved
      ? [
          line(world, approved, {
            usual: approver ? 'once if every rule holds' : 'never if every rule holds',
            most: APPROVED_CALLS_MAX,
          }),
        ]
      : []),
  ];
  if (lines.length > 0) io.err(`With effects, this run calls:\n${lines.join('')}`);
  if (kinds.has('log')) io.err('It tries to delete and to replace entries of the log.\n');
  if (approved) io.err('It leaves approval requests, which approvers see.\n');
  if (isSure) return true;
  if (!io.ask) throw new Error('there is no terminal to ask at; give --yes');
  if (await answersYes(io, 'Go on with effects? [y/N] ')) return true;
  io.err('Without effects, then.\n');
  return false;
}

interface Often {
  readonly usual: string;
  readonly most: number;
}

function line(
  { wire }: World,
  { capability, price, declared }: PaidCall,
  { usual, most }: Often,
): string {
  const isPaid = price.amount > 0;
  const worst = { currency: price.currency, amount: Number((price.amount * most).toFixed(4)) };
  const each = isPaid ? `up to ${shownMoney(price)} a call` : 'without a price';
  const sum = isPaid ? `, ${shownMoney(worst)},` : '';
  const name = wire.withoutSecrets(capability).slice(0, 100);
  const what = `${name} (${declared.sideEffect.slice(0, 20)}, ${each})`;
  return `  ${printable(`${what}: ${usual}; up to ${most} times${sum} if none holds`)}\n`;
}
