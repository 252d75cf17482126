/**
 * Acts of a random walk on sessions, consents, passkeys, identities and connected accounts.
 *
 * @module
 */

import type { ConnectedRecord } from '../../../../src/storage/port/connected-store.ts';
import type { IdentityRecord } from '../../../../src/storage/port/identity-store.ts';
import type { PasskeyRecord } from '../../../../src/storage/port/passkey-store.ts';
import type { ConsentRecord, SessionRecord } from '../../../../src/storage/port/sign-in-store.ts';
import { rootToken } from '../../../../src/testing/fixtures.ts';
import {
  accessToken,
  accountOf,
  connected,
  consentBeside,
  identity,
  passkey,
  rotated,
  session,
} from '../../../../src/testing/sign-in.ts';
import { type Act, actorOf, later, limits, logged, PEOPLE, pickOf, type World } from './world.ts';

/** What people made in one walk. */
interface People {
  readonly sessions: SessionRecord[];
  readonly consents: ConsentRecord[];
  readonly passkeys: PasskeyRecord[];
  readonly identities: IdentityRecord[];
  readonly connected: ConnectedRecord[];
}

const MADE = new WeakMap<World, People>();

function peopleOf(world: World): People {
  const made = MADE.get(world) ?? {
    ...{ sessions: [], consents: [], passkeys: [], identities: [], connected: [] },
  };
  MADE.set(world, made);
  return made;
}

export const PEOPLE_ACTS: Readonly<Record<string, Act>> = {
  beginSession(world) {
    const { random, now } = world;
    const { sessions } = peopleOf(world);
    const before = random.chance(10) ? pickOf(world, sessions) : undefined;
    const begun = session({
      ...{ principal: random.pick(PEOPLE), created_at: now, expires_at: later(world, 40) },
      ...{ sub: `sub-${random.below(3)}`, account_id: `account-${random.below(3)}` },
      ...(before && { secret_hash: before.secret_hash }),
    });
    sessions.push(begun);
    const made = logged(world, { entry_type: 'session' });
    return (store) => store.beginSession(begun, accountOf(begun), made, 2);
  },

  sessions(world) {
    const { random, now } = world;
    const one = pickOf(world, peopleOf(world).sessions);
    if (!one) return undefined;
    const { session_id, principal, issuer = '', sub = '', sid = '', account_id } = one;
    const selector = random.pick([
      { session_id },
      { principal },
      { issuer, sub },
      { issuer, sub, sid },
    ] as const);
    const ends = random.chance(25);
    const entries = new Map(
      peopleOf(world).sessions.map((each) => [each.session_id, logged(world)]),
    );
    const next = accountOf(one, { checked_at: now, ended_at: now });
    return async (store) => [
      await store.touchSession(session_id, now),
      await store.findSession(one.secret_hash),
      await store.listSessions(principal, now, 2),
      (await store.livingSessions(now, 2, session_id)).sessions,
      await store.findAccount(account_id),
      await store.replaceAccount(next, one.created_at),
      ends &&
        (
          await store.endSessions(selector, now, (each) => {
            return entries.get(each.session_id) ?? logged(world);
          })
        ).length,
    ];
  },

  insertConsent(world) {
    const { random, now } = world;
    const { consents } = peopleOf(world);
    const token = rootToken({ ...limits(world), root_principal: random.pick(PEOPLE) });
    const taken = random.chance(10) ? pickOf(world, consents) : undefined;
    const consent = consentBeside(token, {
      ...{ created_at: now },
      ...(taken && { code_hash: taken.code_hash }),
    });
    consents.push(consent);
    const made = logged(world, { entry_type: 'issuance' });
    return async (store) => {
      await store.insertConsent(consent, token, made);
      if (!world.tokens.includes(token)) world.tokens.push(token);
    };
  },

  renewConsent(world) {
    const { random, now } = world;
    const consent = pickOf(world, peopleOf(world).consents);
    const token = world.tokens.find(({ token_id }) => token_id === consent?.token_id);
    if (!consent || !token) return undefined;
    const child = accessToken(token, { issued_at: now, expires_at: later(world, 60) });
    const made = logged(world, { entry_type: 'issuance' });
    const isStale = random.chance(30);
    const { principal, consent_id, code_hash, token_id } = consent;
    return async (store) => {
      const kept = (await store.findConsent({ consent_id })) ?? consent;
      const seen = isStale ? consent : kept;
      const bounds = { now, childrenMax: 3 };
      return [
        await store.renewConsent(rotated(kept, now), seen, child, made, bounds),
        await store.findConsent({ code_hash }),
        await store.findConsent({ token_id }),
        await store.listConsents(principal, 2, consent),
      ];
    };
  },

  passkeys(world) {
    const { random, now } = world;
    const { passkeys } = peopleOf(world);
    const before = pickOf(world, passkeys);
    const added = passkey({
      ...{ principal: random.pick(PEOPLE), created_at: now },
      ...(before && random.chance(10) && { credential_id: before.credential_id }),
    });
    const removes = before && random.chance(40);
    if (!removes) passkeys.push(added);
    const isStale = random.chance(20);
    const made = logged(world, { entry_type: 'session' });
    return async (store) => {
      if (removes) return store.removePasskey(before, now, made);
      const listed = await store.listPasskeys(added.principal, 99);
      const seen = isStale ? [] : listed.map((each) => each.passkey.credential_id);
      return [listed, await store.insertPasskey(added, made, seen)];
    };
  },

  identities(world) {
    const { random, now } = world;
    const { identities } = peopleOf(world);
    const before = pickOf(world, identities);
    const added = identity({
      ...{ principal: random.pick(PEOPLE), created_at: now },
      ...(before && random.chance(10) && { key_sha256: before.key_sha256 }),
    });
    const removes = before && random.chance(40);
    if (!removes) identities.push(added);
    const made = logged(world, { entry_type: 'operator' });
    const gone = { removed_at: now, removed_by: 'human:ann', mac: 'kid.gone' };
    const { actor } = actorOf(world);
    return async (store) => [
      await (removes
        ? store.removeIdentity(
            before.identity_id,
            (kept) => ({ ...kept, ...gone }),
            () => made,
            actor,
          )
        : store.insertIdentity(added, made, 4)),
      await store.findIdentity(added.key_sha256),
      await store.identitiesOf(added.principal, 2),
      (await store.listIdentities(3, before?.identity_id)).identities,
    ];
  },

  connected(world) {
    const { random, now } = world;
    const { connected: made } = peopleOf(world);
    const before = pickOf(world, made);
    const place = { principal: random.pick(PEOPLE), account: random.pick(['a', 'b']) };
    const record = connected({ ...place, connected_at: now });
    made.push(record);
    const entries = [logged(world), logged(world)] as const;
    const [ends, isStale] = [random.chance(30), random.chance(20)];
    return async (store) => {
      const kept = await store.findConnected(record);
      const seen = isStale ? before?.connection_id : kept?.connection_id;
      const next = { ...record, version: 2, renewing_until: undefined };
      return [
        kept,
        await store.connect(record, seen, entries[0]),
        before && (await store.replaceConnected({ ...before, version: 9 }, before)),
        await store.replaceConnected(next, record),
        ends && (await store.endConnected(record, record, entries[1])),
        await store.listConnected(3, before),
      ];
    };
  },
};
