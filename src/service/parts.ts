/**
 * What every operation of a running service is given: the definition and the things it runs on.
 *
 * @module
 */

import type { Config } from '../config.ts';
import type { Keyring } from '../keyring/keyring.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../storage/store.ts';
import type { TokenReader } from './caller.ts';
import type { ServiceDefinition } from './definition.ts';
import type { Identities } from './identities.ts';
import type { Lane } from './lane.ts';
import type { RateLimiter } from './rate.ts';
import type { Repeated } from './repeated.ts';
import type { Settler } from './settle.ts';
import type { Tracer } from './tracing.ts';
import type { Waits } from './waits.ts';
import type { Withheld } from './withheld.ts';
import type { WorkInProgress } from './work.ts';

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

export interface Parts {
  readonly definition: ServiceDefinition;
  readonly config: Config;
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
  /** Told of every invocation that ended. */
  ended(invocation: EndedInvocation): void;
  /** Told of every handler of a capability that reported more than was reserved. */
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
