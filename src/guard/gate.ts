/**
 * The gate before an upstream: passes a call only to a tool that is still the one that was reviewed.
 *
 * Whenever the tools may have changed, and whenever the upstream was away, the gate lists them again before the
 * next call passes. Knows no policy: it compares a tool with the digest of what a person reviewed.
 *
 * @module
 */

import type { Platform } from '../platform.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import { NoEffect } from '../service/author/handler.ts';
import { toolDigest, type Upstream, type UpstreamCall, type UpstreamTool } from './upstream.ts';

/** What an upstream offers, or one line that says why it cannot be asked. */
export type Listing = { readonly tools: readonly UpstreamTool[] } | { readonly fault: string };

export interface Gate {
  /** The tools as they are now. Lists them again where they may have changed, or could not be listed. */
  listing(): Promise<Listing>;
  /** Lists the tools again, also where no change was reported. */
  relist(): Promise<Listing>;
  /** False once the upstream is known to offer another tool under this name, or none. */
  isCurrent(tool: UpstreamTool): boolean;
  call(call: UpstreamCall): Promise<JsonObject>;
  /** Ends the upstream when its calls have ended: each one has a deadline. */
  retire(): Promise<void>;
  /** Ends the upstream, also in the middle of a call. */
  close(): Promise<void>;
}

/** In milliseconds: an upstream that is away is asked again no sooner, however many calls come. */
const RETRY_MS = 1_000;

/** Listings in a row that a further change makes useless. Then the gate stays closed until the next call. */
const LISTINGS_MAX = 4;

interface Known {
  readonly listing: Listing;
  readonly digests: ReadonlyMap<string, string>;
  readonly at: number;
}

export function openGate(
  upstream: Upstream,
  { monotonic }: Pick<Platform, 'monotonic'>,
  onChange: () => void,
): Gate {
  let known: Known | undefined;
  let running: Promise<Known> | undefined;
  let changes = 0;
  const calls = new Set<Promise<JsonObject>>();
  upstream.watch(() => {
    changes += 1;
    known = undefined;
    onChange();
  });

  async function list(): Promise<Known> {
    for (let tries = 0; tries < LISTINGS_MAX; tries++) {
      const before = changes;
      const listing = await listingOf(upstream);
      if (changes === before) return kept(listing);
    }
    return kept({ fault: 'its tools change faster than they can be listed' });
  }

  function kept(listing: Listing): Known {
    known = { listing, digests: digestsOf(listing), at: monotonic() };
    return known;
  }

  /** One listing at a time, shared by all who wait. */
  function listed(): Promise<Known> {
    running ??= list().finally(() => {
      running = undefined;
    });
    return running;
  }

  function current(): Promise<Known> | Known {
    if (!known) return listed();
    const isFresh = 'tools' in known.listing || monotonic() - known.at < RETRY_MS;
    return isFresh ? known : listed();
  }

  return {
    listing: async () => (await current()).listing,
    relist: async () => (await listed()).listing,
    isCurrent: (tool) =>
      !known || 'fault' in known.listing || known.digests.get(tool.name) === digestOf(tool),
    async call(call) {
      const { listing, digests: live } = await beforeAbort(current(), call.signal);
      // The fault itself is for the operator: it may quote what the upstream printed.
      if ('fault' in listing) throw away('it does not list its tools');
      if (live.get(call.tool.name) !== digestOf(call.tool)) throw changed();
      const calling = upstream.call(call);
      calls.add(calling);
      return calling.finally(() => calls.delete(calling));
    },
    async retire() {
      while (calls.size > 0) await Promise.allSettled(calls);
      await upstream.close();
    },
    close: () => upstream.close(),
  };
}

async function listingOf(upstream: Upstream): Promise<Listing> {
  try {
    return { tools: await upstream.tools() };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

function digestsOf(listing: Listing): ReadonlyMap<string, string> {
  if ('fault' in listing) return new Map();
  return new Map(listing.tools.map((tool) => [tool.name, digestOf(tool)]));
}

/** Digests of tools in use: a call must not compute one anew. */
const digests = new WeakMap<UpstreamTool, string>();

function digestOf(tool: UpstreamTool): string {
  const digest = digests.get(tool) ?? toolDigest(tool);
  digests.set(tool, digest);
  return digest;
}

/** A call never waits for a listing beyond its own deadline. */
async function beforeAbort<Value>(value: Promise<Value> | Value, signal: AbortSignal) {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(away('it did not list its tools before the deadline of the call'));
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    if (signal.aborted) stop();
    return await Promise.race([value, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function away(why: string): NoEffect {
  const detail = `Cannot reach the upstream: ${why}; nothing happened`;
  return new NoEffect(detail, 'service_unavailable', { estimated_availability: 'PT1M' });
}

function changed(): NoEffect {
  return new NoEffect(
    'Cannot pass on the call: the upstream changed this tool, and a person has to review it; nothing happened',
    'service_unavailable',
  );
}
