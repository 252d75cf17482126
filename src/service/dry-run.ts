/**
 * The dry run: what would become of a call, without doing any of it.
 *
 * Runs the very checks of an invocation, then stops. A refusal that the call would meet is part of the
 * answer; only what keeps the question itself from being answered is a failure.
 *
 * @module
 */

import type { Charge } from '../domain/budget.ts';
import { Refusal } from '../domain/failure.ts';
import { toHex } from '../domain/hash.ts';
import { type RateState, rateHeaders } from '../domain/rate.ts';
import type { Capability } from '../protocol/capability.ts';
import type { Failure } from '../protocol/failure.ts';
import type { TestAnswer } from '../protocol/invocation.ts';
import { OutcomeUnknown } from '../storage/store.ts';
import { disclosedTo } from './audited.ts';
import { beginCall, type Call, type CheckedCall, endingEntry, moneyOf } from './call.ts';
import { presentedToken, type TokenCaller } from './caller.ts';
import { frozenFailure } from './freeze.ts';
import { check, readInput } from './invoke.ts';
import { type Answer, type Ask, failureOf } from './operations.ts';
import type { Parts } from './parts.ts';
import { refusedCall, unrecordedCall } from './refused.ts';

export async function dryRun(parts: Parts, ask: Ask): Promise<Answer> {
  const rates: RateState[] = [];
  const answer = await tried(parts, ask, rates);
  return { ...answer, headers: rateHeaders(rates) };
}

async function tried(parts: Parts, ask: Ask, rates: RateState[]): Promise<Answer> {
  let call = beginCall(undefined, rates);
  try {
    const presented = presentedToken(parts, ask);
    const reading = readInput('test', ask);
    call = beginCall(reading.input, rates, call.ids.invocation_id);
    const checked = await judged(call, () => check(parts, presented, call, reading));
    return await told(parts, call, checked);
  } catch (error) {
    const found = failureOf('test', error, parts.log);
    if (error instanceof OutcomeUnknown) return unrecordedCall(parts, call, found);
    return refusedCall(parts, call, found, 'dry_run');
  }
}

type Judged = { readonly checked: CheckedCall } | { readonly failure: Failure };

/** A refusal that is about the call, not about the question: only then was there something to judge. */
async function judged(call: Call, checking: () => ReturnType<typeof check>): Promise<Judged> {
  try {
    const checked = await checking();
    if ('replay' in checked) throw new Error('Cannot replay a dry run: it has no key');
    const [freeze] = checked.caller.loaded.freezes;
    return freeze ? { failure: frozenFailure(freeze) } : { checked };
  } catch (error) {
    const about = error instanceof Refusal && call.capability ? error.failure : undefined;
    if (about && about.type !== 'rate_limited') return { failure: about };
    throw error;
  }
}

async function told(parts: Parts, call: Call, judgement: Judged): Promise<Answer> {
  const { caller, capability } = call as Call & { caller: TokenCaller; capability: Capability };
  const failure = 'failure' in judgement ? judgement.failure : undefined;
  const checked = 'checked' in judgement ? judgement.checked : undefined;
  const entry = endingEntry(
    parts,
    { ...call, caller },
    {
      entryType: 'dry_run',
      state: failure ? 'refused' : 'completed',
      failure,
    },
  );
  await parts.store.append([entry]);
  const body: TestAnswer = {
    ...call.ids,
    would_be_admitted: failure === undefined,
    capability: capability.name,
    resolved_parameters: checked?.parameters,
    parameters_digest: call.parametersDigest,
    cost_check: costCheck(capability, checked?.charge),
    budget_context: call.budget,
    approval: { required: false },
    failure: failure && disclosedTo(parts, caller, failure),
    audit: { entry_id: entry.entry_id, leaf_hash: toHex(entry.leaf_hash) },
  };
  return { body };
}

/** What admission would reserve; null where a price is only known once it is bound or the call ran. */
function costCheck({ cost }: Capability, charge: Charge | undefined): TestAnswer['cost_check'] {
  if (!cost?.financial) return undefined;
  const { currency } = cost.financial;
  const amount = charge ? moneyOf(charge).amount : null;
  return { currency, amount, certainty: cost.certainty };
}
