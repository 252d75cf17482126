/**
 * Ends what a run began: revokes its tokens, where the service can.
 *
 * @module
 */

import { isSuccess } from './target/outcome.ts';
import { wireUntil } from './target/wire.ts';
import type { Issued, World } from './target/world.ts';

export interface Cleanup {
  /** Tokens that were revoked, with everything below them. */
  readonly revoked: number;
  /** Tokens that the service did not revoke: they end by themselves. */
  readonly left: number;
  /** Approval requests that were made. */
  readonly requests: number;
}

/** In milliseconds: a service that is slow or busy is asked no longer than this. */
const END_MS_MAX = 2 * 60_000;

/** Ends every token of the run, and its connections. Never rejects. */
export async function endAll(world: World): Promise<Cleanup> {
  // A case that was stopped may be about to get one more.
  await world.wire.settled();
  // The end of a token is the end of those below it.
  const roots = world.issued.filter(({ isBelow }) => !isBelow);
  const bounded = { ...world, wire: wireUntil(world.wire, AbortSignal.timeout(END_MS_MAX)) };
  let revoked = 0;
  for (const issued of roots) if (await isRevoked(bounded, issued)) revoked += 1;
  world.wire.close();
  return { revoked, left: roots.length - revoked, requests: world.requests.length };
}

/** By the bearer that got it, else by one of the two credentials. */
async function isRevoked({ wire, service, self, other }: World, issued: Issued): Promise<boolean> {
  const path = service.endpoints.get('tokens_revoke');
  if (path === undefined) return false;
  const bearers = new Set([issued.bearer, self.credential, other.credential]);
  for (const bearer of bearers) {
    const asked = { path, bearer, body: { token_id: issued.id }, isNeeded: true };
    const answer = await wire.ask(asked).catch(() => undefined);
    if (answer && isSuccess(answer)) return true;
  }
  return false;
}
