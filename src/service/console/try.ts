/**
 * Tries a capability: a dry run with the authority of the person at the console.
 *
 * A dry run needs a token. The service makes one in the person's own name, bound to the capability, with its
 * minimum scopes and nothing else, and revokes it when the answer is there. The text of the token stays in this
 * file. Were the process to die in between, the token would expire within a minute. A dry run calls no
 * handler; its three entries (issuance, dry run, revocation) show who tried what.
 *
 * @module
 */

import { stepCapabilities } from '../../domain/composition/composition.ts';
import { Refusal, refuse } from '../../domain/failure.ts';
import { fromMinor, minorMax } from '../../domain/values/money.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { ConsoleRequest } from '../../protocol/console/methods.ts';
import type { ConsoleAnswers } from '../../protocol/console/views.ts';
import type { TestAnswer } from '../../protocol/invocation.ts';
import type { IssueRequest } from '../../protocol/token.ts';
import type { TokenRecord } from '../../storage/port/records.ts';
import { capabilityOf } from '../author/definition.ts';
import { frozenFor } from '../authority/freeze.ts';
import { issuanceEntry, rootAuthority, unknownBinding, unsignedToken } from '../authority/issue.ts';
import { revocationEntry } from '../authority/tokens.ts';
import { audited } from '../caller/audited.ts';
import { type Caller, callerOf } from '../caller/caller.ts';
import { dryRun } from '../invoke/dry-run.ts';
import { type Ask, consoleRequestOf } from '../operations/operations.ts';
import type { ConsoleParts } from './parts.ts';

/** One minute: longer than any dry run. */
const TTL_HOURS = 1 / 60;

const PURPOSE = { for: 'a dry run in the console' };

export async function tryCapability(parts: ConsoleParts, ask: Ask): Promise<ConsoleAnswers['try']> {
  const judged = await callerOf(parts, ask);
  const request = consoleRequestOf('try', ask);
  const issued = await refusalOr(
    audited(parts, judged, 'issuance', async (caller, about) => {
      refuse(unknownBinding(parts, request));
      about.capability = request.capability;
      refuse(await frozenFor(parts, caller.root_principal));
      return issueFor(parts, caller, request);
    }),
  );
  if ('refused' in issued) return issued;
  const { text, record, hasOwnBudget } = issued.value;
  try {
    const { capability, parameters } = request;
    const asking = { bearer: () => text, input: () => ({ capability, parameters }) };
    const { failure, body } = await dryRun(parts, asking);
    if (failure) return { refused: failure };
    const { budget_context, ...answer } = body as TestAnswer;
    return { answer: hasOwnBudget || !budget_context ? answer : { ...answer, budget_context } };
  } finally {
    await revoke(parts, record);
  }
}

/** A refusal is an answer here. */
async function refusalOr<Value>(
  asked: Promise<Value>,
): Promise<{ value: Value } | { refused: Refusal['failure'] }> {
  try {
    return { value: await asked };
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.failure };
    throw error;
  }
}

interface TryToken {
  readonly text: string;
  readonly record: TokenRecord;
  /** Whether the budget was made for the dry run alone. */
  readonly hasOwnBudget: boolean;
}

async function issueFor(
  parts: ConsoleParts,
  caller: Caller,
  { capability: name }: ConsoleRequest<'try'>,
): Promise<TryToken> {
  if (caller.kind !== 'identity') throw new Error('Cannot try a capability: expected a person');
  const { definition } = parts;
  const capability = capabilityOf(definition, name) as Capability;
  const budget = budgetFor([capability, ...stepCapabilities(definition.catalog, capability)]);
  const request = {
    subject: caller.principal,
    scope: [...capability.minimum_scope],
    capability: name,
    ttl_hours: TTL_HOURS,
    max_delegation_depth: 0,
    purpose_parameters: PURPOSE,
    budget,
  } satisfies Partial<IssueRequest>;
  const authority = rootAuthority(
    parts,
    caller.entitlement,
    request as typeof request & IssueRequest,
  );
  const { record, signed } = unsignedToken(parts, authority);
  await parts.store.insertRoot(record, issuanceEntry(parts, caller, record));
  const { token: text } = await signed();
  return { text, record, hasOwnBudget: budget !== undefined };
}

/**
 * Where a control requires a ceiling, the largest one: a person in person has no budget, and the dry run
 * spends nothing.
 */
function budgetFor(whole: readonly Capability[]): IssueRequest['budget'] {
  const isRequired = whole.some(({ control_requirements = [] }) =>
    control_requirements.some(({ type }) => type === 'cost_ceiling'),
  );
  const currency = whole[0]?.cost?.financial?.currency;
  if (!isRequired || currency === undefined) return undefined;
  return { currency, max_amount: fromMinor(minorMax(currency), currency) };
}

/** A token that cannot be revoked now expires soon, so the answer does not wait for the store. */
async function revoke(parts: ConsoleParts, token: TokenRecord): Promise<void> {
  const { store, log } = parts;
  try {
    const entry = revocationEntry(parts, token.subject, token);
    await store.revokeToken(token.token_id, store.now(), entry);
  } catch (error) {
    log.warn({ err: error, token_id: token.token_id }, 'could not revoke the token of a dry run');
  }
}
