/**
 * A call as the specification lists it: which rule refuses it first, what it reserves, and what it answers.
 *
 * Written apart from the rules of the service, from the specification and the decisions, so that a fault in
 * either shows as a difference.
 *
 * @module
 */

import type { CallAct } from './acts.ts';
import { about, type Checked, leftOf, type Passed, refusal } from './answers.ts';
import {
  CAPABILITIES,
  type CapabilityName,
  COMMON_INPUTS,
  type Facts,
  GRANT_MS,
  type Money,
  REQUEST_MS,
  wireMoney,
} from './catalog.ts';
import {
  type Asked,
  type Budget,
  bindingIn,
  budgetsIn,
  chainIn,
  deathIn,
  type Event,
  endOf,
  grantsIn,
  type History,
  holderIn,
  isBusyIn,
  keyName,
  lineageIn,
  nowIn,
  requestsIn,
  stopsIn,
  type Token,
  targetOf,
  tokenIn,
  usesIn,
} from './history.ts';
import type { Step, Taken } from './steps.ts';

/** The first step of a call: its checks. */
export function callStep(act: CallAct): Step {
  return (history) => {
    const token = tokenIn(history, act.token) as Token;
    const found = checked(history, act, token);
    if (found.answer) return { answer: found.answer };
    if (found.failure) return refusal(act, found, found.failure);
    const passed = found as Passed;
    // What the checks have read counts, also when code of the author takes its time before the next step.
    const isStopped = stopsIn(history, token.root, act.capability);
    const isPlain = isPlainRead(history, act, passed);
    return { runs: 'checks', next: () => afterChecks(act, passed, { isStopped, isPlain }) };
  };
}

function afterChecks(
  act: CallAct,
  found: Passed,
  { isStopped, isPlain }: { readonly isStopped: boolean; readonly isPlain: boolean },
): Taken {
  // Approvers are not asked about a call that could not run.
  if (isStopped) return refusal(act, found, 'frozen');
  if (found.facts.isApproved && !act.grantOf) return { next: asking(act, found) };
  return isPlain ? { next: ended(act, found), runs: 'handler' } : { next: admitting(act, found) };
}

/** A read that costs nothing, has no key and no grant, and may run beside others. It is not admitted. */
function isPlainRead(history: History, act: CallAct, { facts, charge }: Passed): boolean {
  const takesNothing = !charge && act.key === undefined && act.grantOf === undefined;
  const isAlone = lineageIn(history, act.token).some(({ isExclusive }) => isExclusive);
  return facts.effect === 'read' && takesNothing && !isAlone;
}

function checked(history: History, act: CallAct, token: Token): Checked {
  const budgets = budgetsIn(history, act.token);
  const death = deathIn(history, act.token);
  if (death) return { budgets, failure: death === 'revoked' ? 'invalid_token' : 'token_expired' };
  if (act.form === 'malformed') return { budgets, failure: 'invalid_parameters' };
  if (!Object.hasOwn(CAPABILITIES, act.capability))
    return { budgets, failure: 'unknown_capability' };
  const facts = CAPABILITIES[act.capability as CapabilityName];
  const known = { budgets, facts };
  if (act.form === 'stream') return { ...known, failure: 'streaming_not_supported' };
  const unauthorized = unauthorizedBy(history, act, token, facts);
  if (unauthorized) return { ...known, failure: unauthorized };
  const kept = keptAnswer(history, act);
  if (kept) return { ...known, ...kept };
  if (unmetControl(token, act.capability as CapabilityName)) {
    return { ...known, failure: 'control_requirement_unsatisfied' };
  }
  return prepared(history, act, token, known);
}

export function unauthorizedBy(
  history: History,
  { token: label, capability, task }: Pick<CallAct, 'token' | 'capability' | 'task'>,
  token: Token,
  facts: Facts,
): string | undefined {
  const isRootInPerson = token.depth === 0 && token.subject === token.root;
  if (facts.rootOnly && !isRootInPerson) return 'non_delegable_action';
  const isHuman = ({ subject }: Token) => subject.startsWith('human:');
  if (facts.humansOnly && !lineageIn(history, label).every(isHuman)) {
    return 'principal_class_not_admitted';
  }
  if (facts.scope.some((scope) => !token.scope.includes(scope))) return 'scope_insufficient';
  if (token.capability !== undefined && token.capability !== capability) return 'purpose_mismatch';
  if (token.task !== undefined && task !== undefined && task !== token.task)
    return 'purpose_mismatch';
  if (facts.depthMax !== undefined && token.depth > facts.depthMax)
    return 'delegation_depth_exceeded';
  return undefined;
}

export function unmetControl(token: Token, capability: CapabilityName): boolean {
  const { control } = CAPABILITIES[capability];
  if (control === 'cost_ceiling') return !token.budget;
  return control !== undefined && token.capability !== capability;
}

/** The answer that is kept under the key, or why there is none yet. */
function keptAnswer(
  history: History,
  act: CallAct,
): Pick<Checked, 'failure' | 'answer'> | undefined {
  const holder = act.key === undefined ? undefined : holderIn(history, keyName(history, act));
  if (!holder) return undefined;
  if (holder.key?.parameters !== sentText(history, act)) return { failure: 'idempotency_mismatch' };
  const first = endOf(history, holder.call);
  if (!first) return { failure: 'idempotency_in_progress' };
  return { answer: { ...first.answer, isReplay: true } };
}

/** Bindings, price, budget, inputs and approval, in this order; a price from parameters comes after them. */
function prepared(history: History, act: CallAct, token: Token, known: Passed): Checked {
  const { facts } = known;
  const unbound = facts.quoteMaxAge === undefined ? undefined : unboundBy(history, act, token);
  if (unbound) return { ...known, failure: unbound };
  const isQuoted = facts.priceOfUnit !== undefined;
  const price = isQuoted ? undefined : priceOf(history, act, facts);
  const early = isQuoted ? known : comparedPrice(token, known, price);
  if (early.failure) return early;
  if (!areInputs(act, facts)) return { ...early, failure: 'invalid_parameters' };
  const size = Number(act.parameters.size);
  const unit = facts.priceOfUnit ?? 0;
  const late = isQuoted
    ? comparedPrice(token, known, { currency: 'USD', amount: size * unit })
    : early;
  if (late.failure) return late;
  const isMisfit = act.grantOf !== undefined && !fits(history, act, act.grantOf);
  return isMisfit ? { ...late, failure: 'approval_grant_invalid' } : late;
}

function unboundBy(history: History, act: CallAct, token: Token): string | undefined {
  if (act.quoteOf === undefined && act.parameters.quote === undefined) return 'binding_missing';
  const binding = act.quoteOf === undefined ? undefined : bindingIn(history, act.quoteOf);
  if (!binding || binding.root !== token.root) return 'binding_invalid';
  const { quoteMaxAge = 0 } = CAPABILITIES[act.capability as CapabilityName];
  return nowIn(history) - binding.at > quoteMaxAge ? 'binding_stale' : undefined;
}

/** The table of the specification: which amount is compared with the budget. */
function priceOf(history: History, act: CallAct, { cost }: Facts): Money | undefined {
  if (!cost) return undefined;
  if (cost.certainty !== 'estimated') return { currency: cost.currency, amount: cost.amount };
  return act.quoteOf === undefined ? undefined : bindingIn(history, act.quoteOf)?.price;
}

export function comparedPrice(token: Token, known: Passed, charge: Money | undefined): Checked {
  const { cost } = known.facts;
  if (!cost || !token.budget) return { ...known, charge };
  if (cost.currency !== token.budget.currency)
    return { ...known, failure: 'budget_currency_mismatch' };
  if (!charge) return { ...known, failure: 'budget_not_enforceable' };
  const isTight = known.budgets.some((budget) => leftOf(budget) < charge.amount);
  return {
    ...known,
    charge,
    isCompared: true,
    ...(isTight && { failure: 'budget_exceeded' }),
  };
}

function areInputs({ parameters, quoteOf }: CallAct, facts: Facts): boolean {
  const types: Record<string, string> = { ...COMMON_INPUTS, ...facts.inputs };
  const sent = { ...parameters, ...(quoteOf !== undefined && { quote: quoteOf }) };
  const isComplete = Object.keys(facts.inputs ?? {}).every((name) => name in sent);
  return isComplete && Object.entries(sent).every(([name, value]) => isOfType(types[name], value));
}

function isOfType(type: string | undefined, value: unknown): boolean {
  if (type === 'integer') return Number.isInteger(value);
  return type !== undefined && typeof value === type;
}

function fits(history: History, act: CallAct, label: string): boolean {
  const grant = grantsIn(history).find((each) => each.label === label);
  const request = requestsIn(history).find((each) => each.label === grant?.request);
  if (!grant || !request) return false;
  return (
    request.chain === chainIn(history, act.token) &&
    request.capability === act.capability &&
    request.parameters === sentText(history, act) &&
    nowIn(history) < grant.at + GRANT_MS &&
    usesIn(history, label) === 0
  );
}

/** The parameters as sent, with a label for the binding, so that equal ones have equal texts. */
function sentText(history: History, { parameters, quoteOf }: CallAct): string {
  const quote =
    quoteOf === undefined ? {} : { quote: bindingIn(history, quoteOf)?.label ?? 'unknown' };
  return JSON.stringify(Object.entries({ ...parameters, ...quote }).toSorted());
}

/** The store keeps the request before the caller learns of it. The same question is one request while it is open. */
function asking(act: CallAct, found: Checked): Step {
  return (history) => {
    const death = deathIn(history, act.token);
    if (death) return refusal(act, found, death === 'revoked' ? 'invalid_token' : 'token_expired');
    const token = tokenIn(history, act.token) as Token;
    const asked: Asked = {
      kind: 'asked',
      label: act.label,
      root: token.root,
      subject: token.subject,
      capability: act.capability,
      chain: chainIn(history, act.token),
      parameters: sentText(history, act),
      at: nowIn(history),
    };
    const open = requestsIn(history).find(
      (each) => isPendingIn(history, each) && isSameQuestion(each, asked),
    );
    const taken = refusal(act, found, 'approval_required', { request: (open ?? asked).label });
    return { ...taken, events: open ? [] : [asked] };
  };
}

export function isPendingIn(history: History, request: Asked): boolean {
  const isDecided = grantsIn(history).some((grant) => grant.request === request.label);
  return !isDecided && nowIn(history) < request.at + REQUEST_MS;
}

function isSameQuestion(one: Asked, other: Asked): boolean {
  return (
    one.chain === other.chain &&
    one.capability === other.capability &&
    one.parameters === other.parameters
  );
}

/** The store admits the whole call or nothing of it. */
function admitting(act: CallAct, found: Passed): Step {
  return (history) => {
    const stopped = stoppedBy(history, act, found);
    if (stopped) return stopped;
    const { charge } = found;
    const budgets = budgetsIn(history, act.token);
    const tight = charge && budgets.find((budget) => leftOf(budget) < charge.amount);
    if (tight) return refusal(act, { ...found, ...replaced(found, tight) }, 'budget_exceeded');
    if (act.grantOf !== undefined && !fits(history, act, act.grantOf)) {
      return refusal(act, found, 'approval_grant_invalid');
    }
    if (isBusyIn(history, act.token)) return refusal(act, found, 'concurrent_branch_busy');
    const seen = charge && budgets.length > 0 ? { ...found, budgets } : found;
    return {
      events: [admissionOf(history, act, charge)],
      next: ended(act, seen, true),
      runs: 'handler',
    };
  };
}

/** What ended, was frozen or took the key since the checks. */
function stoppedBy(history: History, act: CallAct, found: Passed): Taken | undefined {
  const death = deathIn(history, act.token);
  if (death) return refusal(act, found, death === 'revoked' ? 'invalid_token' : 'token_expired');
  const { root } = tokenIn(history, act.token) as Token;
  if (stopsIn(history, root, act.capability)) return refusal(act, found, 'frozen');
  const kept = keptAnswer(history, act);
  if (kept?.answer) return { answer: kept.answer };
  return kept?.failure ? refusal(act, found, kept.failure) : undefined;
}

/** The budgets of the checks, with the one that was too small as it was found at admission. */
function replaced({ budgets }: Checked, tight: Budget): Pick<Checked, 'budgets'> {
  return { budgets: budgets.map((each) => (each.token === tight.token ? tight : each)) };
}

function admissionOf(history: History, act: CallAct, charge: Money | undefined): Event {
  const key = { name: keyName(history, act), parameters: sentText(history, act) };
  return {
    kind: 'admitted',
    call: act.label,
    token: act.token,
    charge,
    grant: act.grantOf,
    at: nowIn(history),
    key: act.key === undefined ? undefined : key,
  };
}

const ENDINGS = new Map([
  ['no_effect', 'not_found'],
  ['fails', 'clarification_required'],
  ['unknown', 'outcome_unknown'],
  ['breaks', 'internal_error'],
]);

/** The handler has ended: its cost is spent, the rest of the reservation is free again, and the answer is kept. */
function ended(act: CallAct, found: Passed, isAdmitted = false): Step {
  return (history) => {
    const token = tokenIn(history, act.token) as Token;
    const { how } = act.parameters;
    const failure = ENDINGS.get(String(how));
    const { cost, debt } = costOf(act, found);
    const spent = (found.charge && cost?.amount) ?? 0;
    const budgets = found.budgets.map((budget) => ({ ...budget, spent: budget.spent + spent }));
    const outcome = failure
      ? { failure, ...(how === 'no_effect' && { effect: 'none' }) }
      : { result: resultOf(act), cost: cost && wireMoney(cost) };
    const answer = { ...outcome, ...about(act, { ...found, budgets }) };
    const events: Event[] = [];
    if (isAdmitted) events.push({ kind: 'settled', call: act.label, spent, debt, answer });
    if (act.capability === 'quote' && !failure) {
      const price: Money = { currency: 'USD', amount: Number(act.parameters.price) };
      const binding = { label: act.label, root: token.root, price, at: nowIn(history) };
      events.push({ kind: 'bound', binding });
    }
    if (debt && found.facts.freezesOnOverrun) {
      const target = targetOf({ capability: act.capability, root: token.root });
      events.push({ kind: 'froze', label: act.label, target });
    }
    return { events, answer };
  };
}

/** What is charged, and what the handler reported beyond the reservation. */
function costOf(
  { parameters }: CallAct,
  { facts, charge }: Passed,
): { cost?: Money | undefined; debt?: Money } {
  const { how, cost: reported } = parameters;
  if (how === 'no_effect') return {};
  if (!facts.cost) return { cost: charge };
  const { currency, amount } = facts.cost;
  if (typeof reported !== 'number') return { cost: charge ?? { currency, amount } };
  if (!charge) return { cost: { currency, amount: reported } };
  if (reported > charge.amount)
    return { cost: charge, debt: { currency, amount: reported - charge.amount } };
  return { cost: how === 'unknown' ? charge : { currency, amount: reported } };
}

function resultOf({ capability, parameters, label }: CallAct) {
  const { note = null } = parameters;
  return { did: capability, note, ...(capability === 'quote' && { quote: label }) };
}
