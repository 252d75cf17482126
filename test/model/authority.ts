/**
 * Acts of authority as the specification and the decisions state them: issuing, revoking, freezing, looking and
 * approving. Written apart from the rules of the service.
 *
 * @module
 */

import type {
  ApproveAct,
  By,
  FreezeAct,
  IssueAct,
  RevokeAct,
  TokenRequest,
  UnfreezeAct,
  ViewAct,
} from './acts.ts';
import { isPendingIn } from './calls.ts';
import {
  CAPABILITIES,
  GRANT_MS,
  type Money,
  PEOPLE,
  type PersonName,
  REQUEST_MS,
  wireMoney,
} from './catalog.ts';
import {
  budgetsIn,
  deathIn,
  debtsIn,
  type Event,
  grantsIn,
  type History,
  isFrozenIn,
  lineageIn,
  livingUnder,
  nowIn,
  requestsIn,
  stopsIn,
  type Token,
  targetOf,
  tokenIn,
} from './history.ts';
import { refused, type Step } from './steps.ts';

const HOUR_MS = 3_600_000;
const LIFETIME_HOURS_DEFAULT = 2;
const LIFETIME_HOURS_MAX = 720;
const DEPTH_MAX = 5;

/** What each person may put into a root token. */
const ENTITLED: Readonly<Partial<Record<By, readonly string[]>>> = {
  alice: ['w.use', 'w.secret'],
  bob: ['w.use'],
};

function isPerson(by: By): by is PersonName {
  return Object.hasOwn(PEOPLE, by);
}

/** The failure of a caller whose token has ended. */
function endedCaller(history: History, by: By): string | undefined {
  const death = isPerson(by) ? undefined : deathIn(history, by);
  return death && (death === 'revoked' ? 'invalid_token' : 'token_expired');
}

/** Three steps: who asks, whether its root principal is frozen, and the insertion. */
export function issueStep(act: IssueAct): Step {
  return (history) => {
    const ended = endedCaller(history, act.by);
    if (ended) return refused(ended);
    const { capability } = act.request;
    if (capability !== undefined && !Object.hasOwn(CAPABILITIES, capability)) {
      return refused('unknown_capability');
    }
    if (act.parent !== undefined && !isTheirs(history, act.by, act.parent))
      return refused('not_entitled');
    return { next: deciding(act) };
  };
}

function isTheirs(history: History, by: By, parent: string): boolean {
  if (!isPerson(by)) return by === parent;
  const token = tokenIn(history, parent);
  return [token?.subject, token?.root].includes(PEOPLE[by].principal);
}

function deciding(act: IssueAct): Step {
  return (history) => {
    const parent = act.parent === undefined ? undefined : tokenIn(history, act.parent);
    const person = isPerson(act.by) ? PEOPLE[act.by].principal : undefined;
    const root = parent?.root ?? person ?? '';
    if (stopsIn(history, root)) return refused('frozen');
    const subject = act.request.subject ?? person;
    if (subject === undefined) return refused('invalid_parameters');
    const failure = parent ? wider(parent, { ...act.request, subject }) : unentitled(act);
    if (failure) return refused(failure);
    return { next: inserting(tokenOf(history, act, { root, subject, parent }), act.parent) };
  };
}

function unentitled({ by, request }: IssueAct): string | undefined {
  const { scope, ttlHours = 0, depthMax = 0 } = request;
  if (scope.some((each) => !ENTITLED[by]?.includes(each))) return 'not_entitled';
  if (ttlHours > LIFETIME_HOURS_MAX) return 'invalid_parameters';
  return depthMax > DEPTH_MAX ? 'delegation_depth_exceeded' : undefined;
}

/** Authority only narrows: the first dimension in which the request exceeds the parent. */
function wider(
  parent: Token,
  request: TokenRequest & { readonly subject: string },
): string | undefined {
  const isHuman = (name: string) => name.startsWith('human:');
  const isOther = (asked: string | undefined, held: string | undefined) =>
    asked !== undefined && held !== undefined && asked !== held;
  const { budget, capability, depthMax = 0, isExclusive, scope, subject, task } = request;
  if (isHuman(subject) && !isHuman(parent.subject)) return 'not_entitled';
  if (scope.some((each) => !parent.scope.includes(each))) return 'scope_escalation';
  if (isOther(capability, parent.capability)) return 'purpose_mismatch';
  if (isOther(task, parent.task)) return 'purpose_mismatch';
  const widened = budget && parent.budget && widerBudget(parent.budget, budget);
  if (widened) return widened;
  const depth = Math.max(parent.depth + 1, depthMax);
  if (depth > parent.depthMax) return 'delegation_depth_exceeded';
  return parent.isExclusive && isExclusive === false ? 'purpose_mismatch' : undefined;
}

function widerBudget(held: Money, asked: Money): string | undefined {
  if (asked.currency !== held.currency) return 'budget_currency_mismatch';
  return asked.amount > held.amount ? 'budget_exceeded' : undefined;
}

interface Named {
  readonly root: string;
  readonly subject: string;
  readonly parent: Token | undefined;
}

function tokenOf(
  history: History,
  { label, request }: IssueAct,
  { root, subject, parent }: Named,
): Token {
  const hours = request.ttlHours ?? LIFETIME_HOURS_DEFAULT;
  // The end of a token is a whole second, counted from the start of the current one.
  const begin = Math.floor(nowIn(history) / 1_000) * 1_000;
  const endsAt = begin + Math.round((hours * HOUR_MS) / 1_000) * 1_000;
  return {
    label,
    parent: parent?.label,
    root,
    subject,
    scope: request.scope,
    capability: request.capability ?? parent?.capability,
    task: request.task ?? parent?.task,
    budget: request.budget ?? parent?.budget,
    isExclusive: request.isExclusive ?? parent?.isExclusive ?? false,
    depth: parent ? parent.depth + 1 : 0,
    depthMax: request.depthMax ?? parent?.depthMax ?? DEPTH_MAX,
    endsAt: parent ? Math.min(endsAt, parent.endsAt) : endsAt,
  };
}

function inserting(token: Token, parent: string | undefined): Step {
  return (history) => {
    const death = parent === undefined ? undefined : deathIn(history, parent);
    if (death) return refused(death === 'revoked' ? 'invalid_token' : 'token_expired');
    const { scope, capability = null, task = null, budget, endsAt } = token;
    return {
      events: [{ kind: 'issued', token }],
      answer: { scope, capability, task, budget: budget ? wireMoney(budget) : null, endsAt },
    };
  };
}

export function revokeStep({ by, token: label }: RevokeAct): Step {
  return (history) => {
    const ended = endedCaller(history, by);
    if (ended) return refused(ended);
    if (!isAbove(history, by, label) && by !== 'operator') return refused('not_found');
    return {
      next(after) {
        const lost = endedCaller(after, by);
        if (lost) return refused(lost);
        const wasAlive = deathIn(after, label) === undefined;
        const count = wasAlive ? livingUnder(after, label).length : 0;
        return {
          events: [{ kind: 'revoked', token: label }],
          answer: { revoked: true, ended: count },
        };
      },
    };
  };
}

/** A person stands above the tokens of its name and below; a token above those below it, or for its root principal. */
function isAbove(history: History, by: By, label: string): boolean {
  const lineage = lineageIn(history, label);
  const root = lineage[0]?.root;
  if (isPerson(by)) {
    return [root, ...lineage.map(({ subject }) => subject)].includes(PEOPLE[by].principal);
  }
  if (lineage.some((token) => token.label === by)) return true;
  const own = tokenIn(history, by);
  return own?.depth === 0 && own.subject === own.root && own.root === root;
}

export function viewStep({ by, token: label }: ViewAct): Step {
  return (history) => {
    const ended = endedCaller(history, by);
    if (ended) return refused(ended);
    if (!isAbove(history, by, label) && by !== 'operator') return refused('not_found');
    const budgets = budgetsIn(history, label);
    const own = budgets.at(-1);
    const wire = (amount: number) => own && wireMoney({ ...own, amount }).amount;
    const left = Math.min(
      ...budgets.map(({ amount, reserved, spent }) => amount - reserved - spent),
    );
    return {
      answer: {
        state: deathIn(history, label) ?? 'active',
        spent: own ? wire(own.spent) : null,
        reserved: own ? wire(own.reserved) : null,
        remaining: own ? wire(left) : null,
        debts: debtsIn(history, label).map(wireMoney),
      },
    };
  };
}

export function freezeStep({ by, label, target, lastsMs }: FreezeAct): Step {
  return (history) => {
    if (by !== 'operator') return refused('scope_insufficient');
    if (lastsMs === 0) return refused('invalid_parameters');
    const until = lastsMs === undefined ? undefined : nowIn(history) + lastsMs;
    return {
      events: [{ kind: 'froze', label, target: targetOf(target), until }],
      answer: { frozen: targetOf(target), until: until ?? null },
    };
  };
}

export function unfreezeStep({ by, target }: UnfreezeAct): Step {
  return (history) => {
    if (by !== 'operator') return refused('scope_insufficient');
    const lifted = isFrozenIn(history, targetOf(target));
    return { events: [{ kind: 'lifted', target: targetOf(target) }], answer: { lifted } };
  };
}

/** `request` is the label of the call whose request is decided. */
export function approveStep({ by, label }: ApproveAct, request: string): Step {
  return (history) => {
    const asked = requestsIn(history).find((each) => each.label === request);
    const { principal } = PEOPLE[by];
    if (!asked) return refused('not_found');
    if (by !== 'approver') {
      const isRequester = [asked.root, asked.subject].includes(principal);
      return refused(isRequester ? 'approver_not_authorized' : 'not_found');
    }
    if (stopsIn(history, principal)) return refused('frozen');
    if (!isPendingIn(history, asked)) {
      const isDecided = grantsIn(history).some((grant) => grant.request === request);
      return refused(isDecided ? 'approval_request_decided' : 'approval_request_expired');
    }
    const at = nowIn(history);
    return {
      events: [{ kind: 'granted', label, request, at }],
      answer: { grant: label, capability: asked.capability, endsAt: at + GRANT_MS, uses: 1 },
    };
  };
}

/** When something that an act made ends, or `undefined` where it made nothing that ends. */
export function endIn(history: History, label: string): number | undefined {
  for (const event of history) {
    const made = endOfEvent(event);
    if (made?.label === label) return made.endsAt;
  }
  return undefined;
}

function endOfEvent(event: Event): { label: string; endsAt: number | undefined } | undefined {
  switch (event.kind) {
    case 'issued':
      return event.token;
    case 'granted':
      return { label: event.label, endsAt: event.at + GRANT_MS };
    case 'asked':
      return { label: event.label, endsAt: event.at + REQUEST_MS };
    case 'froze':
      return { label: event.label, endsAt: event.until };
    case 'bound': {
      const { quoteMaxAge = 0 } = CAPABILITIES.book;
      return { label: event.binding.label, endsAt: event.binding.at + quoteMaxAge };
    }
    default:
      return undefined;
  }
}
