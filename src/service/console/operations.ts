/**
 * Operations: the state of the service, its keys, settings, identities and sessions, for operators.
 *
 * Reading takes `operator:read`, ending a session `operator:revoke`. No answer contains a secret: settings are
 * named one by one, and of keys and credentials only what identifies them is shown.
 *
 * @module
 */

import { refuse } from '../../domain/failure.ts';
import { readVkey } from '../../domain/log/note-key.ts';
import { packageManifest } from '../../package.ts';
import type { ConsoleRequest } from '../../protocol/console/methods.ts';
import type {
  IdentityList,
  KeyView,
  Operations,
  SessionList,
} from '../../protocol/console/views.ts';
import type { StoredSession } from '../../storage/port/sign-in-store.ts';
import { storeKind } from '../../storage/store-kind.ts';
import { notOperator } from '../authority/freeze.ts';
import { livingIdentities } from '../authority/stored-identities.ts';
import { audited, inLane } from '../caller/audited.ts';
import { type Asking, type Caller, callerOf } from '../caller/caller.ts';
import { type Ask, consoleRequestOf } from '../operations/operations.ts';
import { cursorPosition } from '../operations/page.ts';
import { endSessionAs, howOf } from '../sign-in/entries.ts';
import type { Session } from '../sign-in/sessions.ts';
import { logHead } from './me.ts';
import type { ConsoleParts } from './parts.ts';

/** Reads for one page of sessions. A read may find only ended ones. */
const READS_MAX = 32;

export async function operationsOf(parts: ConsoleParts, caller: Caller): Promise<Operations> {
  refuse(notOperator(caller, 'read'));
  const { store, config, keyring } = parts;
  const unready = await parts.unready();
  const sealing = parts.sealing();
  return {
    now: store.now().toISOString(),
    version: packageManifest().version,
    node: process.versions.node,
    store: storeKind(config.store),
    unready,
    started_at: parts.startedAt.toISOString(),
    log: {
      ...(await logHead(parts)),
      waiting: store.backlog().waiting,
      is_anchored: sealing !== undefined,
      refused: sealing?.refused ?? null,
      witnesses: config.witnesses.map(({ vkey }) => readVkey(vkey)?.name ?? ''),
    },
    keys: [...keyring.states(), ...keyring.rows.states()].map(
      ({ kid, use, state, since, until }): KeyView => ({
        kid,
        use,
        state,
        since: since?.toISOString() ?? null,
        until: until?.toISOString() ?? null,
      }),
    ),
    settings: settingsOf(parts),
  };
}

/** Each setting is named here, so that a new one is never shown by accident. */
function settingsOf({ config, definition }: ConsoleParts): Operations['settings'] {
  const rate = ({ limit, window }: { limit: number; window: string }) => `${limit}/${window}`;
  const { sign_in, rate_limit } = config;
  return {
    host: config.host,
    port: config.port,
    workers: config.workers,
    trust_level: definition.trust.level,
    // Where rotation happens: `writ keys rotate` for a folder, the variables of the environment otherwise.
    keys: config.token_keys === undefined ? 'folder' : 'environment',
    mark: config.mark === undefined ? 'none' : 'set',
    log_level: config.log_level,
    max_ttl_hours: config.max_ttl_hours,
    max_delegation_depth: config.max_delegation_depth,
    rate_limits: config.rate_limits,
    principal_rate: rate(config.principal_rate),
    address_rate: rate(config.address_rate),
    ...(rate_limit && { rate_limit: rate(rate_limit) }),
    manifest_access: config.manifest_access,
    session_hours: sign_in.session_hours,
    idle_minutes: sign_in.idle_minutes,
    access_minutes: sign_in.access_minutes,
    registration: sign_in.registration,
    stop_grace_seconds: config.stop_grace_seconds,
    webhooks: config.webhooks.length,
  };
}

export async function identityList(parts: ConsoleParts, caller: Caller): Promise<IdentityList> {
  refuse(notOperator(caller, 'read'));
  const { config } = parts;
  const configured = config.identities.map(
    ({ principal, scopes, subjects, caller_class, demo }) => ({
      principal,
      scopes,
      subjects,
      caller_class,
      is_demo: demo,
      stored: null,
    }),
  );
  const stored = (await livingIdentities(parts)).map(
    ({ principal, scopes, subjects, caller_class, identity_id, created_by }) => ({
      principal,
      scopes,
      subjects,
      caller_class,
      is_demo: false,
      stored: { identity_id, created_by },
    }),
  );
  return {
    identities: [...configured, ...stored],
    rules: config.entitlements.map(({ principals, scopes, subjects, caller_class }) => ({
      principals,
      scopes,
      subjects,
      caller_class,
      is_demo: false,
    })),
    issuers: config.oidc.map(({ issuer }) => issuer),
  };
}

export async function sessionsOf(
  parts: ConsoleParts,
  { caller, ask, session }: Asking & { readonly session: Session },
  { limit, cursor }: ConsoleRequest<'operations.sessions'>,
): Promise<SessionList> {
  refuse(notOperator(caller, 'read'));
  const { store } = parts;
  let after = cursorPosition(cursor, (text) =>
    /^ses_[0-9a-f]{32}$/.test(text) ? text : undefined,
  );
  return inLane(parts, caller, ask, async (slices) => {
    const found: StoredSession[] = [];
    for (let reads = 0; reads < READS_MAX; reads++) {
      await slices.turn();
      const page = await store.livingSessions(store.now(), limit - found.length, after);
      found.push(...page.sessions);
      after = page.next;
      if (after === undefined || found.length >= limit) break;
    }
    const own = session.record.session_id;
    return { sessions: found.map((each) => sessionView(each, own)), next_cursor: after ?? null };
  });
}

function sessionView(
  { session, seen_at }: StoredSession,
  own: string,
): SessionList['sessions'][number] {
  const { session_id, principal, user_agent } = session;
  return {
    session_id,
    principal,
    user_agent,
    how: howOf(session),
    created_at: session.created_at.toISOString(),
    seen_at: seen_at.toISOString(),
    expires_at: session.expires_at.toISOString(),
    is_this: session_id === own,
  };
}

export async function endAnySession(parts: ConsoleParts, ask: Ask): Promise<{ ended: boolean }> {
  return audited(parts, await callerOf(parts, ask), 'session', async (caller) => {
    refuse(notOperator(caller, 'revoke'));
    const { session_id } = consoleRequestOf('operations.end_session', ask);
    return { ended: await endSessionAs(parts, caller.principal, session_id) };
  });
}
