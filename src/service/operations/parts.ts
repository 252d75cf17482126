/**
 * The parts of a running service: what every operation receives as its first argument.
 *
 * `runtime.ts` makes the parts once. A request passes these files in this order:
 *
 * 1. `operations.ts` calls the operation, parses the input by its schema once the operation has
 *    found out who asks, and turns what the operation throws into a failure.
 * 2. `caller/caller.ts` finds out who asks, from a token or a bootstrap credential.
 * 3. `pace/rate.ts` counts the call. `withheld.ts` refuses it while nothing may be appended to the log.
 * 4. `caller/audited.ts` runs the operation and appends the entry of a refusal. `caller/entries.ts` makes
 *    entries.
 * 5. `call/call.ts` holds one invocation and makes its answer. `stream.ts` sends it as events. `page.ts`
 *    bounds the answer of a list.
 *
 * `trust.ts` and `documents.ts` answer discovery, manifest, keys and graph. `caller/remembered-tokens.ts` reads
 * each token of an answer once. `foreign/foreign.ts` calls author code, `alarms.ts` reports tampering,
 * `caller/own-act.ts` records what the service itself did, `tracing.ts` measures steps, and `random.ts` makes ids.
 *
 * @module
 */

import type { Config } from '../../config/config.ts';
import type { AppPerson } from '../../domain/authority/app-person.ts';
import type { Entitlement } from '../../domain/authority/entitlement.ts';
import type { RelyingParty } from '../../domain/passkey/relying-party.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import type { Receipt, SignedReceipt } from '../../protocol/invocation.ts';
import type { Settlement } from '../../storage/port/invocation-store.ts';
import type { PasskeyRecord } from '../../storage/port/passkey-store.ts';
import type { Store } from '../../storage/port/store.ts';
import type { ServiceDefinition } from '../author/definition.ts';
import type { CallOut } from '../outbound/outbound.ts';
import type { Lane } from '../pace/lane.ts';
import type { RateLimiter } from '../pace/rate.ts';
import type { Repeated } from '../pace/repeated.ts';
import type { Waits } from '../pace/waits.ts';
import type { WorkInProgress } from '../pace/work.ts';
import type { Alarms } from './alarms.ts';
import type { Tracer } from './tracing.ts';
import type { Withheld } from './withheld.ts';

/**
 * Contains only names that the service chose: they become metric labels, so their number is
 * bounded.
 */
interface EndedInvocation {
  /** Undefined when the service has no such capability. */
  readonly capability?: string | undefined;
  /** `success`, or the type of the failure. */
  readonly outcome: string;
  readonly seconds: number;
}

/** Receives the events that operators count. */
export interface Watcher {
  invoked(invocation: EndedInvocation): void;
  overran(capability: string): void;
  /** An attempt to send a notification failed; `state` says whether it is tried again. */
  undelivered(state: string): void;
}

export interface ServiceParts {
  readonly definition: ServiceDefinition;
  readonly config: Config;
  /** Clock, timers, turns and random bytes. A service has no other source of them. */
  readonly platform: Platform;
  /** Sends requests to other services: webhooks, witnesses, identity providers. */
  readonly callOut: CallOut;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly identities: Identities;
  readonly readToken: TokenReader;
  readonly settler: Settler;
  readonly rates: RateLimiter;
  /** The places for queries and lists. */
  readonly lane: Lane;
  readonly work: WorkInProgress;
  readonly tracer: Tracer;
  /** Called for every invocation that ended. */
  ended(invocation: EndedInvocation): void;
  /** Called for every handler that reported a cost above the reserved amount. */
  overran(capability: string): void;
  readonly alarms: Alarms;
  /** Whether the app around a mounted service identifies callers. */
  readonly isIdentifiedByApp?: boolean | undefined;
  readonly waits: Waits;
  /** Returns why nothing may be appended to the log now. */
  readonly withheld: Withheld;
  /** The address of the page where people decide a request; undefined where no person can sign in. */
  decisionUrl(approvalRequestId: string): string | undefined;
  /** The host that passkeys belong to; undefined where the service has no name. */
  relyingParty(): RelyingParty | undefined;
  /** Sends notices. Nudged after a notice was stored. */
  readonly webhooks: Repeated;
  /** Absent where no log is sealed: then nothing could be promised about it. */
  readonly receipts?: ReceiptSigner | undefined;
  /** Absent where the service declares no accounts of people at other services. */
  readonly accounts?: AccountTokens | undefined;
  readonly log: Logger;
  /** In milliseconds: how long an exclusive lease lasts without a renewal. */
  readonly leaseMs: number;
  /**
   * The id of this process in the store. Other processes recover the calls of a process that falls
   * silent.
   */
  readonly instanceId: string;
}

/** Signs receipts of entries. Never rejects: `undefined` where nothing can be signed now. */
export interface ReceiptSigner {
  /** For an entry that the store has acknowledged just now. */
  sign(entry: Receipt): Promise<SignedReceipt | undefined>;
  /** For an entry that a stored answer names. Signs only what the current log has. */
  signStored(entry: Receipt): Promise<SignedReceipt | undefined>;
}

export interface AccountTokens {
  /**
   * The access token of a person for an account of the definition. Rejects with the failure for the caller where the
   * person has not connected it.
   */
  tokenOf(principal: string, account: string): Promise<string>;
}

/** A token text whose signature verified: the id it names, and its claims. */
export interface PresentedToken {
  readonly tokenId: string;
  /** The claims in canonical form, and their digest. */
  readonly claims: string;
  readonly digest: string;
}

/** Reads a text. Returns `undefined` when it is not a token of this service. */
export type TokenReader = (bearer: string) => PresentedToken | undefined;

export interface Identities {
  /** What the credential entitles to; `undefined` for an unknown credential. A configured one is known at once. */
  identify(bearer: string): Entitlement | Promise<Entitlement | undefined>;
  /** The person whom the app around the service names; `undefined` when it names none. */
  identifyBy(code: () => unknown): Promise<AppPerson | undefined>;
  /** Whether the configuration contains the credential. Does not ask the store. */
  isConfigured(bearer: string): boolean;
  /** The same, for the credential with this SHA-256 in hex. */
  isConfiguredDigest(digest: string): boolean;
  /** What a key of the configuration or of the store entitles to. Calls no hook and no identity provider. */
  byKey(bearer: string): Promise<Entitlement | undefined>;
  /** The same, for the key with this SHA-256 in hex. */
  byDigest(digest: string): Promise<Entitlement | undefined>;
  /** What a person of the store is entitled to who signs in with a passkey; `undefined` for anyone else. */
  ofPerson(
    passkey: Pick<PasskeyRecord, 'principal' | 'identity_id'>,
  ): Promise<Entitlement | undefined>;
  /** What the rules entitle a principal to that authenticates in another way. */
  byRules(principal: string): Entitlement;
  /** Whether a principal may have one of the scopes now, by any of its credentials or by a rule. */
  isEntitled(principal: string, ...scopes: readonly string[]): Promise<boolean>;
  /** Whether a principal may approve anything now, by any of its credentials or by a rule. */
  mayApprove(principal: string): Promise<boolean>;
}

export interface Settler {
  /** `unknown`: not recorded yet. The settler retries in the background and then calls `later`. */
  settle(
    settlement: Settlement,
    later?: (outcome: 'settled' | 'superseded') => void,
  ): Promise<'settled' | 'superseded' | 'unknown'>;
  /**
   * Closes a call that did not run but that the store may have admitted. Runs in the background, and calls
   * `superseded` when the store has another outcome or the call lost its lease.
   */
  release(settlement: Settlement, superseded: () => void): void;
  /**
   * Repeats a change until the store takes it. The change must be repeatable. Rejects with the
   * failure of the store when the service stops first, and at once with any other error.
   */
  insist<Result>(change: (isRepeat: boolean) => Promise<Result>): Promise<Result>;
  /** The number of changes that wait for the store. */
  waiting(): number;
  close(): void;
}
