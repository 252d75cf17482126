/**
 * `writ invoke --dry-run`: every check of a call, and no effect.
 *
 * @module
 */

import type { Client } from '../../client/index.ts';
import type { TestAnswer } from '../../protocol/invocation.ts';
import type { InputOf } from '../../protocol/operations.ts';
import { answerOrExit, failureExit } from '../login/session.ts';
import { EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';
import { printFacts, printJson } from '../shell/output.ts';
import { shownMoney } from '../shell/values.ts';

export async function dryRun(
  client: Client,
  { idempotency_key: _, ...call }: InputOf<'invoke'>,
  given: { readonly json: boolean },
  io: Io,
): Promise<number> {
  const answer = answerOrExit(await client.ask('test', call), given, io);
  if (given.json) printJson(io, answer);
  else show(answer, io);
  if (answer.would_be_admitted) return EXIT_OK;
  return answer.failure ? failureExit(answer.failure, true) : EXIT_FOUND;
}

function show(answer: TestAnswer, io: Io): void {
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
