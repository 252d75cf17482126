/**
 * A running service: connects the rooms to the store, the keys and the settings they run on.
 *
 * Starting goes in this order: wrap the store (`rows/service-store.ts`), compare the log with what was signed, make
 * the parts, bind a method to each operation, then start the background tasks. Transports use the methods; nothing
 * here knows a transport.
 *
 * @module
 */

import { refuse } from '../domain/failure.ts';
import type { Pacer } from '../domain/invocation/rate.ts';
import { relyingPartyOf } from '../domain/passkey/relying-party.ts';
import { countText } from '../domain/values/count-text.ts';
import type { Logger } from '../log.ts';
import { newUuid, type Platform } from '../platform.ts';
import type { Capability } from '../protocol/capability.ts';
import type { Failure } from '../protocol/failure.ts';
import type { OperationName } from '../protocol/operations.ts';
import { run } from '../steps.ts';
import type { IdentityRecord } from '../storage/port/identity-store.ts';
import type { MarkStore } from '../storage/port/mark.ts';
import type { Store } from '../storage/port/store.ts';
import { type Accounts, openAccounts } from './accounts/accounts.ts';
import { startExpiry } from './approval/expiry.ts';
import { startWebhooks, type WebhookTiming } from './approval/webhooks.ts';
import { upgradeWarnings } from './author/upgrade.ts';
import { startWarnings, unconfirmable, unconnectable } from './author/warnings.ts';
import { notOperator } from './authority/freeze.ts';
import { createIdentities, isPerson } from './authority/identities.ts';
import { livingIdentities } from './authority/stored-identities.ts';
import { answered } from './caller/audited.ts';
import { callerOf, createTokenReader, strangerTo } from './caller/caller.ts';
import { type OwnAct, recordOwnAct } from './caller/own-act.ts';
import { runComposition } from './compose/compose.ts';
import { startResuming } from './compose/resume.ts';
import { type Console, createConsole } from './console/console.ts';
import type { ConsoleParts } from './console/parts.ts';
import type { InvokeParts } from './invoke/handler.ts';
import { closeAbandoned } from './invoke/indeterminate.ts';
import { invokeWithin } from './invoke/invoke.ts';
import { type RecoveryOptions, startRecovery } from './invoke/recovery.ts';
import { createSettler, LEASE_MS } from './invoke/settle.ts';
import { startAnchoredSealer } from './log/anchored.ts';
import { checkpointMethods } from './log/checkpoints.ts';
import { createFigures, type Figures } from './log/figures.ts';
import { createReceiptSigner } from './log/receipts.ts';
import { type RetentionOptions, startRetention } from './log/retention.ts';
import type { Sealer, SealingState } from './log/sealer.ts';
import { approvalMethods, authorityMethods } from './methods.ts';
import { type Alarms, createAlarms } from './operations/alarms.ts';
import { createDocuments } from './operations/documents.ts';
import { type Ask, failureOf, type Methods } from './operations/operations.ts';
import type { ServiceParts, Watcher } from './operations/parts.ts';
import { NO_TRACER, type Tracer } from './operations/tracing.ts';
import { GATED, type Gate, trustMethods } from './operations/trust.ts';
import { type CallOut, callOutBy } from './outbound/outbound.ts';
import { createLane } from './pace/lane.ts';
import { createPrincipalPacer, createRateLimiter } from './pace/rate.ts';
import type { Repeated } from './pace/repeated.ts';
import { createSlicer, type Slicer } from './pace/slices.ts';
import { createWaits } from './pace/waits.ts';
import { createWorkInProgress } from './pace/work.ts';
import { createPeople, type People } from './people/pages.ts';
import { openRowLogs } from './rows/row-check.ts';
import { serviceStore } from './rows/service-store.ts';
import { openIdentityProviders, pageUrls } from './sign-in/open.ts';
import { isHuman } from './sign-in/sessions.ts';
import { createSignIn, type SignIn } from './sign-in/sign-in.ts';

export interface RuntimeOptions
  extends Omit<
    ServiceParts,
    | 'identities'
    | 'readToken'
    | 'settler'
    | 'rates'
    | 'lane'
    | 'work'
    | 'waits'
    | 'withheld'
    | 'decisionUrl'
    | 'webhooks'
    | 'accounts'
    | 'instanceId'
    | 'leaseMs'
    | 'tracer'
    | 'ended'
    | 'overran'
    | 'alarms'
    | 'relyingParty'
    | 'callOut'
  > {
  /** Where callers reach the service. */
  baseUrl(): string;
  /** The path before all paths of a service that is mounted in an app; empty by default. */
  readonly basePath?: string | undefined;
  readonly tracer?: Tracer | undefined;
  /** Counts the calls of each root principal, for runtimes that follow each other in one process. */
  readonly pacer?: Pacer | undefined;
  /** Stores the last signed checkpoint outside of the store. */
  readonly mark?: MarkStore | undefined;
  /** Cuts long work into slices; by default with the clock of this process. */
  readonly slicer?: Slicer | undefined;
  /**
   * How long a process may be silent before its calls are recovered. The default closes calls
   * within a minute.
   */
  readonly recovery?: Pick<RecoveryOptions, 'intervalMs' | 'silentMs'>;
  readonly leaseMs?: number | undefined;
  readonly retention?: Pick<RetentionOptions, 'intervalMs'>;
  /** Sends requests to other services; by default over the network. */
  readonly callOut?: CallOut | undefined;
  /** How often expired requests are closed and unused accounts end, and how notices are sent. */
  readonly upkeep?: WebhookTiming & { readonly expiryMs?: number; readonly accountsMs?: number };
}

export interface Runtime {
  /** Of the service, as its manifest names it. */
  readonly id: string;
  /** Present where people can sign in. */
  readonly signIn: SignIn | undefined;
  /** Present where people can sign in. */
  readonly people: People | undefined;
  /** Present where people can sign in, here or at the app around the service. */
  readonly console: Console | undefined;
  /** Present where people can sign in and the service declares accounts. */
  readonly accounts: Accounts | undefined;
  /** Reports every invocation that ends and every overrun from now on. */
  watch(watcher: Watcher): void;
  /** Reports every alarm from now on. */
  readonly watchAlarms: Alarms['watch'];
  readonly methods: Methods;
  /** What is declared, by name. */
  readonly capabilities: ReadonlyMap<string, Capability>;
  /** Operations that need a credential here, although their row does not require one. */
  readonly gated: readonly OperationName[];
  readonly config: ServiceParts['config'];
  readonly log: Logger;
  readonly platform: Platform;
  /** Where callers reach the service. */
  baseUrl(): string;
  /** The path before all paths of the service in its documents; empty unless it is mounted. */
  readonly basePath: string;
  /** Whether the configuration contains the credential. Calls no hook and no identity provider. */
  isConfigured(bearer: string): boolean;
  /** Why a credential is none of a caller of the operation, before its request is read. */
  strangerTo(name: OperationName, ask: Pick<Ask, 'bearer'>): Promise<Failure | undefined>;
  /** Why a caller may not read the metrics, where they are restricted. */
  unreadableMetrics(ask: Ask): Promise<Failure | undefined>;
  /**
   * Adds another protocol at this address to discovery. Called before the first fetch of discovery.
   */
  announce(protocol: string, path: string): void;
  /** Appends the entry of an act of the service itself. */
  record(act: OwnAct): Promise<void>;
  /** Ends the wait of callers that only wait, so that a transport can close. */
  release(): void;
  /**
   * Waits for running calls within the grace period, or what is left of it, then stops the
   * background tasks. The store and the keys stay open: the caller of `createRuntime` owns them.
   */
  close(graceMs?: number): Promise<void>;
  /**
   * The last sealed checkpoint and whether sealing is refused; `undefined` when the log is not
   * sealed.
   */
  sealing(): SealingState | undefined;
  /** What operators watch. Never rejects. */
  figures(): Promise<Figures>;
  /** The reasons why the service is not ready; empty when it is. */
  unready(): Promise<string[]>;
}

/**
 * Resolves when the service can take calls. Rejects when the store does not take the first
 * heartbeat.
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one line for each part, in the order in which they start.
export async function createRuntime({
  baseUrl,
  basePath = '',
  recovery: timing,
  tracer = NO_TRACER,
  leaseMs = LEASE_MS,
  upkeep,
  retention: erasing,
  slicer,
  mark,
  pacer,
  ...options
}: RuntimeOptions): Promise<Runtime> {
  const given = { ...options, callOut: options.callOut ?? callOutBy(options.platform) };
  const { definition, config, keyring, log, platform } = given;
  const { external, providers } = await openIdentityProviders(given);
  const instanceId = newUuid(platform);
  const logs = await openRowLogs(given.store);
  const sealing = { rows: keyring.rows, alarms: createAlarms(log), logs };
  let sealer: Sealer | undefined;
  let ends: Repeated | undefined;
  const withheld = () => sealer?.state().refused;
  const onRevoked = () => ends?.nudge();
  const store = serviceStore(given.store, { ...sealing, tracer, withheld, onRevoked });
  const kept = await livingIdentities({ store });
  sealer = await startAnchoredSealer({ ...given, instanceId, onCompared: logs.look }, mark);
  const watchers = new Set<Watcher>();
  const facts = await signInFacts(basePath, kept, store);
  const { isIdentifiedByApp } = options;
  const site = { config, providers, baseUrl, isIdentifiedByApp, ...facts };
  const pageUrl = pageUrls(site);
  const withoutAccounts: InvokeParts = {
    ...given,
    store,
    alarms: sealing.alarms,
    tracer,
    leaseMs,
    instanceId,
    ...notifyAll(watchers),
    identities: createIdentities(config, { ...definition, platform, stored: store, external }),
    readToken: createTokenReader(keyring, definition.id),
    settler: createSettler(store, platform, log),
    rates: createRateLimiter(store, platform, pacer ?? createPrincipalPacer(config)),
    lane: createLane(platform, slicer ?? createSlicer(platform)),
    work: createWorkInProgress(platform),
    waits: createWaits(platform),
    withheld,
    compose: runComposition,
    invokeWithin: (request, within) => run(invokeWithin(parts, request, within)),
    relyingParty: () => relyingPartyOf(baseUrl()),
    decisionUrl: (id) => pageUrl(`/console/approvals/${encodeURIComponent(id)}`),
    webhooks: startWebhooks({ ...given, store, ...notifyAll(watchers) }, upkeep),
    receipts: sealer && createReceiptSigner({ ...given, store, logs }),
  };
  const { parts, accounts, startEnds } = openAccounts(withoutAccounts, { baseUrl, pageUrl });
  await warn(parts, kept);
  const gate = gateOf(parts);
  // Discovery lists the bound methods and is one of them, so `methods` is filled after `documents`.
  const methods: Methods = {};
  const surfaces = new Map<string, string>();
  const documents = createDocuments({
    definition,
    keyring,
    baseUrl,
    basePath,
    surfaces,
    disclosure: config.disclosure,
    isGated: gate !== undefined,
    offered: () => Object.keys(methods) as OperationName[],
    slices: parts.lane.slices(),
    now: () => store.now(),
  });
  const trust = trustMethods(definition, documents, gate);
  Object.assign(methods, trust, authorityMethods(parts), approvalMethods(parts));
  const recovery = await recovering(parts, timing).catch(async (error) => {
    await parts.webhooks.stop();
    await sealer?.stop();
    throw error;
  });
  const [resuming, expiry] = [startResuming(parts, timing), startExpiry(parts, upkeep?.expiryMs)];
  ends = startEnds(upkeep?.accountsMs);
  const retention = startRetention({ ...erasing, ...parts, policy: config.retention });
  if (sealer) Object.assign(methods, checkpointMethods(parts, sealer));
  const health = healthOf(parts, sealer);
  return {
    methods,
    config,
    log,
    platform,
    baseUrl,
    basePath,
    ...definition.catalog,
    ...forPeople({ ...parts, ...health, ...site, pageUrl }, accounts),
    ...health,
    id: definition.id,
    gated: gate ? GATED : [],
    isConfigured: parts.identities.isConfigured,
    strangerTo: (name, ask) => strangerTo(parts, name, ask),
    unreadableMetrics: (ask) => unreadableMetrics(parts, ask),
    announce: (protocol, path) => void surfaces.set(protocol, path),
    watch: (watcher) => void watchers.add(watcher),
    watchAlarms: parts.alarms.watch,
    record: (act) => recordOwnAct(parts, act),
    release: () => parts.waits.stop(),
    async close(graceMs = config.stop_grace_seconds * 1_000) {
      await finishWork(parts, graceMs);
      parts.waits.stop();
      parts.settler.close();
      await Promise.all([expiry.stop(), parts.webhooks.stop()]);
      for (const last of [ends, resuming, recovery, retention, sealer]) await last?.stop();
    },
  };
}

function healthOf(
  parts: ServiceParts,
  sealer: Sealer | undefined,
): Pick<Runtime, 'sealing' | 'unready' | 'figures'> {
  const sealing = () => sealer?.state();
  const figures = createFigures(parts.store, parts.platform, sealing);
  return { sealing, unready: () => unready(parts, sealer), figures };
}

/** What decides whether people can sign in with keys and with passkeys. */
async function signInFacts(basePath: string, kept: readonly IdentityRecord[], store: Store) {
  const storesKeys = kept.some((each) => isHuman(each.principal) && !isPerson(each));
  const invited = await store.openInvitations(store.now(), 1);
  const storesPeople = invited.length > 0 || kept.some(isPerson);
  return { isMounted: basePath !== '', storesKeys, storesPeople };
}

function forPeople(
  given: Omit<ConsoleParts, 'startedAt'>,
  accounts: Accounts | undefined,
): Pick<Runtime, 'signIn' | 'people' | 'console' | 'accounts'> {
  const parts = { ...given, startedAt: given.store.now() };
  const signIn = createSignIn(parts);
  const { definition } = parts;
  const hasConsole = signIn !== undefined || parts.isIdentifiedByApp;
  const useless = [
    ...(hasConsole ? [] : unconfirmable(definition)),
    ...(signIn ? [] : unconnectable(definition)),
  ];
  for (const each of useless) parts.log.warn({}, each);
  return {
    signIn,
    people: signIn && createPeople(parts),
    console: hasConsole ? createConsole(parts) : undefined,
    accounts: signIn && accounts,
  };
}

/** Logs what an author or an operator should correct. No warning stops a start. */
async function warn(parts: ServiceParts, kept: readonly IdentityRecord[]): Promise<void> {
  const { definition, store, log, isIdentifiedByApp } = parts;
  const identities = [...parts.config.identities, ...kept];
  const settings = { ...parts.config, identities, isIdentifiedByApp };
  for (const each of startWarnings(definition, settings)) log.warn({}, each);
  try {
    for (const each of await upgradeWarnings(store, definition.catalog)) log.warn({}, each);
  } catch (error) {
    log.warn({ err: error }, 'could not compare the declarations with those of the last start');
  }
}

async function finishWork({ work, log }: ServiceParts, graceMs: number): Promise<void> {
  const left = await work.finish(graceMs);
  if (left > 0) log.warn({ left }, 'stopped while calls were still running');
}

function notifyAll(
  watchers: ReadonlySet<Watcher>,
): Omit<Watcher, 'invoked'> & Pick<ServiceParts, 'ended'> {
  const all = (notify: (watcher: Watcher) => void) => watchers.forEach(notify);
  return {
    ended: (invocation) => all((each) => each.invoked(invocation)),
    overran: (capability) => all((each) => each.overran(capability)),
    undelivered: (state) => all((each) => each.undelivered(state)),
  };
}

function recovering(parts: ServiceParts, timing: RuntimeOptions['recovery']) {
  const { store, platform, instanceId, log } = parts;
  return startRecovery({
    ...timing,
    platform,
    store,
    instanceId,
    close: closeAbandoned(parts),
    onRecovered: ({ closed, failed }) =>
      log.warn({ closed: closed.length, failed: failed.length }, 'closed abandoned calls'),
    onError: (error) => log.error({ err: error }, 'recovery failed'),
  });
}

/** Every known caller passes the gate. Capabilities have their own checks. */
function gateOf(parts: ServiceParts): Gate | undefined {
  if (parts.config.manifest_access === 'public') return undefined;
  return async (ask) => answered(parts, await callerOf(parts, ask), () => undefined);
}

async function unreadableMetrics(parts: ServiceParts, ask: Ask): Promise<Failure | undefined> {
  try {
    const judged = await callerOf(parts, ask);
    await answered(parts, judged, (caller) => refuse(notOperator(caller, 'metrics')));
    return undefined;
  } catch (error) {
    return failureOf('metrics', error, parts.log);
  }
}

async function unready(
  { store, keyring, withheld }: ServiceParts,
  sealer: Sealer | undefined,
): Promise<string[]> {
  await sealer?.look();
  const refused = withheld();
  const reasons = refused === undefined ? [] : [`log: ${refused}`];
  await store.probe().catch((error: Error) => reasons.push(`store: ${error.message}`));
  if (keyring.jwks().keys.length === 0) reasons.push('keys: none is published');
  const { waiting, overloaded } = store.backlog();
  if (overloaded)
    reasons.push(`log: ${countText(waiting, 'entry', 'entries')} wait for their place`);
  return reasons;
}
