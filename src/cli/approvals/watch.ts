/**
 * `writ approvals watch`: prints requests as they appear and as they are decided, until it is stopped.
 *
 * A list of requests cannot be waited for, so the command asks again every few seconds. It holds the ids of the newest
 * requests that wait and nothing else. A service that does not answer is asked again later, more and more seldom.
 *
 * @module
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '../../client/index.ts';
import { personOf } from '../../domain/decision/values.ts';
import { clockOf } from '../../domain/values/time-words.ts';
import { printable } from '../../domain/wire/printable.ts';
import { visibleText } from '../../domain/wire/visible-text.ts';
import type { ApprovalRequest } from '../../protocol/approval.ts';
import { answerOrExit, clientFor, SERVICE_OPTIONS, type ServiceGiven } from '../login/session.ts';
import { type Io, leaf, stopSignal } from '../shell/command.ts';
import { CommandFault, EXIT_CREDENTIAL, EXIT_OK, EXIT_UNAVAILABLE } from '../shell/exit.ts';
import { number } from '../shell/options.ts';
import { printJson } from '../shell/output.ts';
import { askedBy, requestsAt } from './list.ts';

/** In seconds. */
const INTERVAL_DEFAULT = 5;

/** In milliseconds: the longest pause after failures. */
const PAUSE_MAX_MS = 60_000;

/** The newest requests that are looked at. Each may have parameters of 256 KiB. */
const WATCHED_MAX = 200;

/** Requests that are asked for one by one in one turn. */
const ASKED_MAX = 20;

type Event = 'requested' | 'approved' | 'denied' | 'expired' | 'gone';

export const watchCommand = leaf({
  name: 'watch',
  summary: 'print requests as they appear and as they are decided',
  about: `Prints each request that waits for you, each that appears, and what was decided, until you
stop it (Ctrl-C). With --json each line is {"event", "approval_request"}; the events are
requested, approved, denied, expired, and gone for a request that you may no longer see.
Watches the newest ${WATCHED_MAX} requests.`,
  options: {
    interval: number('<seconds>', `between two looks (default: ${INTERVAL_DEFAULT})`),
    ...SERVICE_OPTIONS,
  },
  examples: [['writ approvals watch --json', 'for a program that notifies people']],
  exits: [[EXIT_OK, 'stopped']],
  cannot: 'watch approval requests',
  async run(given, io) {
    await watching(given, (given.interval ?? INTERVAL_DEFAULT) * 1_000, stopSignal(io), io);
  },
});

async function watching(
  given: ServiceGiven,
  intervalMs: number,
  stop: AbortSignal,
  io: Io,
): Promise<void> {
  let client = await clientFor(given, io);
  const known = new Set<string>();
  let refusals = 0;
  while (!stop.aborted) {
    const fault = await look({ client, known, stop }, given, io).catch(faultOf);
    if (stop.aborted) return;
    refusals = fault ? refusals + 1 : 0;
    if (fault) endsWatch(fault, refusals, io);
    // A login that ended is renewed; another credential stays what it is.
    if (fault?.exit === EXIT_CREDENTIAL) client = await clientFor(given, io);
    const pauseMs = Math.min(intervalMs * 2 ** refusals, Math.max(intervalMs, PAUSE_MAX_MS));
    await pause(pauseMs, undefined, { signal: stop }).catch(() => undefined);
  }
}

/** Everything else ends the command. */
function faultOf(error: unknown): CommandFault {
  if (error instanceof CommandFault || (error as Error)?.name === 'AbortError') {
    return error as CommandFault;
  }
  throw error;
}

/** A service that does not answer is asked again; so is one that refused the credential, once. */
function endsWatch(fault: CommandFault, refusals: number, io: Io): void {
  const isAgain = fault.exit === EXIT_CREDENTIAL && refusals === 1;
  if (fault.exit !== EXIT_UNAVAILABLE && !isAgain) throw fault;
  if (refusals === 1) io.err(`${printable(fault.message)}; trying again\n`);
}

interface Watch {
  readonly client: Client;
  /** The ids of requests that were printed and wait. */
  readonly known: Set<string>;
  readonly stop: AbortSignal;
}

/** One look: what is new, and what became of those that no longer wait. */
async function look(
  { client, known, stop }: Watch,
  given: { readonly json: boolean },
  io: Io,
): Promise<void> {
  // A refusal is no line of this command's output, also with --json.
  const quiet = { json: false };
  const wanted = { status: 'pending', limit: WATCHED_MAX, signal: stop } as const;
  const waiting = await requestsAt(client, wanted, quiet, io);
  const ids = new Set(waiting.map((each) => each.approval_request_id));
  const missing = [...known].filter((id) => !ids.has(id));
  for (const id of missing.slice(0, ASKED_MAX)) {
    const asked = { approval_request_id: id };
    const reply = await client.ask('approval_requests.get', asked, { signal: stop });
    const isGone = !reply.ok && reply.failure.type === 'not_found';
    const request = isGone ? undefined : answerOrExit(reply, quiet, io);
    // A request behind many newer ones still waits.
    if (request?.status === 'pending') continue;
    known.delete(id);
    report(request?.status ?? 'gone', request ?? { approval_request_id: id }, given, io);
  }
  // The oldest first, as they were made.
  for (const request of waiting.reverse()) {
    const { approval_request_id: id } = request;
    if (known.has(id)) continue;
    known.add(id);
    report('requested', request, given, io);
  }
  forgetOldest(known);
}

/** Bounds what a service can make the command hold. */
function forgetOldest(known: Set<string>): void {
  for (const id of known) {
    if (known.size <= 2 * WATCHED_MAX) return;
    known.delete(id);
  }
}

type Reported = ApprovalRequest | Pick<ApprovalRequest, 'approval_request_id'>;

function report(
  event: Event,
  request: Reported,
  { json }: { readonly json: boolean },
  io: Io,
): void {
  if (json) {
    printJson(io, { event, approval_request: request });
    return;
  }
  const words = 'capability' in request ? eventWords(event, request) : [];
  const line = [clockOf(new Date()), event.padEnd(9), request.approval_request_id, ...words];
  io.out(`${printable(line.join('  '))}\n`);
}

function eventWords(event: Event, request: ApprovalRequest): string[] {
  const { capability, title = capability, decided_by, reason, approvals } = request;
  if (event === 'requested') return [title, askedBy(request)];
  const names = event === 'approved' ? approvals.map(({ approver }) => approver) : [decided_by];
  const by = names.flatMap((name) => (name === null ? [] : visibleText(personOf(name))));
  return [
    title,
    by.length === 0 ? '' : `by ${by.join(' and ')}`,
    reason === null ? '' : visibleText(reason),
  ];
}
