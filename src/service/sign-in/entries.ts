/**
 * Entries of sign-in: who signed in and out, and which person was refused. A session ends together with its
 * entry.
 *
 * @module
 */

import { PASSKEY_ACCOUNT } from '../../domain/passkey/waiting.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { SessionRecord, SessionSelector } from '../../storage/port/sign-in-store.ts';
import { actEntry } from '../caller/entries.ts';
import type { ServiceParts } from '../operations/parts.ts';

interface SessionFacts {
  readonly failure?: Failure | undefined;
  readonly session_id?: string;
  readonly client_id?: string;
  readonly invitation_id?: string;
  /** Who ended a session. */
  readonly by?: 'person' | 'provider';
}

/** How a person proved who it is: the issuer, or the kind of credential. */
export function howOf({
  issuer,
  account_id,
}: Pick<SessionRecord, 'issuer' | 'account_id'>): string {
  return issuer ?? (account_id.startsWith(PASSKEY_ACCOUNT) ? 'passkey' : 'key');
}

/** An act of a person in a browser. */
export function sessionEntry(
  parts: ServiceParts,
  person: Pick<SessionRecord, 'principal' | 'issuer' | 'account_id'>,
  verb: 'sign_in' | 'sign_out' | 'refused',
  { failure: refused, ...facts }: SessionFacts = {},
) {
  return actEntry(
    parts,
    { principal: person.principal, root_principal: person.principal },
    {
      entry_type: 'session',
      detail: { verb, how: howOf(person), ...facts },
      ...(refused && { failure: refused }),
    },
  );
}

/**
 * Ends one session of any person, by an operator. The entry has the operator as its actor and belongs to the
 * person, who finds it among the own entries. False when there is no such living session.
 */
export async function endSessionAs(
  parts: ServiceParts,
  operator: string,
  session_id: string,
): Promise<boolean> {
  const ended = await parts.store.endSessions({ session_id }, parts.store.now(), (session) => {
    const { principal: root_principal } = session;
    const detail = { verb: 'sign_out', how: howOf(session), session_id, by: 'operator' };
    return actEntry(
      parts,
      { principal: operator, root_principal },
      { entry_type: 'session', detail },
    );
  });
  return ended.length > 0;
}

/** Ends the sessions that a selector names. */
export async function endSessions(
  parts: ServiceParts,
  selector: SessionSelector,
  by: 'person' | 'provider',
): Promise<void> {
  await parts.store.endSessions(selector, parts.store.now(), (ended) =>
    sessionEntry(parts, ended, 'sign_out', { session_id: ended.session_id, by }),
  );
}
