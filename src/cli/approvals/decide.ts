/**
 * `writ approvals approve` and `writ approvals deny`.
 *
 * Approving shows what the page shows, then asks a person at the terminal. A script gives the digest of the parameters
 * that were reviewed instead. The request is read once more before it is approved: what is approved is what was shown.
 *
 * @module
 */

import type { Client } from '../../client/index.ts';
import { decisionIdentity, digestsOf, faultsOf } from '../../domain/decision/checks.ts';
import { hiddenTexts } from '../../domain/decision/claims.ts';
import { standingWords, waitingWords } from '../../domain/decision/standing.ts';
import { termsWords } from '../../domain/decision/terms.ts';
import { wordsText } from '../../domain/decision/text.ts';
import { digestOf } from '../../domain/wire/canonical.ts';
import { printable } from '../../domain/wire/printable.ts';
import type { GrantAnswer, GrantTerms } from '../../protocol/approval.ts';
import type { Decision } from '../../protocol/decision.ts';
import { answered, answerOrExit, clientFor, SERVICE_OPTIONS } from '../login/session.ts';
import { type Io, leaf } from '../shell/command.ts';
import { CommandFault, EXIT_APPROVAL, EXIT_FAILED, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { flag, type Given, needed, value } from '../shell/options.ts';
import { printFacts, printJson } from '../shell/output.ts';
import { printDecision } from './print.ts';
import { fetchDecision, ID_OPERAND, TERMS_OPTIONS, termsFor } from './read.ts';

const APPROVE_OPTIONS = {
  ...TERMS_OPTIONS,
  yes: flag('do not ask; needs --digest'),
  digest: value(
    '<sha256:…>',
    'the digest of the parameters that were reviewed; others are not approved',
  ),
  ...SERVICE_OPTIONS,
} as const;

type ApproveGiven = Given<typeof APPROVE_OPTIONS> & Given<typeof ID_OPERAND>;

export const approveCommand = leaf({
  name: 'approve',
  summary: 'approve a request, after you saw what it does',
  about: `Shows what "writ approvals show" shows, asks you to type "approve", and approves.

A script gives --yes, and --digest with the digest of the parameters that were reviewed, as
"writ approvals show" prints it. Then nothing is asked. Parameters with another digest are
not approved, and neither are terms of another approver that the options do not name.

Where several people must approve, the first chooses the terms, and the others approve
exactly these. Where the policy requires a passkey, the decision needs the page of the
request: the command prints its address and ends with 3.`,
  operands: ID_OPERAND,
  options: APPROVE_OPTIONS,
  examples: [
    ['writ approvals approve apr_0123456789abcdef0123456789abcdef', 'shows it and asks'],
    [
      'writ approvals approve apr_0123456789abcdef0123456789abcdef --yes --digest sha256:…',
      'for a script that reviewed exactly these parameters',
    ],
  ],
  exits: [
    [EXIT_OK, 'approved; where others must approve too, your approval counts'],
    [
      EXIT_FOUND,
      'not approved: the request is not what it seems, was decided, or is not yours to decide',
    ],
    [EXIT_FAILED, 'not approved: an option is wrong, or it was not confirmed'],
    [EXIT_APPROVAL, 'not approved: the policy requires a passkey, so decide it on its page'],
  ],
  cannot: 'approve the request',
  run: approve,
});

async function approve(given: ApproveGiven, io: Io): Promise<void> {
  if (given.yes && given.digest === undefined) {
    throw new Error('--yes needs --digest, the digest of the parameters that were reviewed');
  }
  const client = await clientFor(given, io);
  const decision = await fetchDecision(client, given.id, given, io);
  refuseClosed(decision);
  const terms = given.yes ? namedTerms(decision, given) : termsFor(decision.request, given);
  const faults = printDecision(readBy(given, io), decision, terms);
  if (faults.length > 0) throw new CommandFault(faults.join(' '), { exit: EXIT_FOUND });
  refuseOtherDigest(decision, given.digest);
  refusePasskey(decision);
  if (!given.yes) await confirmed(decision, terms, io);
  const answer = await issue(client, { decision, terms }, given, io);
  if (given.json) printJson(io, answer);
  else printAnswer(io, decision, answer);
}

/**
 * With --json, standard output has the answer of the service and nothing else. A person who is asked reads at the
 * terminal, also where standard output goes into a file.
 */
function readBy({ json, yes }: ApproveGiven, io: Io): Io {
  const isUnread = !yes && io.isTerminal?.out === false;
  return json || isUnread ? { ...io, out: io.err } : io;
}

/** No person reads the terms that another approver proposed, so the options have to name them. */
function namedTerms(decision: Decision, given: ApproveGiven): GrantTerms {
  const { request } = decision;
  const { terms: fixed } = request;
  const terms = termsFor({ ...request, terms: null }, given);
  if (!fixed || digestOf(fixed) === digestOf(terms)) return terms;
  const { grant_type, expires_in_seconds, max_uses } = fixed;
  const options = `--grant-type ${grant_type} --expires-in ${expires_in_seconds} --max-uses ${max_uses}`;
  const why = `another approver chose the terms "${termsWords(decision, fixed)}"; to approve these, give ${options}`;
  throw new CommandFault(why, { exit: EXIT_FOUND });
}

/** Decided, expired, already approved by this person, or for others to decide. */
function refuseClosed(decision: Decision): void {
  const now = Date.parse(decision.now);
  const standing = wordsText(standingWords(decision, now), now);
  if (standing !== '') throw new CommandFault(standing, { exit: EXIT_FOUND });
}

function refuseOtherDigest({ request }: Decision, digest: string | undefined): void {
  if (digest === undefined) return;
  const { parameters } = digestsOf(request);
  if (parameters === `sha256:${digest.replace(/^sha256:/, '')}`) return;
  const why = `its parameters have the digest ${parameters}, not ${digest}`;
  throw new CommandFault(why, { exit: EXIT_FOUND });
}

function refusePasskey({ passkey, decision_url }: Decision): void {
  if (!passkey.is_required) return;
  const where = decision_url === null ? 'a page of the service' : decision_url;
  throw new CommandFault(`the policy requires your passkey; decide it at ${where}`, {
    exit: EXIT_APPROVAL,
  });
}

/** Asks the person. Text with hidden characters takes a further answer, as on the page. */
async function confirmed(decision: Decision, terms: GrantTerms, io: Io): Promise<void> {
  if (!io.ask) {
    throw new Error('there is no terminal to ask at; give --yes and --digest <the digest above>');
  }
  io.err(`\nTerms: ${printable(termsWords(decision, terms))}.\n`);
  const hidden = hiddenTexts(decision).reduce((sum, { hidden: found }) => sum + found.length, 0);
  if (hidden > 0) {
    await answeredWith(io, String(hidden), 'Type the number of hidden characters that you saw: ');
  }
  await answeredWith(io, 'approve', 'Type approve to confirm: ');
}

async function answeredWith(io: Io, wanted: string, question: string): Promise<void> {
  const answer = await io.ask?.(question);
  if (answer?.trim() !== wanted) throw new Error('it was not confirmed');
}

interface Asked {
  readonly decision: Decision;
  readonly terms: GrantTerms;
}

/** Reads the request once more: a person may have read for an hour. */
async function issue(
  client: Client,
  { decision, terms }: Asked,
  given: ApproveGiven,
  io: Io,
): Promise<GrantAnswer> {
  const fresh = await fetchDecision(client, given.id, given, io);
  refuseClosed(fresh);
  if (decisionIdentity(fresh) !== decisionIdentity(decision)) {
    throw new CommandFault('the request changed while you read it; show it again', {
      exit: EXIT_FOUND,
    });
  }
  const [fault] = faultsOf(fresh);
  if (fault !== undefined) throw new CommandFault(fault, { exit: EXIT_FOUND });
  const fixed = fresh.request.terms;
  if (fixed && digestOf(fixed) !== digestOf(terms)) {
    throw new CommandFault('another approver chose other terms; show it again', {
      exit: EXIT_FOUND,
    });
  }
  const { session_id, ...rest } = terms;
  const reply = await client.ask('approval_grants.issue', {
    approval_request_id: given.id,
    ...rest,
    ...(session_id !== null && { session_id }),
  });
  return answerOrExit(reply, given, io);
}

function printAnswer(io: Io, decision: Decision, answer: GrantAnswer): void {
  io.out('\n');
  if ('grant_id' in answer) {
    printFacts(io, [
      ['Approved', answer.approval_request_id],
      ['Grant', answer.grant_id],
      ['Uses', answer.max_uses],
      ['Until', answer.expires_at],
    ]);
    return;
  }
  const { approvals, approvals_required } = answer;
  const request = { ...decision.request, approvals, approvals_required };
  const now = Date.parse(decision.now);
  io.out(`${printable(wordsText(waitingWords({ ...decision, request }), now))}\n`);
}

export const denyCommand = leaf({
  name: 'deny',
  summary: 'deny a request, with a reason that the requester reads',
  about: `Denies a request for all approvers. The requester and its root principal can read the
reason, and it enters the log. A denial needs no passkey.`,
  operands: ID_OPERAND,
  options: { reason: needed('<text>', 'why, in a sentence'), ...SERVICE_OPTIONS },
  examples: [
    [
      'writ approvals deny apr_0123456789abcdef0123456789abcdef --reason "the booking is of last year"',
      'ends the request',
    ],
  ],
  cannot: 'deny the request',
  async run(given, io) {
    const denied = await answered(
      'approval_requests.deny',
      {
        approval_request_id: given.id,
        reason: given.reason,
      },
      given,
      io,
    );
    if (given.json) printJson(io, denied);
    else {
      printFacts(io, [
        ['Denied', denied.approval_request_id],
        ['Capability', denied.capability],
        ['Reason', denied.reason],
      ]);
    }
  },
});
