/**
 * The dry run: what a call would do, without doing it.
 *
 * Runs the checks of an invocation and then stops. A refusal of the call is part of the answer.
 * Only a fault of the question itself, such as an unknown capability or a rate limit, is a failure.
 *
 * @module
 */

import { Refusal } from '../../domain/failure.ts';
import type { Charge } from '../../domain/invocation/budget.ts';
import { type RateState, rateHeaders } from '../../domain/invocation/rate.ts';
import { toHex } from '../../domain/wire/hash.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { TestAnswer } from '../../protocol/invocation.ts';
import { run } from '../../steps.ts';
import { OutcomeUnknown } from '../../storage/port/store.ts';
import { standingAnswer } from '../approval/request.ts';
import { frozenCall } from '../authority/freeze.ts';
import {
  beginCall,
  budgetContext,
  type Call,
  type CheckedCall,
  echo,
  endingEntry,
  moneyOf,
} from '../call/call.ts';
import { disclosedTo } from '../caller/audited.ts';
import { presentedToken, type TokenCaller } from '../caller/caller.ts';
import { type Answer, type Ask, failureOf } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { newInvocationId } from '../operations/random.ts';
import type { InvokeParts } from './handler.ts';
import { check, readInput } from './invoke.ts';
import { signedAnswer } from './receipt.ts';
import { refusedCall, unrecordedCall } from './settle.ts';
import { busyFailure } from './unadmitted.ts';

export async function dryRun(parts: InvokeParts, ask: Ask): Promise<Answer> {
  const rates: RateState[] = [];
  const { call, answer } = await answerTo(parts, ask, rates);
  return signedAnswer(parts, call, { ...answer, headers: rateHeaders(rates) });
}

async function answerTo(
  parts: InvokeParts,
  ask: Ask,
  rates: RateState[],
): Promise<{ call: Call; answer: Answer }> {
  const call = beginCall(rates, newInvocationId(parts.platform));
  try {
    const reading = readInput('test', ask);
    echo(call, reading.input);
    const presented = presentedToken(parts, ask);
    const checked = await judgeCall(parts, call, check(parts, presented, call, reading));
    return { call, answer: await dryRunAnswer(parts, call, checked) };
  } catch (error) {
    call.parameters = undefined;
    const found = failureOf('test', error, parts.log);
    const isUnknown = error instanceof OutcomeUnknown;
    const answer = isUnknown
      ? unrecordedCall(parts, call, found)
      : await refusedCall(parts, call, found, 'dry_run');
    return { call, answer };
  }
}

interface Judged {
  readonly failure?: Failure;
  /** The resolved and priced call; absent when an earlier rule refused. */
  readonly checked?: CheckedCall;
  readonly needsApproval?: boolean;
}

/**
 * Separates a refusal of the call from a failure of the question: without a capability there is no
 * call.
 */
async function judgeCall(
  parts: InvokeParts,
  call: Call,
  checking: ReturnType<typeof check>,
): Promise<Judged> {
  try {
    const checked = await run(checking);
    if ('replay' in checked) throw new Error('Cannot replay a dry run: it has no key');
    const needsApproval = 'asks' in checked;
    const passed = needsApproval ? checked.asks : checked;
    // A copy: the entry of a dry run names no request of another call.
    const failure =
      (await obstacle(parts, passed)) ??
      (needsApproval && (await standingAnswer(parts, { ...passed })));
    return { checked: passed, needsApproval, ...(failure && { failure }) };
  } catch (error) {
    const about = error instanceof Refusal && call.capability ? error.failure : undefined;
    if (about && about.type !== 'rate_limited') return { failure: about };
    throw error;
  }
}

/** What admission would refuse, as far as reads can show. */
async function obstacle(
  { store }: ServiceParts,
  { caller }: CheckedCall,
): Promise<Failure | undefined> {
  const frozen = frozenCall(caller);
  if (frozen) return frozen;
  const exclusive = caller.loaded.lineage.filter((link) => link.exclusive);
  if (exclusive.length === 0) return undefined;
  const ids = exclusive.map(({ token_id }) => token_id);
  const until = await store.busyUntil(ids, store.now());
  return until && busyFailure(until);
}

async function dryRunAnswer(
  parts: InvokeParts,
  call: Call,
  { failure, checked, needsApproval = false }: Judged,
): Promise<Answer> {
  const { caller, capability } = call as Call & { caller: TokenCaller; capability: Capability };
  const admitted = failure === undefined && !needsApproval;
  const entry = endingEntry(
    parts,
    // Nothing ran, so the entry shows none of the parameters.
    { ...call, caller, parameters: undefined },
    {
      entryType: 'dry_run',
      state: admitted ? 'completed' : 'refused',
      failure,
    },
  );
  await parts.store.append([entry]);
  const body: TestAnswer = {
    ...call.ids,
    would_be_admitted: admitted,
    capability: capability.name,
    resolved_parameters: checked?.parameters,
    parameters_digest: call.parametersDigest,
    cost_check: costCheck(capability, checked?.charge),
    budget_context: budgetContext(call),
    approval: checked && approvalView(capability, needsApproval),
    failure: failure && disclosedTo(parts, caller, failure),
    audit: { entry_id: entry.entry_id, leaf_hash: toHex(entry.leaf_hash) },
  };
  return { body };
}

/** How an approval would be decided. A dry run makes no request, so there is no id. */
function approvalView({ approval }: Capability, required: boolean): TestAnswer['approval'] {
  if (!required || !approval) return { required };
  const { grant_policy, approvals_required } = approval;
  return { required, grant_policy, approvals_required };
}

/**
 * The amount that admission would reserve; null when the price depends on a binding or on the run.
 */
function costCheck({ cost }: Capability, charge: Charge | undefined): TestAnswer['cost_check'] {
  if (!cost?.financial) return undefined;
  const { currency } = cost.financial;
  const amount = charge ? moneyOf(charge).amount : null;
  return { currency, amount, certainty: cost.certainty };
}
