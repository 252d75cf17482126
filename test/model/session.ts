/**
 * One run of acts at a place: asks the services, and reads their answers in the form of the model. Ids become the
 * labels of the acts that made them, and times become milliseconds since the run began.
 *
 * @module
 */

import type { PermissionsAnswer } from '../../src/protocol/permissions.ts';
import type { Reply, TestService } from '../support/world.ts';
import type { By, CallAct, FreezeTarget, IssueAct, PlainAct } from './acts.ts';
import { PEOPLE, type PersonName, wireMoney } from './catalog.ts';
import { type Answer, targetOf } from './history.ts';
import type { Place } from './place.ts';

export interface Session {
  readonly place: Place;
  readonly begin: number;
  readonly tokens: Map<string, { readonly id: string; readonly text: string }>;
  /** Ids of requests, by the label of a call that got them. */
  readonly requests: Map<string, string>;
  readonly grants: Map<string, string>;
  readonly bindings: Map<string, string>;
  /** The label of the act that first showed an id. */
  readonly labels: Map<string, string>;
}

/** In milliseconds: after it every token, key, request and binding of the run before has ended. */
const BETWEEN_RUNS_MS = 100 * 3_600_000;

/** Ends what the run before left, and begins a new one. */
export async function beginSession(place: Place): Promise<Session> {
  place.gates.openAll();
  const service = place.services[0] as TestService;
  const bearer = PEOPLE.operator.key;
  const { body } = await service.ask('GET', '/svc/operator/frozen', { bearer });
  for (const { what, target, root_principal } of body.frozen) {
    const lifted = { what, target, root_principal, reason: 'the next run' };
    await service.ask('POST', '/svc/operator/unfreeze', { bearer, body: lifted });
  }
  place.pass(BETWEEN_RUNS_MS + 1_000 - (place.now() % 1_000));
  return {
    place,
    begin: place.now(),
    tokens: new Map(),
    requests: new Map(),
    grants: new Map(),
    bindings: new Map(),
    labels: new Map(),
  };
}

/** Sends the act; `undefined` where something that it names does not exist. The answer is read later, by `readAnswer`. */
export function sendAct(session: Session, act: PlainAct): Promise<Reply> | undefined {
  const sent = requestOf(session, act);
  if (!sent) return undefined;
  const { services } = session.place;
  const service = services[act.at % services.length];
  const { method = 'POST', path, ...options } = sent;
  return service?.ask(method, path, options);
}

interface Sent {
  readonly method?: 'GET';
  readonly path: string;
  readonly bearer: string;
  readonly body?: object;
  readonly headers?: Record<string, string>;
}

function requestOf(session: Session, act: PlainAct): Sent | undefined {
  const { place, requests, tokens } = session;
  const bearer = bearerOf(session, 'by' in act ? act.by : act.token);
  const token = 'token' in act ? tokens.get(act.token) : undefined;
  if (bearer === undefined || ('token' in act && !token)) return undefined;
  switch (act.kind) {
    case 'issue':
      return issueRequest(session, act, bearer);
    case 'call':
      return callRequest(session, act, bearer);
    case 'revoke':
      return { path: '/svc/tokens/revoke', bearer, body: { token_id: token?.id } };
    case 'view':
      return { method: 'GET', path: `/svc/tokens/${token?.id}`, bearer };
    case 'permissions':
      return { path: '/svc/permissions', bearer, body: {} };
    case 'freeze': {
      const { lastsMs } = act;
      const until =
        lastsMs === undefined ? {} : { until: new Date(place.now() + lastsMs).toISOString() };
      return {
        path: '/svc/operator/freeze',
        bearer,
        body: { ...freezeBody(act.target), ...until },
      };
    }
    case 'unfreeze':
      return { path: '/svc/operator/unfreeze', bearer, body: freezeBody(act.target) };
    case 'approve': {
      const approval_request_id = requests.get(act.call);
      if (approval_request_id === undefined) return undefined;
      return {
        path: '/svc/approval_grants',
        bearer,
        body: { approval_request_id, grant_type: 'one_time' },
      };
    }
  }
}

function bearerOf({ tokens }: Session, by: By): string | undefined {
  return Object.hasOwn(PEOPLE, by) ? PEOPLE[by as PersonName].key : tokens.get(by)?.text;
}

function issueRequest(
  { tokens }: Session,
  { parent, request }: IssueAct,
  bearer: string,
): Sent | undefined {
  const { scope, subject, capability, task, budget, ttlHours, isExclusive, depthMax } = request;
  const above = parent === undefined ? undefined : tokens.get(parent)?.id;
  if (parent !== undefined && above === undefined) return undefined;
  const body = {
    scope,
    subject,
    capability,
    parent_token: above,
    ...(task && { purpose_parameters: { task_id: task } }),
    ...(budget && { budget: { currency: budget.currency, max_amount: wireMoney(budget).amount } }),
    ttl_hours: ttlHours,
    ...(isExclusive !== undefined && {
      concurrent_branches: isExclusive ? 'exclusive' : 'allowed',
    }),
    max_delegation_depth: depthMax,
  };
  return { path: '/svc/tokens', bearer, body };
}

const FORMS = { malformed: { stream: 'perhaps' }, stream: { stream: true } };

function callRequest(
  { bindings, grants }: Session,
  act: CallAct,
  bearer: string,
): Sent | undefined {
  const { capability, form, grantOf, key, label, quoteOf, task } = act;
  const approval_grant = grantOf === undefined ? undefined : grants.get(grantOf);
  if (grantOf !== undefined && approval_grant === undefined) return undefined;
  const quote = quoteOf === undefined ? {} : { quote: bindings.get(quoteOf) ?? 'bnd_unknown' };
  const body = {
    parameters: { ...act.parameters, ...quote },
    client_reference_id: label,
    task_id: task,
    approval_grant,
    ...(form && FORMS[form]),
  };
  const headers = key === undefined ? {} : { headers: { 'idempotency-key': key } };
  return { path: `/svc/invoke/${capability}`, bearer, body, ...headers };
}

function freezeBody({ capability, root }: FreezeTarget) {
  const reason = 'the model says so';
  if (capability) return { what: 'capability', target: capability, root_principal: root, reason };
  return root ? { what: 'root_principal', target: root, reason } : { what: 'service', reason };
}

/** The answer in the form of the model. Remembers the ids that it shows. */
export function readAnswer(session: Session, act: PlainAct, reply: Reply): Answer {
  const { body } = reply;
  if (act.kind !== 'call' && body.failure) return { failure: body.failure.type };
  const since = (time: string | null) => (time === null ? null : Date.parse(time) - session.begin);
  switch (act.kind) {
    case 'call':
      return callAnswer(session, act, reply);
    case 'issue': {
      const { scope, capability, task_id: task, budget } = body;
      session.tokens.set(act.label, { id: body.token_id, text: body.token });
      const shown = budget && { currency: budget.currency, amount: budget.max_amount };
      return { scope, capability, task, budget: shown, endsAt: since(body.expires_at) };
    }
    case 'revoke':
      return { revoked: body.revoked, ended: body.ended };
    case 'freeze': {
      const { what, target, root_principal: root } = body;
      const named =
        what === 'root_principal'
          ? { root: target }
          : { capability: target ?? undefined, root: root ?? undefined };
      return { frozen: targetOf(named), until: since(body.until) };
    }
    case 'unfreeze':
      return { lifted: body.lifted };
    case 'view': {
      const {
        state,
        budget_spent: spent,
        budget_reserved: reserved,
        budget_remaining: remaining,
        debts,
      } = body;
      return { state, spent, reserved, remaining, debts };
    }
    case 'permissions':
      return permissionsAnswer(body);
    case 'approve': {
      session.grants.set(act.label, body.grant_id);
      const { capability, max_uses: uses } = body;
      return { grant: act.label, capability, endsAt: since(body.expires_at), uses };
    }
  }
}

function permissionsAnswer({ available, restricted, denied }: PermissionsAnswer): Answer {
  const named = (entries: readonly { capability: string; reason_type?: string }[]) =>
    entries.map(({ capability, reason_type: reason = '' }) => `${capability} ${reason}`);
  const { budget } = (available[0]?.constraints ?? {}) as { budget?: { remaining: number } };
  return {
    available: named(available),
    restricted: named(restricted),
    denied: named(denied),
    remaining: budget?.remaining,
  };
}

function callAnswer(
  { bindings, labels, requests }: Session,
  act: CallAct,
  { body, headers }: Reply,
): Answer {
  const {
    client_reference_id: invocation,
    invocation_id: id,
    failure,
    effect,
    budget_context: budget,
  } = body;
  const isReplay = headers['idempotent-replayed'] === 'true' || undefined;
  // A replay may be read before the answer that it repeats.
  const labelled = (shown: string): string => {
    const label = labels.get(shown) ?? invocation;
    labels.set(shown, label);
    return label;
  };
  // A replay shows the id of the first answer, and no other answer does.
  const shared = {
    invocation: isReplay || labelled(id) === act.label ? invocation : id,
    budget,
    isReplay,
  };
  if (failure) {
    const asked = failure.approval_request_id;
    if (asked) requests.set(act.label, asked);
    return { failure: failure.type, effect, ...shared, request: asked && labelled(asked) };
  }
  const { result, cost_actual: cost } = body;
  if (result.quote === undefined) return { result, cost, ...shared };
  const quote = labelled(result.quote);
  bindings.set(quote, result.quote);
  return { result: { ...result, quote }, cost, ...shared };
}

/** The label of the call that made the request which this call was shown. */
export function requestLabel({ labels, requests }: Session, call: string): string | undefined {
  return labels.get(requests.get(call) ?? '');
}
