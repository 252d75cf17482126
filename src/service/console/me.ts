/**
 * Who is signed in, what this person may do, what every open page asks for again and again, and what the page
 * that verifies the log begins with.
 *
 * @module
 */

import {
  type Me,
  OPERATOR_RIGHTS,
  type Pulse,
  type TrustGround,
} from '../../protocol/console/views.ts';
import { type Caller, holdsScope } from '../caller/caller.ts';
import { passkeysOf } from '../passkey/keys.ts';
import { recoveriesFor } from '../people/people.ts';
import { isOfApp } from '../sign-in/app-session.ts';
import type { Session } from '../sign-in/sessions.ts';
import { countPending, decidable } from './approvals.ts';
import type { ConsoleParts } from './parts.ts';

export async function meOf(parts: ConsoleParts, caller: Caller, session: Session): Promise<Me> {
  const { definition, store } = parts;
  const { session_id, expires_at } = session.record;
  return {
    principal: caller.principal,
    service: definition.id,
    now: store.now().toISOString(),
    session: { session_id, expires_at: expires_at.toISOString(), is_of_app: isOfApp(session) },
    approves: decidable(parts, caller),
    operates: OPERATOR_RIGHTS.filter((right) => holdsScope(caller, `operator:${right}`)),
    has_approvals: [...definition.catalog.capabilities.values()].some((each) => each.approval),
    is_anchored: parts.sealing() !== undefined,
    has_reviews: definition.review !== undefined,
    passkeys: await passkeysOf(parts, caller.principal),
  };
}

/** Counting stops here. */
const PENDING_MAX = 100;

export async function pulseOf(parts: ConsoleParts, caller: Caller): Promise<Pulse> {
  const { definition, store } = parts;
  const [head, pending, recoveries] = await Promise.all([
    logHead(parts),
    countPending(parts, caller, PENDING_MAX),
    recoveriesFor(parts, caller),
  ]);
  return {
    now: store.now().toISOString(),
    pending,
    pending_max: PENDING_MAX,
    reviews: holdsScope(caller, 'operator:read') ? (definition.review?.waiting() ?? 0) : 0,
    ...head,
    recoveries,
  };
}

/** How long the log is, and its last checkpoint. */
export async function logHead({
  store,
}: ConsoleParts): Promise<Pick<Pulse, 'entries' | 'checkpoint'>> {
  const [{ size }, last] = await Promise.all([store.treeHead(), store.lastCheckpoint()]);
  const checkpoint = last && { sequence: last.sequence, created_at: last.created_at.toISOString() };
  return { entries: size, checkpoint: checkpoint ?? null };
}

/** Public by nature: a witness publishes its key, and its address is not part of it. */
export function trustOf({ definition, config }: ConsoleParts): TrustGround {
  return {
    service_id: definition.id,
    witness_keys: config.witnesses.map(({ vkey }) => vkey),
  };
}
