/**
 * Entries of sign-in: who signed in and out, and which person was refused. A session ends together with its
 * entry.
 *
 * @module
 */

import type { Failure } from '../../protocol/failure.ts';
import type { SessionRecord, SessionSelector } from '../../storage/port/sign-in-store.ts';
import { actEntry } from '../core/entries.ts';
import type { ServiceParts } from '../core/parts.ts';

interface SessionFacts {
  readonly failure?: Failure | undefined;
  readonly session_id?: string;
  readonly client_id?: string;
  /** Who ended a session. */
  readonly by?: 'person' | 'provider';
}

/** An act of a person in a browser. */
export function sessionEntry(
  parts: ServiceParts,
  { principal, issuer }: Pick<SessionRecord, 'principal' | 'issuer'>,
  verb: 'sign_in' | 'sign_out' | 'refused',
  { failure: refused, ...facts }: SessionFacts = {},
) {
  return actEntry(
    parts,
    { principal, root_principal: principal },
    {
      entry_type: 'session',
      detail: { verb, how: issuer ?? 'key', ...facts },
      ...(refused && { failure: refused }),
    },
  );
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
