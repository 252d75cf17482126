/**
 * What every operation of a running service is given: the definition and the things it runs on.
 *
 * @module
 */

import type { Config } from '../../config/config.ts';
import type { Entitlement } from '../../domain/authority/entitlement.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import type { Settlement } from '../../storage/port/invocation-store.ts';
import type { Store } from '../../storage/port/store.ts';
import type { ServiceDefinition } from '../author/definition.ts';
import type { Lane } from '../pace/lane.ts';
import type { Repeated } from '../pace/repeated.ts';
import type { Waits } from '../pace/waits.ts';
import type { WorkInProgress } from '../pace/work.ts';
import type { RateLimiter } from './rate.ts';
import type { Tracer } from './tracing.ts';
import type { Withheld } from './withheld.ts';

/** Names of ours only: these become labels, and their number must be bounded. */
interface EndedInvocation {
  /** Undefined where the service has no such capability. */
  readonly capability?: string | undefined;
  /** `success`, or the type of the failure. */
  readonly outcome: string;
  readonly seconds: number;
}

/** Hears of what operators count. */
export interface Watcher {
  invoked(invocation: EndedInvocation): void;
  overran(capability: string): void;
}

export interface ServiceParts {
  readonly definition: ServiceDefinition;
  readonly config: Config;
  /** Clock, timers, turns and random bytes; nothing in a service has them from elsewhere. */
  readonly platform: Platform;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly identities: Identities;
  readonly readToken: TokenReader;
  readonly settler: Settler;
  readonly rates: RateLimiter;
  /** Where queries and lists take their places. */
  readonly lane: Lane;
  readonly work: WorkInProgress;
  readonly tracer: Tracer;
  /** Called for every invocation that ended. */
  ended(invocation: EndedInvocation): void;
  /** Called for every handler of a capability that reported more than was reserved. */
  overran(capability: string): void;
  readonly waits: Waits;
  /** Why nothing may be appended to the log now. */
  readonly withheld: Withheld;
  /** Nudged when there is something to send. */
  readonly webhooks: Repeated;
  readonly log: Logger;
  /** How long an exclusive turn lasts without a sign of life. */
  readonly leaseMs: number;
  /** Names this process to the store: calls of a process that fell silent are recovered. */
  readonly instanceId: string;
}

/** A text whose signature verified: which token it says it is, and all it says. */
export interface PresentedToken {
  readonly tokenId: string;
  /** The claims as they were signed, in canonical form, and their digest. */
  readonly signed: string;
  readonly claims: string;
  readonly digest: string;
}

/** What a text says, if it is a token of ours; nothing otherwise. */
export type TokenReader = (bearer: string) => PresentedToken | undefined;

export interface Identities {
  /** What the credential entitles to, or `undefined` when nobody knows it. */
  identify(bearer: string): Promise<Entitlement | undefined>;
  /** Whether the configuration itself knows the credential. */
  isConfigured(bearer: string): boolean;
  /** Whether a principal may have a scope now, by any of its credentials or by a rule. */
  isEntitled(principal: string, scope: string): boolean;
}

export interface Settler {
  /** `unknown`: not recorded yet, and being tried again in the background; then `later` is told. */
  settle(
    settlement: Settlement,
    later?: (outcome: 'settled' | 'superseded') => void,
  ): Promise<'settled' | 'superseded' | 'unknown'>;
  /** Closes, in the background, a call that did not run and that the store may have admitted. */
  release(settlement: Settlement): void;
  /**
   * Makes a change that can be repeated, however long the store takes to come back. Rejects with the
   * store's own failure when the service stops first, and with any other error at once.
   */
  insist<Result>(change: () => Promise<Result>): Promise<Result>;
  /** Settlements and other changes that still wait to be recorded. */
  waiting(): number;
  close(): void;
}
