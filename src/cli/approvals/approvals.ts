/**
 * `writ approvals`: approval requests at the command line.
 *
 * @module
 */

import { decisionPayload, digestFaults } from '../../domain/decision/checks.ts';
import { firstTerms } from '../../domain/decision/terms.ts';
import { decisionDigest, signedDecision } from '../../domain/passkey/decision.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import { answered, clientFor, SERVICE_OPTIONS } from '../login/session.ts';
import { type Group, leaf } from '../shell/command.ts';
import { CommandFault, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { flag, needed } from '../shell/options.ts';
import { printFacts, printJson } from '../shell/output.ts';
import { approveCommand, denyCommand } from './decide.ts';
import { listCommand } from './list.ts';
import { printDecision } from './print.ts';
import { fetchDecision, ID_OPERAND, TERMS_OPTIONS, termsFor } from './read.ts';
import { watchCommand } from './watch.ts';

export function approvalsCommand(): Group {
  return {
    name: 'approvals',
    summary: 'show, decide and watch approval requests',
    commands: [listCommand, showCommand, approveCommand, denyCommand, watchCommand, digestCommand],
  };
}

const showCommand = leaf({
  name: 'show',
  summary: 'show what an approver decides about',
  about: `Shows what the page of the request shows, with the same words: the question, the effect, the
preview, all parameters, what changed since the last approval, the words of the agent, the
chain of principals, the budgets, the terms, the history and the digests.

The digests of the parameters and of the preview are computed here, from what the service
answers. If the service states others, the command warns on standard error and ends with 1.`,
  operands: ID_OPERAND,
  options: SERVICE_OPTIONS,
  examples: [['writ approvals show apr_0123456789abcdef0123456789abcdef', 'one request']],
  exits: [
    [EXIT_OK, 'shown'],
    [EXIT_FOUND, 'do not rely on the request: what the service says about it does not fit'],
  ],
  cannot: 'show the approval request',
  async run(given, io) {
    const client = await clientFor(given, io);
    const decision = await fetchDecision(client, given.id, given, io);
    if (!given.json) {
      const faults = printDecision(io, decision, firstTerms(decision.request));
      return faults.length === 0 ? EXIT_OK : EXIT_FOUND;
    }
    printJson(io, decision);
    const faults = digestFaults(decision.request);
    for (const fault of faults) io.err(`Do not rely on this request: ${fault}\n`);
    return faults.length === 0 ? EXIT_OK : EXIT_FOUND;
  },
});

/**
 * `writ approvals digest`: computes what a passkey signs for a decision, independently of the page.
 *
 * Reads the request from the service, and computes the digests of its parameters and its preview itself. A page
 * that shows something else than it asks a passkey to sign shows another digest than this command.
 */
const digestCommand = leaf({
  name: 'digest',
  summary: 'compute what a passkey signs for a decision',
  about: `Shows what a passkey signs for a decision on an approval request, and its digest. Compare
the digest with the one on the page before you touch your passkey.

The parameters and the preview are those that the service answers to you; their digests are
computed here.`,
  operands: ID_OPERAND,
  options: {
    nonce: needed('<nonce>', 'as the page shows it'),
    deny: flag('for a denial (default: an approval)'),
    ...TERMS_OPTIONS,
    ...SERVICE_OPTIONS,
  },
  examples: [
    [
      'writ approvals digest apr_0123456789abcdef0123456789abcdef --nonce=… --grant-type one_time',
      'as the page prints it',
    ],
  ],
  exits: [
    [EXIT_OK, 'computed'],
    [EXIT_FOUND, 'do not sign: the service states other digests than its own answer has'],
  ],
  cannot: 'compute the digest',
  async run(given, io) {
    const asked = { approval_request_id: given.id };
    const request = await answered('approval_requests.get', asked, given, io);
    if (request.approval_request_id !== given.id) {
      throw new CommandFault('the service answered with another request', { exit: EXIT_FOUND });
    }
    const terms = given.deny ? null : termsFor(request, given);
    const payload = signedDecision(decisionPayload(request, given.nonce, terms));
    const digest = decisionDigest(payload);
    const { capability, parameters, preview } = request;
    if (given.json) printJson(io, { payload, digest });
    else {
      printFacts(io, [
        ['capability', capability],
        ['parameters', canonicalJson(parameters)],
        ['preview', preview === null ? undefined : canonicalJson(preview)],
        ['signed', canonicalJson(payload)],
        ['digest', digest],
      ]);
    }
    const faults = digestFaults(request);
    for (const fault of faults) io.err(`Do not sign: ${fault}\n`);
    return faults.length === 0 ? EXIT_OK : EXIT_FOUND;
  },
});
