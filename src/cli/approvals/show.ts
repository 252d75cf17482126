/**
 * `writ approvals show`: everything that the page of a request shows, with digests that this program computes.
 *
 * @module
 */

import { digestFaults } from '../../domain/decision/checks.ts';
import { firstTerms } from '../../domain/decision/terms.ts';
import { clientFor, SERVICE_OPTIONS } from '../login/session.ts';
import { type Leaf, leaf } from '../shell/command.ts';
import { EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { printJson } from '../shell/output.ts';
import { printDecision } from './print.ts';
import { fetchDecision, ID_OPERAND } from './read.ts';

export function showCommand(): Leaf {
  return leaf({
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
}
