/**
 * Acts: what a run does to the service.
 *
 * An act names earlier acts by their labels, so acts can be left out while the others stay the same: an act whose
 * token, call or request is missing is skipped.
 *
 * @module
 */

import type { CapabilityName, Money, PersonName } from './catalog.ts';

/** A person presents its credential; anything else is the label of a token. */
export type By = PersonName | (string & Record<never, never>);

export interface TokenRequest {
  readonly scope: readonly string[];
  readonly subject?: string;
  readonly capability?: string;
  readonly task?: string;
  readonly budget?: Money;
  readonly ttlHours?: number;
  readonly isExclusive?: boolean;
  readonly depthMax?: number;
}

interface Labelled {
  readonly label: string;
  /** Which service is asked, where there are several. */
  readonly at: number;
}

export interface IssueAct extends Labelled {
  readonly kind: 'issue';
  readonly by: By;
  /** The label of the parent; absent for a root token. */
  readonly parent?: string;
  readonly request: TokenRequest;
}

export interface RevokeAct extends Labelled {
  readonly kind: 'revoke';
  readonly by: By;
  readonly token: string;
}

/** What is frozen: everything, a root principal, or a capability, for all callers or for one root principal. */
export interface FreezeTarget {
  readonly capability?: CapabilityName;
  readonly root?: string;
}

export interface FreezeAct extends Labelled {
  readonly kind: 'freeze';
  readonly by: PersonName;
  readonly target: FreezeTarget;
  readonly lastsMs?: number;
}

export interface UnfreezeAct extends Labelled {
  readonly kind: 'unfreeze';
  readonly by: PersonName;
  readonly target: FreezeTarget;
}

export interface CallAct extends Labelled {
  readonly kind: 'call';
  readonly token: string;
  readonly capability: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The label of the call whose binding is sent as `quote`. */
  readonly quoteOf?: string;
  /** The label of the approval whose grant is sent. */
  readonly grantOf?: string;
  readonly key?: string;
  readonly task?: string;
  readonly form?: 'malformed' | 'stream';
  /** Where the call waits for the act `end`: between its checks and its admission, or in its handler. */
  readonly heldAt?: 'checks' | 'handler';
}

interface EndAct extends Labelled {
  readonly kind: 'end';
  readonly call: string;
}

export interface ApproveAct extends Labelled {
  readonly kind: 'approve';
  readonly by: PersonName;
  /** The label of the call that asked. */
  readonly call: string;
}

export interface ViewAct extends Labelled {
  readonly kind: 'view';
  readonly by: By;
  readonly token: string;
}

export interface PermissionsAct extends Labelled {
  readonly kind: 'permissions';
  readonly token: string;
}

/** Time passes: so long, or until a moment near the end of what an act made. */
export interface WaitAct extends Labelled {
  readonly kind: 'wait';
  readonly ms: number;
  readonly untilEndOf?: string;
  /** A longer time does not pass. */
  readonly mostMs: number;
}

export type PlainAct =
  | IssueAct
  | RevokeAct
  | FreezeAct
  | UnfreezeAct
  | CallAct
  | ApproveAct
  | PermissionsAct
  | ViewAct;

/** Acts that are asked in one turn. */
export interface TogetherAct extends Labelled {
  readonly kind: 'together';
  readonly acts: readonly PlainAct[];
}

/** The same call several times in one turn. The order does not matter: each costs the same. */
export interface BurstAct extends Labelled {
  readonly kind: 'burst';
  readonly acts: readonly CallAct[];
}

export type Act = PlainAct | EndAct | WaitAct | TogetherAct | BurstAct;
