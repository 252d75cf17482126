/**
 * A guard that runs: follows its files and its upstream, and puts what changed into force without a restart.
 *
 * A policy that cannot be used changes nothing. A tool that changed is off at once, because the gate compares it
 * before each call; the reload afterwards makes that visible. Changes are worked off one at a time.
 *
 * @module
 */

import { sha256Hex } from '../../domain/wire/hash.ts';
import { printable } from '../../domain/wire/printable.ts';
import { inputFault } from '../../guard/declared.ts';
import { type Gate, openGate } from '../../guard/gate.ts';
import { type Pins, pinned, type ToolChange } from '../../guard/pins.ts';
import type { GuardPolicy } from '../../guard/policy/read.ts';
import type { UpstreamPolicy } from '../../guard/policy/upstream-schema.ts';
import { toolDigest, type Upstream } from '../../guard/upstream.ts';
import type { Platform } from '../../platform.ts';
import type { ToolServer } from '../../protocol/console/reviews.ts';
import type { AccountOptions } from '../../service/author/accounts.ts';
import type { ServiceDefinition } from '../../service/author/definition.ts';
import type { ReviewPort } from '../../service/author/review.ts';
import type { OwnAct } from '../../service/caller/own-act.ts';
import { watchFiles } from '../shell/watch.ts';
import { toolReviews } from './changed.ts';
import { type GuardFiles, type Reviewed, readGuardFiles, writeLock } from './files.ts';
import { createJobs, type Jobs } from './jobs.ts';
import { type GuardState, hasSameUpstream, isSameService, stateOf } from './state.ts';
import { offLines } from './welcome.ts';

/** In milliseconds: an upstream reports several changes in a row. */
const PAUSE_MS = 200;

/** In milliseconds: an upstream that reports changes without end fills neither the log nor the screen. */
const REST_MS = 5_000;

/** The running service of the guard. */
interface Followed {
  reload(definition: ServiceDefinition): Promise<void>;
  record(act: OwnAct): Promise<void>;
}

export interface LiveOptions {
  readonly files: GuardFiles;
  readonly platform: Platform;
  open(policy: UpstreamPolicy): Upstream | Promise<Upstream>;
  /** The account that each person has at the upstream. Throws where its secret is not there. */
  account?(policy: GuardPolicy): AccountOptions | undefined;
  /** Prints lines for the person at the terminal. */
  tell(text: string): void;
  /** Called after something else came into force. */
  onChange?(state: GuardState): Promise<void>;
}

export interface LiveGuard {
  state(): GuardState;
  /** From now on changes take effect and leave entries. */
  follow(service: Followed): Promise<void>;
  close(): Promise<void>;
}

interface Live extends LiveOptions {
  current: GuardState | undefined;
  service: Followed | undefined;
  readonly jobs: Jobs;
  /** The faults of the policy that was refused last. */
  refused: string;
  /** Of policies before, while their calls end. */
  readonly retiring: Set<Gate>;
  /** Reviews whose entries exist already. */
  readonly recorded: Set<string>;
}

/** Rejects with one line for each fault when the files cannot be used. */
export async function openLiveGuard(options: LiveOptions): Promise<LiveGuard> {
  const { files, platform, tell } = options;
  const failed = (error: unknown) => tell(`Cannot follow a change: ${reasonOf(error)}\n`);
  const jobs = createJobs(() => refresh(live), failed, {
    platform,
    pauseMs: PAUSE_MS,
    restMs: REST_MS,
  });
  const live: Live = {
    ...options,
    current: undefined,
    service: undefined,
    jobs,
    refused: '',
    retiring: new Set(),
    recorded: new Set(),
  };
  const first = readGuardFiles(files);
  if ('faults' in first) throw new Error(first.faults.join('\n'));
  const started = await load(live, first);
  live.current = started;
  const ends: (() => void)[] = [];
  return {
    state: () => live.current ?? started,
    async follow(service) {
      live.service = service;
      await record(live, started);
      const watch = watchFiles([files.policy, files.lock], platform, () => void jobs.run());
      ends.push(watch.close);
      // The files may have changed since they were read.
      await jobs.run();
    },
    async close() {
      for (const end of ends) end();
      await jobs.close();
      await Promise.all([...live.retiring].map((gate) => gate.close()));
      await live.current?.gate.close();
    },
  };
}

async function load(live: Live, reviewed: Reviewed): Promise<GuardState> {
  const { current: before, platform } = live;
  const account = live.account?.(reviewed.policy);
  const isSame = before !== undefined && hasSameUpstream(before.reviewed, reviewed);
  const gate = isSame
    ? before.gate
    : openGate(await live.open(reviewed.policy.upstream), platform, live.jobs.soon);
  try {
    return await stateOf(reviewed, { gate, account, review: reviewOf(live) }, before);
  } catch (error) {
    if (!isSame) await gate.close();
    throw error;
  }
}

async function refresh(live: Live): Promise<void> {
  const { files, service, current: before } = live;
  if (!service || !before) return;
  const read = readGuardFiles(files);
  if ('faults' in read) return refuse(live, read.faults);
  let next: GuardState | undefined;
  try {
    next = await load(live, read);
    if (!isSameService(next, before)) await service.reload(next.definition);
  } catch (error) {
    if (next && next.gate !== before.gate) await next.gate.close();
    return refuse(live, reasonOf(error).split('\n'));
  }
  live.current = next;
  live.refused = '';
  if (next.gate !== before.gate) retire(live, before.gate);
  await record(live, next, before);
  await live.onChange?.(next);
}

/** Calls of the definition before are finished by the upstream that has them. */
function retire({ retiring, tell }: Live, gate: Gate): void {
  retiring.add(gate);
  const failed = (error: unknown) =>
    tell(`Cannot end an upstream: ${printable(reasonOf(error))}\n`);
  void gate
    .retire()
    .catch(failed)
    .finally(() => retiring.delete(gate));
}

/** What was in force before stays in force. The same faults are reported once. */
async function refuse(live: Live, faults: readonly string[]): Promise<void> {
  const text = faults.map((fault) => `${printable(fault)}\n`).join('');
  if (text === live.refused) return;
  live.refused = text;
  live.tell(`${text}The policy before stays in force.\n`);
  const about = { faults: faults.length, first: faults[0] ?? '' };
  await live.service?.record({ verb: 'guard_policy_refused', about });
}

async function record(live: Live, now: GuardState, before?: GuardState): Promise<void> {
  const isNewPolicy = now.reviewed.texts.policy !== before?.reviewed.texts.policy;
  const reviews = before ? reviewActs(before.reviewed.pins, now.reviewed.pins) : [];
  const acts = [
    ...(isNewPolicy ? [loadedAct(now)] : []),
    ...reviews.filter(({ about }) => !live.recorded.delete(reviewName(about))),
    ...changeActs(now, before),
  ];
  if (isNewPolicy && before) live.tell(`The changed policy is in force.\n${offLines(now)}`);
  for (const act of acts) {
    if (act.verb === 'guard_tool_off' && before) live.tell(offLine(act));
    await live.service?.record(act);
  }
}

function loadedAct({ reviewed, definition, off }: GuardState): OwnAct {
  const offered = [...definition.catalog.capabilities.keys()];
  const policy_sha256 = sha256Hex(reviewed.texts.policy);
  return {
    verb: 'guard_policy_loaded',
    about: { policy_sha256, offered, off: [...off.keys()] },
  };
}

function offLine({ about: { tool, change } }: OwnAct): string {
  return `${printable(`Off: "${tool}" (${change}): writ guard review`)}\n`;
}

/** What the console shows and accepts. */
function reviewOf(live: Live): ReviewPort {
  return {
    changes: async () => toolReviews(live.current?.changes ?? []),
    waiting: () => (live.current?.changes ?? []).filter(({ isNamed }) => isNamed).length,
    servers: () => (live.current ? [serverOf(live.current)] : []),
    async accept(name, digest, by) {
      const { files, platform, current } = live;
      const listing = await current?.gate.listing();
      if (!listing || 'fault' in listing) {
        throw new Error('the upstream does not answer; a tool is reviewed only as it is now');
      }
      const tool = listing.tools.find((each) => each.name === name && toolDigest(each) === digest);
      if (!tool) throw new Error(`the tool "${name}" is not the one that was shown; look again`);
      const fault = inputFault(tool);
      if (fault !== undefined) throw new Error(`the tool "${name}" cannot be offered: ${fault}`);
      const read = readGuardFiles(files);
      if ('faults' in read) throw new Error(read.faults[0]);
      const at = new Date(platform.now());
      // The service has recorded it before it asked here.
      live.recorded.add(reviewName({ tool: name, digest }));
      await writeLock(files, pinned(read.pins, [tool], { at, who: by }));
      await live.jobs.run();
    },
  };
}

/** Why it cannot be asked stays in the log: the reason may quote what the upstream printed. */
function serverOf({ reviewed, listing }: GuardState): ToolServer {
  const { command, url, origin } = reviewed.policy.upstream;
  const where = command?.join(' ') ?? url ?? origin ?? '';
  return { where, tools: 'tools' in listing ? listing.tools.length : null };
}

function reviewName({ tool, digest }: OwnAct['about']): string {
  return `${digest} ${tool}`;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Entries of one comparison. One more entry has the number of the others. */
const CHANGES_MAX = 20;

/** A tool whose change is worth an entry: the policy names it, or the upstream added it while the guard ran. */
function changeActs(now: GuardState, before: GuardState | undefined): OwnAct[] {
  const known = new Set((before?.changes ?? []).map(changeText));
  const fresh = now.changes.filter(
    (change) =>
      !known.has(changeText(change)) &&
      (change.isNamed || (before !== undefined && 'tools' in before.listing)),
  );
  const more = fresh.length - CHANGES_MAX;
  const acts = fresh.slice(0, CHANGES_MAX).map(changeAct);
  if (more <= 0) return acts;
  const about = { tool: `and ${more} more`, change: 'see "writ guard review"' };
  return [...acts, { verb: 'guard_tool_off', about }];
}

/** An act for each tool that a person reviewed since. */
function reviewActs(before: Pins, now: Pins): OwnAct[] {
  return [...now.tools]
    .filter(([name, { digest }]) => before.tools.get(name)?.digest !== digest)
    .slice(0, CHANGES_MAX)
    .map(([tool, { digest, reviewedBy }]) => ({
      verb: 'guard_tool_reviewed',
      about: { tool, digest, reviewed_by: reviewedBy },
    }));
}

function changeAct({ name, kind, digest, parts }: ToolChange): OwnAct {
  const changed = parts.map(({ part }) => part);
  const [first] = parts;
  return {
    verb: 'guard_tool_off',
    about: {
      tool: name,
      change: kind,
      ...(digest !== undefined && { digest }),
      ...(changed.length > 0 && { parts: changed }),
      ...(first && { before: first.before, now: first.now }),
    },
  };
}

function changeText({ name, kind, digest = '' }: ToolChange): string {
  return JSON.stringify([name, kind, digest]);
}
