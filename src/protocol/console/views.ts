/**
 * What the methods of the console answer. Times are ISO 8601 in UTC, amounts are in the unit of their currency.
 *
 * Text of agents and clients is as they wrote it. The page makes hidden characters visible.
 *
 * @module
 */

import type { AgentAct, AgentBudget, AgentListAnswer, AgentView } from '../agents.ts';
import type { ApprovalRequest, GrantTerms } from '../approval.ts';
import type { AuditAnswer, AuditEntry } from '../audit.ts';
import type { SideEffectType } from '../capability.ts';
import type { Decision, Hand, Passkey } from '../decision.ts';
import type { Failure } from '../failure.ts';
import type { TestAnswer } from '../invocation.ts';
import type { Money } from '../primitives.ts';
import type { ConsoleMethodName } from './methods.ts';
import type { DeviceList, InvitedPerson, PeopleList, Recovery } from './people.ts';
import type { ToolReviews } from './reviews.ts';

export interface ConsoleAnswers extends Record<ConsoleMethodName, object> {
  me: Me;
  pulse: Pulse;
  inbox: Inbox;
  decision: Decision;
  'decision.challenge': Challenge;
  'passkeys.list': { readonly passkeys: readonly Passkey[] };
  'passkeys.begin': PasskeyOptions;
  'passkeys.add': { readonly passkey: Passkey };
  'passkeys.remove': { readonly removed: boolean };
  agents: AgentTrees;
  'agents.children': { readonly children: readonly Agent[]; readonly next_cursor: string | null };
  'agents.ends': Ending;
  'activity.entries': AuditAnswer;
  'activity.days': Days;
  'activity.invocation': Invocation;
  /** A refusal is an answer here: the person asked what would happen. */
  try: { readonly answer: TestAnswer } | { readonly refused: Failure };
  trust: TrustGround;
  operations: Operations;
  'operations.identities': IdentityList;
  'operations.sessions': SessionList;
  'operations.end_session': { readonly ended: boolean };
  'people.list': PeopleList;
  'people.devices': DeviceList;
  'people.invite': InvitedPerson;
  'people.cancel': { readonly cancelled: boolean };
  'people.remove': { readonly removed: boolean };
  'people.remove_device': { readonly removed: boolean };
  reviews: ToolReviews;
  'reviews.accept': { readonly accepted: true };
}

export interface Me {
  readonly principal: string;
  readonly service: string;
  readonly now: string;
  readonly session: {
    readonly session_id: string;
    readonly expires_at: string;
    /** The app around the service began it and ends it. */
    readonly is_of_app: boolean;
  };
  /** Capabilities whose requests the person may decide. */
  readonly approves: readonly string[];
  /** What the person may do as an operator, such as "freeze"; empty for everybody else. */
  readonly operates: readonly OperatorRight[];
  /** Whether any capability can require approval. */
  readonly has_approvals: boolean;
  /** Whether the log is sealed, so that there is something to verify. */
  readonly is_anchored: boolean;
  /** Whether tools of others stand behind the service, which a person reviews. */
  readonly has_reviews: boolean;
  readonly passkeys: readonly Passkey[];
}

export const OPERATOR_RIGHTS = [
  'read',
  'audit',
  'revoke',
  'freeze',
  'unfreeze',
  'frozen',
  'indeterminate',
  'reconcile',
  'checkpoints',
  'deliveries',
  'identities',
  'metrics',
  'review',
] as const;
export type OperatorRight = (typeof OPERATOR_RIGHTS)[number];

export interface Pulse {
  readonly now: string;
  /** Pending requests that the person may decide; counting stops at `pending_max`. */
  readonly pending: number;
  readonly pending_max: number;
  /** Tools of others that need a review; 0 for those who may not read them. */
  readonly reviews: number;
  /** Entries in the log. A page that shows entries asks for them when this grew. */
  readonly entries: number;
  /** Of the last checkpoint; null before the first. */
  readonly checkpoint: { readonly sequence: number; readonly created_at: string } | null;
  /** Invitations of people who may approve, to which this person can object. */
  readonly recoveries: readonly Recovery[];
}

export interface Inbox {
  readonly requests: readonly InboxItem[];
  readonly next_cursor: string | null;
}

export interface InboxItem {
  readonly approval_request_id: string;
  readonly capability: string;
  /** What is asked, in one line. Hidden characters of its values are marked. */
  readonly title: string;
  readonly side_effect: SideEffectType;
  /** From the one who acts to the root principal. */
  readonly chain: readonly string[];
  readonly cost: Money | null;
  readonly parameters_count: number;
  readonly has_hidden: boolean;
  /** Whether an approval counts only with the passkey of the approver. */
  readonly needs_passkey: boolean;
  readonly approvals: number;
  readonly approvals_required: number;
  /** Whether the person approved it already, and others are waited for. */
  readonly has_approved: boolean;
  readonly created_at: string;
  readonly expires_at: string;
}

export type BudgetView = AgentBudget;

/** What a passkey signs: the digest of `payload` in its canonical form. */
export interface Challenge {
  readonly payload: SignedDecision;
  /** Of the payload; the challenge of WebAuthn is these 32 bytes. */
  readonly digest: string;
  readonly rp_id: string;
  readonly credential_ids: readonly string[];
}

export interface SignedDecision {
  readonly nonce: string;
  readonly decision: 'approve' | 'deny';
  readonly approval_request_id: string;
  readonly parameters_digest: string;
  readonly preview_digest: string | null;
  /** Null for a denial. */
  readonly terms: GrantTerms | null;
}

export interface PasskeyOptions {
  /** Base64url of the bytes that the browser signs. */
  readonly challenge: string;
  readonly rp_id: string;
  readonly rp_name: string;
  /** Base64url. */
  readonly user_id: string;
  readonly user_name: string;
  /** Keys that exist: a browser does not make a second one on the same device. */
  readonly exclude: readonly string[];
  /** Whether the new key counts at once, needs the confirmation of another key, or waits. */
  readonly counts: 'at_once' | 'when_confirmed' | 'later';
}

export type AgentTrees = AgentListAnswer;

export type Agent = AgentView;

export type Act = AgentAct;

export interface Ending {
  readonly token_id: string;
  readonly subject: string;
  /** Living tokens, this one included; counting stops at `tokens_max`. */
  readonly tokens: number;
  readonly tokens_max: number;
  /** Some of the principals that lose their authority. */
  readonly principals: readonly string[];
  /** Calls that were admitted and still run. They finish. */
  readonly running: number;
  /** Pending approval requests that can no longer be used; those that the newest 2,000 entries name. */
  readonly requests: number;
  /** False where older entries were not read. */
  readonly requests_are_whole: boolean;
  /** Of the token; where it has none, of some of the tokens below. */
  readonly budgets: readonly BudgetView[];
}

export interface Days {
  readonly days: readonly Day[];
  readonly entries_read: number;
  /** False when older entries of these days were not read. */
  readonly is_complete: boolean;
}

export interface Day {
  /** Such as "2026-11-17", in UTC. */
  readonly day: string;
  readonly spent: readonly Money[];
  readonly succeeded: number;
  readonly failed: number;
  readonly refused: number;
}

export interface Invocation {
  readonly invocation_id: string;
  /** Newest first: the call and everything that names it. */
  readonly entries: readonly AuditEntry[];
  /** Root first. */
  readonly chain: readonly Hand[];
  readonly request: ApprovalRequest | null;
  readonly parent: string | null;
  readonly children: readonly Act[];
}

/** Nothing in it is trusted: signatures cover the id, and a reader compares the keys with another source. */
export interface TrustGround {
  readonly service_id: string;
  /** As text in the form of signed notes: name, id and key. */
  readonly witness_keys: readonly string[];
}

export interface Operations {
  readonly now: string;
  readonly version: string;
  readonly node: string;
  readonly store: string;
  /** Empty when the service is ready. */
  readonly unready: readonly string[];
  readonly started_at: string;
  readonly log: {
    readonly entries: number;
    readonly waiting: number;
    readonly is_anchored: boolean;
    /** Why sealing is refused. */
    readonly refused: string | null;
    readonly checkpoint: { readonly sequence: number; readonly created_at: string } | null;
    readonly witnesses: readonly string[];
  };
  readonly keys: readonly KeyView[];
  readonly settings: Readonly<Record<string, string | number | boolean>>;
}

export interface KeyView {
  readonly kid: string;
  readonly use: string;
  readonly state: 'signs' | 'verifies' | 'next';
  readonly since: string | null;
  readonly until: string | null;
}

export interface IdentityList {
  readonly identities: readonly IdentityView[];
  readonly rules: readonly (Omit<IdentityView, 'principal' | 'stored'> & {
    readonly principals: readonly string[];
  })[];
  readonly issuers: readonly string[];
}

export interface IdentityView {
  readonly principal: string;
  /** Of an identity in the store; null for one of the configuration. */
  readonly stored: { readonly identity_id: string; readonly created_by: string } | null;
  readonly scopes: readonly string[];
  readonly subjects: readonly string[];
  readonly caller_class: string;
  readonly is_demo: boolean;
}

export interface SessionList {
  readonly sessions: readonly {
    readonly session_id: string;
    readonly principal: string;
    readonly user_agent: string;
    readonly how: string;
    readonly created_at: string;
    readonly seen_at: string;
    readonly expires_at: string;
    readonly is_this: boolean;
  }[];
  readonly next_cursor: string | null;
}
