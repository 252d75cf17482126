/**
 * `writ invoke`: one call of a capability, or a dry run of it.
 *
 * The call keeps one idempotency key through every repetition. A lost answer ends the command with the key to
 * repeat it with; a call that needs approval ends it with the request to decide, or waits for the decision.
 *
 * @module
 */

import type { Client, ClientEvent, Refused, Reply } from '../../client/index.ts';
import { freshKey, keyAfter } from '../../client/key.ts';
import { backoffMs } from '../../client/pace.ts';
import { isObject } from '../../domain/wire/json.ts';
import { SIGNED_RECEIPT } from '../../domain/wire/prefer.ts';
import { printable } from '../../domain/wire/printable.ts';
import { type ApprovalRequest, WAIT_SECONDS_MAX } from '../../protocol/approval.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { InvokeSuccess, TestAnswer } from '../../protocol/invocation.ts';
import type { InputOf } from '../../protocol/operations.ts';
import {
  answerOrExit,
  clientFor,
  failureExit,
  SERVICE_OPTIONS,
  type ServiceGiven,
} from '../login/session.ts';
import { type Io, leaf } from '../shell/command.ts';
import { CommandFault, EXIT_APPROVAL, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { bytesIn, parseJsonBytes } from '../shell/files.ts';
import { flag, type Given, list, needed, value } from '../shell/options.ts';
import { printFacts, printJson } from '../shell/output.ts';
import { shownMoney } from '../shell/values.ts';
import { parametersIn, withNamed } from './parameters.ts';

const CALL_OPTIONS = {
  parameters: value('<json>', 'the parameters: a JSON object, @file, or - for standard input'),
  param: list('<name=value>', 'one parameter; text, or JSON where its declared type is no text'),
  'idempotency-key': value('<key>', 'repeats the call with this key without a second effect'),
  'approval-grant': value('<id>', 'the approval grant to use'),
  'grant-file': value('<file>', 'a file with the approval grant: its JSON, or its id'),
  note: value('<text>', 'your words for the approvers, if the call needs approval'),
  'task-id': value('<id>', 'the task that the call belongs to'),
  'client-reference-id': value('<id>', 'your own id of the call, which the log contains'),
  'signed-receipt': flag('ask for a receipt that the service signs; --json prints it'),
  stream: flag('print progress while the call runs'),
  'dry-run': flag('make every check of the call, and no effect'),
  wait: flag('if the call needs approval, wait for the decision and continue'),
  ...SERVICE_OPTIONS,
} as const;

type CallGiven = Given<typeof CALL_OPTIONS>;

export const invokeCommand = leaf({
  name: 'invoke',
  summary: 'use a capability',
  about: `Calls a capability with a delegation token and prints its result.

If the call needs approval, the command ends with status 3 and names the request. After the approval, the same
command continues with the grant; --wait waits for the decision. If the answer is lost, the command says with which
--idempotency-key the same call has no second effect.

With --json, standard output has the answer of the service, with --stream each event of it on a line.`,
  operands: { capability: needed('<capability>', 'its name') },
  options: CALL_OPTIONS,
  examples: [
    [
      'writ invoke search_flights --param origin=SEA --param destination=SFO --param date=2030-12-01',
      'parameters by name',
    ],
    ['writ invoke book_flight --parameters @booking.json --wait', 'wait until it is approved'],
    ['writ invoke book_flight --parameters @booking.json --dry-run', 'what would happen'],
  ],
  exits: [
    [0, 'the call succeeded, or the dry run would be admitted'],
    [1, 'the service refused, or the capability failed'],
    [3, 'a person has to approve the call first'],
    [5, 'no answer: the call may have run; repeat it with the printed idempotency key'],
  ],
  cannot: 'invoke',
  async run(given, io) {
    checkModes(given);
    const client = await clientFor(given, io);
    const call = await callOf(given.capability, client, given, io);
    if (given['dry-run']) return dryRun(client, call, given, io);
    return invoked(client, call, given, io);
  },
});

function checkModes(given: CallGiven): void {
  if (given['dry-run'] && (given.stream || given.wait)) {
    throw new Error('--dry-run runs nothing; give it without --stream and --wait');
  }
  if (given['dry-run'] && given['idempotency-key'] !== undefined) {
    throw new Error('--dry-run has no effect to repeat; give it without --idempotency-key');
  }
}

async function callOf(
  capability: string,
  client: Client,
  given: CallGiven,
  io: Io,
): Promise<InputOf<'invoke'>> {
  const grant = grantOf(given);
  const plain = await parametersIn(given.parameters, io);
  const parameters =
    given.param.length === 0
      ? plain
      : withNamed(plain, given.param, await declarationOf(client, capability, given, io));
  return {
    capability,
    parameters,
    // A stream does not say which key the client chose, and a repetition needs it.
    idempotency_key: given['idempotency-key'] ?? (given.stream ? freshKey() : undefined),
    approval_grant: grant,
    continue_approved: grant === undefined,
    note: given.note,
    task_id: given['task-id'],
    client_reference_id: given['client-reference-id'],
    prefer: given['signed-receipt'] ? SIGNED_RECEIPT : undefined,
  };
}

async function declarationOf(client: Client, name: string, given: ServiceGiven, io: Io) {
  const { capabilities } = answerOrExit(await client.manifest(), given, io);
  return Object.hasOwn(capabilities, name) ? capabilities[name] : undefined;
}

function grantOf(given: CallGiven): string | undefined {
  const { 'approval-grant': id, 'grant-file': file } = given;
  if (file === undefined) return id;
  if (id !== undefined) throw new Error('give --approval-grant or --grant-file, not both');
  const text = new TextDecoder().decode(bytesIn(file)).trim();
  if (/^gnt_\w+$/.test(text)) return text;
  const grant = parseJsonBytes(new TextEncoder().encode(text), `"${file}"`);
  if (isObject(grant) && typeof grant.grant_id === 'string') return grant.grant_id;
  throw new Error(`"${file}" has no approval grant`);
}

async function invoked(
  client: Client,
  call: InputOf<'invoke'>,
  given: CallGiven,
  io: Io,
): Promise<number> {
  const send = given.stream ? streamed : whole;
  let reply = await send(client, call, given, io);
  if (given.wait && !reply.ok && reply.failure.type === 'approval_required') {
    const grant = await decided(client, reply.failure, given, io);
    const idempotency_key = keyAfter(reply) ?? call.idempotency_key;
    const granted = { ...call, idempotency_key, approval_grant: grant, continue_approved: false };
    reply = await send(client, granted, given, io);
  }
  if (!reply.ok) throw refusalOf(reply, client, given, io);
  // Each event of a stream is printed already, the last one included.
  if (!given.json) show(reply.answer, reply.replayed, io);
  else if (!given.stream) printJson(io, reply.answer);
  return EXIT_OK;
}

type Send = (
  client: Client,
  call: InputOf<'invoke'>,
  given: CallGiven,
  io: Io,
) => Promise<Reply<InvokeSuccess>>;

const whole: Send = (client, call) => client.invoke(call);

const streamed: Send = async (client, call, given, io) => {
  for await (const event of client.stream(call)) {
    if (event.event === 'refused' || event.event === 'lost') return event.data;
    if (given.json) printJson(io, event);
    if (event.event === 'completed') return { ok: true, answer: event.data, replayed: false };
    if (event.event === 'failed') {
      const idempotencyKey = call.idempotency_key ?? undefined;
      return { ok: false, failure: event.data.failure, answer: event.data, idempotencyKey };
    }
    if (!given.json) io.err(`${printable(progressOf(event))}\n`);
  }
  throw new Error('the stream ended before its last event');
};

function progressOf(event: Extract<ClientEvent, { event: 'started' | 'progress' }>): string {
  if (event.event === 'started') return `started ${event.data.invocation_id}`;
  const { progress } = event.data;
  return typeof progress === 'string' ? progress : JSON.stringify(progress);
}

/** One line: what was refused, and the command that goes on from here. */
function refusalOf(reply: Refused, client: Client, given: CallGiven, io: Io): CommandFault {
  const { failure, answer, idempotencyKey } = reply;
  const wasStreamed = given.stream && answer !== undefined && 'stream_summary' in answer;
  try {
    answerOrExit(reply, { json: given.json && !wasStreamed }, io);
  } catch (fault) {
    if (!(fault instanceof CommandFault)) throw fault;
    const { exit, message } = fault;
    if (exit === EXIT_APPROVAL) {
      const show = `writ approvals show ${failure.approval_request_id} --service ${client.url}`;
      const next = 'after the approval, run the same command again';
      return new CommandFault(`${message}; an approver sees the request with: ${show}; ${next}`, {
        exit,
      });
    }
    if (answer === undefined && idempotencyKey !== undefined) {
      const again = `run the same command again with --idempotency-key ${idempotencyKey}`;
      return new CommandFault(`${message}; ${again}: it has no second effect`, { exit });
    }
    return fault;
  }
  throw new Error('Cannot refuse: the call succeeded');
}

function show(answer: InvokeSuccess, wasReplayed: boolean, io: Io): void {
  const { cost_actual: cost, budget_context: budget, audit } = answer;
  const { budget_remaining: left, budget_currency: currency } = budget ?? {};
  printFacts(io, [
    ['invocation', answer.invocation_id],
    ['repeated', wasReplayed ? 'yes: this is the answer of the earlier call' : undefined],
    ['cost', cost && shownMoney(cost)],
    [
      'budget left',
      left === undefined || !currency ? undefined : shownMoney({ currency, amount: left }),
    ],
    ['entry', audit?.entry_id],
  ]);
  printResult(answer.result, io);
}

/** JSON on several lines. Its text cannot act on the terminal. */
function printResult(result: unknown, io: Io): void {
  for (const line of JSON.stringify(result, null, 2).split('\n')) io.out(`${printable(line)}\n`);
}

async function dryRun(
  client: Client,
  { idempotency_key: _, ...call }: InputOf<'invoke'>,
  given: { readonly json: boolean },
  io: Io,
): Promise<number> {
  const answer = answerOrExit(await client.ask('test', call), given, io);
  if (given.json) printJson(io, answer);
  else showDryRun(answer, io);
  if (answer.would_be_admitted) return EXIT_OK;
  return answer.failure ? failureExit(answer.failure, true) : EXIT_FOUND;
}

function showDryRun(answer: TestAnswer, io: Io): void {
  const { cost_check: cost, budget_context: budget, approval, failure } = answer;
  const left = budget?.budget_remaining;
  printFacts(io, [
    ['would be admitted', answer.would_be_admitted ? 'yes' : 'no'],
    ['why not', failure && `${failure.detail} [${failure.type}]`],
    ['next', failure?.resolution.action.replaceAll('_', ' ')],
    ['cost', cost && costText(cost)],
    [
      'budget left',
      left === undefined || !budget
        ? undefined
        : shownMoney({ currency: budget.budget_currency, amount: left }),
    ],
    ['approval', approval && approvalText(approval)],
    ['parameters', answer.resolved_parameters && JSON.stringify(answer.resolved_parameters)],
  ]);
}

function costText({ currency, amount, certainty }: NonNullable<TestAnswer['cost_check']>): string {
  const text =
    amount === null ? `an unknown amount of ${currency}` : shownMoney({ currency, amount });
  return `${text} (${certainty})`;
}

function approvalText({ required, approvals_required }: NonNullable<TestAnswer['approval']>) {
  if (!required) return 'not needed';
  return approvals_required === undefined ? 'needed' : `needed, by ${approvals_required}`;
}

/** Milliseconds added to the timeout of a wait, so that its answer can arrive. */
const MARGIN_MS = 5_000;

/** Failures to reach the service in a row, after which the command gives up. */
const FAILURES_MAX = 5;

/** Resolves with the id of the grant. Rejects when the request is denied or expires; with --json it is printed first. */
async function decided(
  client: Client,
  failure: Failure,
  { json }: { readonly json: boolean },
  io: Io,
): Promise<string> {
  const id = failure.approval_request_id ?? '';
  const url = failure.decision_url ? `: ${failure.decision_url}` : '';
  io.err(`${printable(`Waiting for the decision on ${id}${url}`)}\n`);
  let failures = 0;
  for (let turn = 0; ; turn += 1) {
    const reply = await client.ask(
      'approval_requests.get',
      { approval_request_id: id, prefer: `wait=${WAIT_SECONDS_MAX}` },
      { timeoutMs: WAIT_SECONDS_MAX * 1_000 + MARGIN_MS, retries: 0 },
    );
    failures = reply.ok ? 0 : failures + 1;
    const isOver = reply.ok && ['denied', 'expired'].includes(reply.answer.status);
    if (json && isOver) printJson(io, reply.answer);
    const grant = reply.ok ? decidedGrant(reply.answer) : mayWait(reply, failures);
    if (grant !== undefined) return grant;
    // A stopping service ends every wait early; without a pause this loop would flood it.
    await client.pause(backoffMs(Math.min(turn, 3)));
  }
}

/** The grant of a decided request; nothing while it is pending. */
function decidedGrant(request: ApprovalRequest): string | undefined {
  const { approval_request_id: id, status, grant_id, reason, decided_by } = request;
  if (status === 'pending') return undefined;
  if (status === 'approved' && grant_id) return grant_id;
  const by = decided_by ? ` by ${decided_by}` : '';
  const [why, exit] = {
    denied: [`${id} was denied${by}${reason ? `: ${reason}` : ''}`, EXIT_FOUND] as const,
    expired: [`${id} expired before a decision`, EXIT_APPROVAL] as const,
    approved: [`${id} is approved, and its grant is for another caller`, EXIT_FOUND] as const,
  }[status];
  throw new CommandFault(why, { exit });
}

/** A service that does not answer for a moment may be asked again. */
function mayWait({ failure, answer }: Refused, failures: number): undefined {
  if (failure.retry && failures < FAILURES_MAX) return undefined;
  throw new CommandFault(failure.detail, { exit: failureExit(failure, answer !== undefined) });
}
