/**
 * One invocation: what the checks have found so far, its entry, and its answer.
 *
 * @module
 */

import type { BindingFacts } from '../../domain/invocation/bindings.ts';
import {
  type BudgetState,
  budgetView,
  type Charge,
  unsettledContext,
} from '../../domain/invocation/budget.ts';
import { eventClassOf, observedDetail } from '../../domain/invocation/observability.ts';
import type { RateState } from '../../domain/invocation/rate.ts';
import type { EntryRecord } from '../../domain/log/entry.ts';
import { fromMinor } from '../../domain/values/money.ts';
import { toHex, utf8 } from '../../domain/wire/hash.ts';
import { prefersSignedReceipt } from '../../domain/wire/prefer.ts';
import type { EntryState, EntryType } from '../../protocol/audit.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import {
  type BudgetContext,
  InvocationIds,
  type InvokeAnswer,
  type InvokeRequest,
  type StreamSummary,
} from '../../protocol/invocation.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import type { GrantRecord, IntentRecord } from '../../storage/port/records.ts';
import { disclosedTo } from '../caller/audited.ts';
import type { TokenCaller } from '../caller/caller.ts';
import { type EntryContent, entryBy } from '../caller/entries.ts';
import type { Ask } from '../operations/operations.ts';
import type { PresentedToken, ServiceParts } from '../operations/parts.ts';
import { newInvocationId } from '../operations/random.ts';
import type { Span } from '../operations/tracing.ts';

/**
 * Each check fills in fields. The object stays the same: every call passes here, and copies cost more than the checks.
 *
 * `echo` fills in `ids` and `wantsSignedReceipt`. `check` fills in what the answer or the entry of a refusal shows as soon as it
 * is known (caller, request, capability, digest, budget, rates, ids of grant and request), and the rest at its end.
 */
export interface Call {
  ids: InvocationIds;
  caller?: TokenCaller | undefined;
  request?: InvokeRequest | undefined;
  capability?: Capability | undefined;
  /** The resolved parameters. */
  parameters?: JsonObject | undefined;
  /** Digest of the resolved parameters. */
  parametersDigest?: string | undefined;
  /**
   * The budget as the checks found it, or `unsettled` when it is unknown whether the charge was
   * made.
   */
  budget?: BudgetContext | 'unsettled' | undefined;
  /** The amount that the budget check passed and admission reserves. */
  charge?: Charge | undefined;
  /** The rate limits that counted this call. */
  readonly rates: RateState[];
  /** The approval request that the call made or continues, and the grant it presents. */
  approvalRequestId?: string | undefined;
  approvalGrantId?: string | undefined;
  /** The caller prefers a signed receipt. Known even if the rest of the request cannot be read. */
  wantsSignedReceipt?: boolean | undefined;
  bound?: ReadonlyMap<string, BindingFacts> | undefined;
  /** The key that admission claims. */
  idempotencyKey?: string | undefined;
  /** The grant whose use admission takes. */
  grant?: GrantRecord | undefined;
  /** The call whose handler makes this one. */
  readonly within?: Enclosing | undefined;
}

/** A call whose handler makes another, as the other one knows it. */
export interface Enclosing {
  /** The token of both. The other call judges its stored row again. */
  readonly presented: PresentedToken;
  /** How many calls it and all calls below it have made. One count for the whole tree of a call from outside. */
  readonly made: { count: number };
  /** The operation that holds the leases of exclusive tokens. The other call runs under them. */
  readonly leasedBy: string | undefined;
  /** In milliseconds, until its deadline. */
  leftMs(): number;
  /** Notes that the other call had an effect, or may have had one. */
  acted(): void;
  /** Its handler does not count as ended before this work. */
  hold(work: Promise<unknown>): void;
}

/** A call whose caller is known. */
export type CallerCall = Call & { caller: TokenCaller };

/** What the run of a handler needs of its call. */
export type HandledCall = Pick<CallerCall, 'ids' | 'caller' | 'within'>;

/** A call that has passed every check that needs no change of the store. */
export interface CheckedCall extends Call {
  caller: TokenCaller;
  request: InvokeRequest;
  capability: Capability;
  parameters: JsonObject;
  parametersDigest: string;
  bound: ReadonlyMap<string, BindingFacts>;
}

/** How an invocation ended. */
export interface Ending {
  readonly state: EntryState;
  readonly result?: JsonObject | undefined;
  readonly failure?: Failure | undefined;
  readonly cost?: Charge | undefined;
  /** Set only when the settlement recorded no effect: the caller may retry under another key. */
  readonly effect?: 'none' | undefined;
  readonly entryType?: EntryType | undefined;
  /** Set when the answer was streamed. */
  readonly streamed?: StreamSummary | undefined;
  /** Facts for the entry, besides those that the capability declares as observed. */
  readonly detail?: JsonObject | undefined;
}

/** A call with every field that it will ever have. */
export function beginCall(rates: RateState[], invocation_id: string, within?: Enclosing): Call {
  return {
    ids: { invocation_id },
    caller: undefined,
    request: undefined,
    capability: undefined,
    parameters: undefined,
    parametersDigest: undefined,
    budget: undefined,
    charge: undefined,
    rates,
    approvalRequestId: undefined,
    approvalGrantId: undefined,
    wantsSignedReceipt: false,
    bound: undefined,
    idempotencyKey: undefined,
    grant: undefined,
    within,
  };
}

/** Adds what the answer echoes, even if the rest of the request cannot be read. */
export function echo(call: Call, input: unknown): void {
  if (typeof input !== 'object' || input === null) return;
  const ids: InvocationIds & Record<string, unknown> = call.ids;
  const sent = input as Record<string, unknown>;
  for (const [field, schema] of ECHOED) {
    if (!Object.hasOwn(sent, field)) continue;
    const value = schema.safeParse(sent[field]);
    if (value.success && value.data !== undefined) ids[field] = value.data;
  }
  call.wantsSignedReceipt = Object.hasOwn(sent, 'prefer') && prefersSignedReceipt(sent.prefer);
}

/** Fields that the answer echoes. */
const ECHOED = Object.entries(InvocationIds.shape).filter(([field]) => field !== 'invocation_id');

/** The entry of an ended call. Only a call with a known caller has one. */
export function endingEntry(parts: ServiceParts, call: CallerCall, ending: Ending): EntryRecord {
  const { ids, caller, capability, request } = call;
  const content: EntryContent = {
    invocation_id: ids.invocation_id,
    client_reference_id: ids.client_reference_id,
    task_id: ids.task_id,
    parent_invocation_id: ids.parent_invocation_id,
    upstream_service: ids.upstream_service,
    entry_type: ending.entryType ?? 'invocation',
    capability: capability?.name ?? request?.capability,
    // A dry run has no effect, whatever the capability does.
    event_class: eventClassOf(
      ending.entryType === 'dry_run' ? undefined : capability,
      ending.state === 'completed',
    ),
    state: ending.state,
    failure_type: ending.failure?.type,
    token_id: caller.token.token_id,
    parameters_digest: call.parametersDigest,
    approval_request_id: call.approvalRequestId,
    approval_grant_id: call.approvalGrantId,
    cost_actual: ending.cost && moneyOf(ending.cost),
    stream_summary: ending.streamed,
    detail: entryDetail(call, ending),
    retention: capability?.observability?.retention,
  };
  return entryBy(parts, caller, content);
}

function entryDetail({ capability, parameters }: Call, { result, detail, failure }: Ending) {
  const observed = observedDetail(capability, { parameters, result });
  const unmet = failure?.conditions?.map(({ at, found }) => `${at} ${found}`);
  return observed || detail || unmet
    ? { ...observed, ...detail, ...(unmet && { unmet }) }
    : undefined;
}

/**
 * The answer: as much of a failure as the class of the caller may see, and the receipt of the
 * entry.
 */
export function invokeAnswer(
  parts: ServiceParts,
  call: Call,
  ending: Ending,
  entry?: EntryRecord,
): InvokeAnswer {
  const { ids, caller } = call;
  const budget = budgetContext(call);
  const common = Object.assign(
    {},
    ids,
    budget && { budget_context: budget },
    ending.streamed && { stream_summary: ending.streamed },
    entry && { audit: { entry_id: entry.entry_id, leaf_hash: toHex(entry.leaf_hash) } },
  );
  if (!ending.failure) {
    const result = ending.result ?? {};
    const cost = ending.cost && { cost_actual: moneyOf(ending.cost) };
    return Object.assign({ success: true as const }, common, { result }, cost);
  }
  const failure = caller ? disclosedTo(parts, caller, ending.failure) : ending.failure;
  const { effect } = ending;
  return { success: false, ...common, failure, ...(effect && { effect }) };
}

/** Decision 15: every answer shows the budget when the token has one, however the call ended. */
export function budgetContext(call: Call): BudgetContext | undefined {
  const { budget, caller, capability, charge } = call;
  if (budget !== undefined && budget !== 'unsettled') return budget;
  const states = caller ? budgetsOf(caller.loaded) : [];
  const own = states.at(-1);
  if (!own || budget !== 'unsettled') return budgetView(capability?.cost, undefined, states);
  return unsettledContext(capability?.cost, charge, own);
}

/** The budgets of a lineage, from the root down; the token's own is the last. */
export function budgetsOf({ lineage }: TokenCaller['loaded']): BudgetState[] {
  const states: BudgetState[] = [];
  for (const { budget } of lineage) if (budget) states.push(budget);
  return states;
}

/** The bytes that the store keeps for replay. */
export function bytesOf(body: InvokeAnswer): Uint8Array {
  return utf8(JSON.stringify(body));
}

export function moneyOf({ currency, amount }: Charge): Money {
  return { currency, amount: fromMinor(amount, currency) };
}

/** What an intent stores of its call, so that another process can record the outcome. */
export interface IntentFacts {
  readonly ids: InvocationIds;
  readonly parametersDigest?: string | undefined;
  readonly approvalRequestId?: string | undefined;
  readonly approvalGrantId?: string | undefined;
  readonly detail?: JsonObject | undefined;
}

export function factsOf(call: CheckedCall): JsonObject {
  return {
    ids: { ...call.ids },
    caller_class: call.caller.caller_class,
    parameters_digest: call.parametersDigest ?? null,
    detail: observedDetail(call.capability, call) ?? null,
    approval_request_id: call.approvalRequestId ?? null,
    approval_grant_id: call.approvalGrantId ?? null,
  };
}

export function readFacts({ facts }: IntentRecord): IntentFacts {
  const text = (name: string) => {
    const value = facts[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    ids: facts.ids as InvocationIds,
    parametersDigest: text('parameters_digest'),
    approvalRequestId: text('approval_request_id'),
    approvalGrantId: text('approval_grant_id'),
    detail: (facts.detail as JsonObject | null) ?? undefined,
  };
}

/** A call that is observed: its span, and what the metrics count when it ends. */
export interface Watch {
  readonly span: Span;
  readonly call: Call;
  end(answer: InvokeAnswer): void;
}

export function watchCall(
  { platform, tracer, ended }: ServiceParts,
  ask: Ask,
  within?: Enclosing,
): Watch {
  const begun = platform.monotonic();
  const span = within ? tracer.step('invoke') : tracer.call('invoke', ask.trace);
  const call = beginCall([], newInvocationId(platform), within);
  return {
    span,
    call,
    end(answer) {
      const capability = call.capability?.name;
      const outcome = answer.success ? 'success' : answer.failure.type;
      span.note({ 'writ.invocation_id': answer.invocation_id, 'writ.outcome': outcome });
      if (capability !== undefined) span.note({ 'writ.capability': capability });
      span.end();
      ended({ capability, outcome, seconds: (platform.monotonic() - begun) / 1_000 });
    },
  };
}
