/**
 * Identities in the store: operators add, list and remove them while the service runs (decision 08).
 *
 * The maker sends the SHA-256 of a key, so the service never sees the key. Adding takes a credential in person: a
 * token ends, and must leave nothing behind that does not. Each change writes its entry together with its row.
 *
 * @module
 */

import {
  type Entitlement,
  entitlementFault,
  secondName,
  widerIdentity,
} from '../../domain/authority/entitlement.ts';
import { failure, Refusal, refuse } from '../../domain/failure.ts';
import type { EntryRecord } from '../../domain/log/entry.ts';
import type { Failure } from '../../protocol/failure.ts';
import type {
  IdentityAdded,
  IdentityRemoveAnswer,
  IdentityRemoved,
  StoredIdentity,
} from '../../protocol/identity.ts';
import type { IdentityRecord } from '../../storage/port/identity-store.ts';
import type { Store } from '../../storage/port/store.ts';
import { answered, audited, inLane } from '../caller/audited.ts';
import { acted, actorOf, type Caller, callerOf } from '../caller/caller.ts';
import { actEntry } from '../caller/entries.ts';
import { type Answer, type Ask, requestOf } from '../operations/operations.ts';
import { createPage, cursorPosition } from '../operations/page.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { newId } from '../operations/random.ts';
import { frozenFor, notOperator } from './freeze.ts';
import { isPerson, STORED_IDENTITIES_MAX } from './identities.ts';

/** Identities in one read. Verifying the MAC of each takes about 30 microseconds. */
const READ_MAX = 32;

/** Reads for one answer. A longer list continues on the next page. */
const READS_MAX = 64;

/** What making or removing an identity needs, also in a command at the store. */
export type IdentityParts = Pick<ServiceParts, 'store' | 'platform'>;

/** Who makes or removes an identity, as the entry names it. */
type Actor = Pick<Caller, 'principal' | 'root_principal'>;

export async function addIdentity(parts: ServiceParts, ask: Ask): Promise<StoredIdentity> {
  return audited(parts, await callerOf(parts, ask), 'operator', async (caller) => {
    refuse(notOperator(caller, 'identities'));
    const maker = entitlementInPerson(caller);
    refuse(await frozenFor(parts, caller.root_principal));
    const request = requestOf('identities.add', ask);
    const identity = newIdentity(parts, request, maker);
    refuse(unusableIdentity(identity));
    refuse(widerIdentity(maker, identity));
    refuse(await approvingName(parts, maker, identity));
    if (parts.identities.isConfiguredDigest(request.key_sha256)) throw new Refusal(takenKey());
    refuse(await storeIdentity(parts, identity, caller));
    return identityView(identity);
  });
}

export async function approvingName(
  { identities }: Pick<ServiceParts, 'identities'>,
  { principal: maker }: Entitlement,
  { principal: made }: Pick<IdentityRecord, 'principal'>,
): Promise<Failure | undefined> {
  const approves = {
    maker: await identities.mayApprove(maker),
    made: await identities.mayApprove(made),
  };
  return secondName(maker, made, approves);
}

export function entitlementInPerson(caller: Caller): Entitlement {
  if (caller.kind === 'identity') return caller.entitlement;
  const detail =
    'Cannot add an identity with a token: the token ends and the identity does not; use your own credential';
  throw new Refusal(failure('not_entitled', detail));
}

type Optional<Kept> = { readonly [Field in keyof Kept]?: Kept[Field] | undefined };
type NewIdentity = Pick<IdentityRecord, 'principal'> &
  Optional<
    Pick<IdentityRecord, 'key_sha256' | 'scopes' | 'subjects' | 'caller_class' | 'caller_classes'>
  >;

/** The record of a request. What the request leaves out is empty, and the class is that of the maker. */
export function newIdentity(
  { store, platform }: IdentityParts,
  request: NewIdentity,
  maker: Pick<Entitlement, 'principal' | 'caller_class'>,
): IdentityRecord {
  const once = (texts: readonly string[] = []) => [...new Set(texts)];
  return {
    identity_id: newId(platform, 'idn_'),
    key_sha256: request.key_sha256,
    principal: request.principal,
    scopes: once(request.scopes),
    subjects: once(request.subjects),
    caller_class: request.caller_class ?? maker.caller_class,
    caller_classes: once(request.caller_classes),
    created_at: store.now(),
    created_by: maker.principal,
  };
}

/** A part that could never match anything. */
export function unusableIdentity(
  identity: Pick<IdentityRecord, 'principal' | 'scopes' | 'subjects'>,
): Failure | undefined {
  const found = entitlementFault(identity);
  if (!found) return undefined;
  const detail = `Cannot add the identity: ${found.field}: ${found.fault}`;
  return failure('invalid_parameters', detail);
}

/** Stores the identity with its entry, or returns why the store did not take it. */
export async function storeIdentity(
  parts: IdentityParts,
  identity: IdentityRecord,
  by: Actor,
): Promise<Failure | undefined> {
  const entry = addedEntry(parts, identity, by);
  const outcome = await parts.store.insertIdentity(identity, entry, STORED_IDENTITIES_MAX);
  if (outcome === 'inserted') return undefined;
  if (outcome === 'taken') return takenKey();
  const detail = `Cannot add the identity: the store has ${STORED_IDENTITIES_MAX}; remove one first`;
  return failure('not_entitled', detail);
}

function takenKey(): Failure {
  const detail = 'Cannot add the identity: another one has or had this key; make a new key';
  return failure('invalid_parameters', detail);
}

export function addedEntry(parts: IdentityParts, identity: IdentityRecord, by: Actor): EntryRecord {
  const {
    identity_id,
    key_sha256 = null,
    principal,
    scopes,
    subjects,
    caller_class,
    caller_classes,
  } = identity;
  const detail: IdentityAdded = {
    verb: 'identity_added',
    identity_id,
    key_sha256,
    principal,
    caller_class,
    scopes: [...scopes],
    subjects: [...subjects],
    caller_classes: [...caller_classes],
  };
  return actEntry(parts, by, { entry_type: 'operator', detail });
}

export async function listIdentities(parts: ServiceParts, ask: Ask): Promise<Answer> {
  return answered(parts, await callerOf(parts, ask), async (caller) => {
    refuse(notOperator(caller, 'identities'));
    const { removed, limit, cursor } = requestOf('identities.list', ask);
    let after = cursorPosition(cursor, (text) => (ID.test(text) ? text : undefined));
    return inLane(parts, caller, ask, async (slices) => {
      const page = createPage<StoredIdentity>('identities', limit);
      let isFull = false;
      for (let reads = 0; reads < READS_MAX && !isFull; reads++) {
        await slices.turn();
        const found = await parts.store.listIdentities(READ_MAX, after);
        await slices.each(found.identities, (identity) => {
          const isShown = removed || identity.removed_at === undefined;
          isFull = isShown && !page.add(identityView(identity));
          if (!isFull) after = identity.identity_id;
          return !isFull;
        });
        if (isFull) break;
        after = found.next;
        if (after === undefined) break;
      }
      return page.answer({ next_cursor: after ?? null });
    });
  });
}

const ID = /^idn_[0-9a-f]{32}$/;

export async function removeIdentity(parts: ServiceParts, ask: Ask): Promise<IdentityRemoveAnswer> {
  return audited(parts, await callerOf(parts, ask), 'operator', async (caller) => {
    refuse(notOperator(caller, 'identities'));
    const { identity_id } = requestOf('identities.remove', ask);
    const removed = acted(await endKey(parts, identity_id, caller, actorOf(caller)));
    // A row that was altered outside the service ends, and what it says is not shown.
    const isShown = removed?.mac !== undefined;
    return { removed: removed !== undefined, identity: isShown ? identityView(removed) : null };
  });
}

/** As `endIdentity`. Refuses a person, whose invitation and passkeys would stay. */
export function endKey(
  parts: IdentityParts,
  identityId: string,
  by: Actor,
  actor?: string,
): ReturnType<Store['removeIdentity']> {
  return endIdentity(parts, identityId, by, { actor, judge: demandKey });
}

/** A row that was altered outside the service has no MAC here, and ends whatever it says. */
function demandKey(kept: IdentityRecord): void {
  if (kept.mac === undefined || !isPerson(kept)) return;
  const detail = `Cannot remove the identity: it is the person ${kept.principal}; remove the person with "writ people remove" or at the console`;
  throw new Refusal(failure('invalid_parameters', detail));
}

interface Ending {
  /** The token of the caller. */
  readonly actor?: string | undefined;
  /** Refuses an identity that is not to end. */
  judge?(kept: IdentityRecord): void;
}

/** Removes an identity with its entry; `undefined` when there is none, or it was removed before. */
export function endIdentity(
  parts: IdentityParts,
  identityId: string,
  by: Actor,
  { actor, judge }: Ending = {},
): ReturnType<Store['removeIdentity']> {
  const now = parts.store.now();
  const detail: IdentityRemoved = { verb: 'identity_removed', identity_id: identityId };
  return parts.store.removeIdentity(
    identityId,
    (kept) => {
      judge?.(kept);
      return { ...kept, removed_at: now, removed_by: by.principal };
    },
    () => actEntry(parts, by, { entry_type: 'operator', token_id: actor, detail }),
    actor,
  );
}

/** Every identity in the store that is not removed, in the order of their ids. */
export async function livingIdentities({
  store,
}: Pick<IdentityParts, 'store'>): Promise<IdentityRecord[]> {
  const living: IdentityRecord[] = [];
  let after: string | undefined;
  do {
    const page = await store.listIdentities(PAGE, after);
    living.push(...page.identities.filter(({ removed_at }) => removed_at === undefined));
    after = page.next;
  } while (after !== undefined);
  return living;
}

/** Identities in one read of all. */
const PAGE = 500;

export function identityView(identity: IdentityRecord): StoredIdentity {
  const { identity_id, key_sha256 = null, principal, caller_class, created_by } = identity;
  const { scopes, subjects, caller_classes, removed_by = null } = identity;
  return {
    identity_id,
    key_sha256,
    principal,
    caller_class,
    scopes: [...scopes],
    subjects: [...subjects],
    caller_classes: [...caller_classes],
    created_at: identity.created_at.toISOString(),
    created_by,
    removed_at: identity.removed_at?.toISOString() ?? null,
    removed_by,
  };
}
