/**
 * What an entry of the log says, in words.
 *
 * Names and reasons in an entry are text of others. They are kept apart from our words, so that the page can
 * show them as such.
 *
 * @module
 */

import type { AuditEntry, EntryType } from '../../../protocol/audit.ts';

/** Our own words, and text of others. */
export type Words = readonly (string | Quoted)[];

export interface Quoted {
  readonly text: string;
  /** `name`: of a capability. */
  readonly kind: 'name' | 'principal' | 'text';
}

export interface Outcome {
  readonly state: 'good' | 'warn' | 'danger';
  readonly words: string;
}

export function whatOf(entry: AuditEntry): Words {
  return WHAT[entry.entry_type](entry);
}

export function outcomeOf(entry: AuditEntry): Outcome {
  const { entry_type, state, failure_type } = entry;
  if (failure_type === 'approval_required') return { state: 'warn', words: 'Asked for approval' };
  const decision = entry_type === 'approval_decision' ? textIn(entry, 'decision') : undefined;
  if (decision !== undefined && Object.hasOwn(DECISIONS, decision)) {
    return DECISIONS[decision as keyof typeof DECISIONS];
  }
  if (entry_type !== 'dry_run') return OUTCOMES[state];
  if (state === 'completed') return { state: 'good', words: 'Would be admitted' };
  // A dry run is refused without a failure when the call first needs approval.
  const words = failure_type === null ? 'Would need approval' : 'Would be refused';
  return { state: 'warn', words };
}

const DECISIONS = {
  granted: { state: 'good', words: 'Approved' },
  approved: { state: 'good', words: 'Approved' },
  denied: { state: 'danger', words: 'Denied' },
  expired: { state: 'warn', words: 'Expired' },
} as const satisfies Readonly<Record<string, Outcome>>;

const OUTCOMES = {
  completed: { state: 'good', words: 'Done' },
  failed: { state: 'danger', words: 'Failed' },
  refused: { state: 'danger', words: 'Refused' },
  indeterminate: { state: 'danger', words: 'Outcome unknown' },
} as const satisfies Record<AuditEntry['state'], Outcome>;

const WHAT = {
  invocation: (entry) => ['Called ', capabilityOf(entry)],
  replay: (entry) => ['Repeated a call of ', capabilityOf(entry), ' and got the stored answer'],
  dry_run: (entry) => ['Tried ', capabilityOf(entry), ' without effect'],
  settlement: (entry) => ['Late outcome of ', capabilityOf(entry)],
  compensation: (entry) => ['Undid a step with ', capabilityOf(entry)],
  issuance: (entry) => ['Delegated to ', subjectOf(entry)],
  revocation: (entry) => ['Ended the delegation to ', subjectOf(entry)],
  approval_request: (entry) => ['Asked for approval of ', capabilityOf(entry)],
  approval_decision: decisionWords,
  operator: operatorWords,
  session: sessionWords,
} as const satisfies Record<EntryType, (entry: AuditEntry) => Words>;

export function capabilityOf({ capability }: AuditEntry): string | Quoted {
  return capability === null ? 'an unnamed capability' : { text: capability, kind: 'name' };
}

function subjectOf(entry: AuditEntry): string | Quoted {
  const subject = textIn(entry, 'subject');
  if (subject !== undefined) return { text: subject, kind: 'principal' };
  return entry.token_id === null ? 'an agent' : { text: entry.token_id, kind: 'text' };
}

function decisionWords(entry: AuditEntry): Words {
  const what = capabilityOf(entry);
  switch (textIn(entry, 'decision')) {
    case 'granted':
      return ['Approved ', what, countOf(entry)];
    case 'approved':
      return ['Approved ', what, `${countOf(entry)}, others are waited for`];
    case 'denied': {
      const reason = textIn(entry, 'reason');
      if (reason === undefined) return ['Denied ', what];
      return ['Denied ', what, ': ', { text: reason, kind: 'text' }];
    }
    case 'expired':
      return ['The request for ', what, ' expired'];
    default:
      return ['Decided a request for ', what];
  }
}

/** ", 1 of 2". */
function countOf({ detail }: AuditEntry): string {
  const { approvals, approvals_required: all } = detail ?? {};
  return typeof approvals === 'number' && typeof all === 'number' ? `, ${approvals} of ${all}` : '';
}

const OPERATOR_VERBS: Readonly<Record<string, string>> = {
  freeze: 'Froze ',
  unfreeze: 'Lifted the freeze of ',
  reconcile: 'Recorded the outcome of ',
  recover: 'Accepted a loss of the log',
  guard_policy_loaded: 'Loaded a policy',
  guard_policy_refused: 'Refused a policy',
  guard_tool_off: 'Switched off ',
  guard_tool_reviewed: 'Reviewed ',
};

function operatorWords(entry: AuditEntry): Words {
  const verb = textIn(entry, 'verb');
  const target = textIn(entry, 'target') ?? textIn(entry, 'tool') ?? textIn(entry, 'invocation_id');
  const after: Words = target === undefined ? whole(entry) : [{ text: target, kind: 'text' }];
  if (verb === undefined) return ['Acted as operator'];
  const words = Object.hasOwn(OPERATOR_VERBS, verb) ? OPERATOR_VERBS[verb] : undefined;
  if (words === undefined) return ['Operator: ', { text: verb, kind: 'text' }];
  return words.endsWith(' ') ? [words, ...after] : [words];
}

function whole(entry: AuditEntry): Words {
  return [textIn(entry, 'what') === 'service' ? 'the whole service' : 'something'];
}

const SESSION_VERBS: Readonly<Record<string, string>> = {
  sign_in: 'Signed in',
  sign_out: 'Signed out',
  refused: 'Was refused at sign-in',
  passkey_added: 'Added a passkey',
  passkey_removed: 'Removed a passkey',
  account_connected: 'Connected an account',
  account_disconnected: 'Disconnected an account',
  account_ended: 'Lost an account with the last delegation',
  account_refresh_refused: 'Lost an account: the other service refused to renew it',
};

function sessionWords(entry: AuditEntry): Words {
  const verb = textIn(entry, 'verb');
  if (verb === undefined) return ['Acted in a browser'];
  const words = Object.hasOwn(SESSION_VERBS, verb) ? SESSION_VERBS[verb] : undefined;
  return words === undefined ? ['In a browser: ', { text: verb, kind: 'text' }] : [words];
}

function textIn({ detail }: AuditEntry, name: string): string | undefined {
  const value = detail && Object.hasOwn(detail, name) ? detail[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}
