/**
 * People who sign in with passkeys: what the console asks about them and is told.
 *
 * @module
 */

import * as z from 'zod';
import type { Passkey } from '../decision.ts';
import { IdentityAddRequest } from '../identity.ts';

/** Whom to invite, and to what. A person who is here already keeps what the person has. */
export const PersonInvite = IdentityAddRequest.omit({ key_sha256: true });
export type PersonInvite = z.output<typeof PersonInvite>;

export const InvitationId = z.string().regex(/^pin_[0-9a-f]{32}$/, 'expected an invitation id');

/** The answer to the one who invites: the only one that has link and code. */
export interface InvitedPerson extends InvitationView {
  readonly link: string;
  readonly code: string;
}

export interface InvitationView {
  readonly invitation_id: string;
  readonly principal: string;
  readonly invited_by: string;
  readonly expires_at: string;
}

export interface PersonView {
  readonly identity_id: string;
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly subjects: readonly string[];
  readonly created_at: string;
  readonly created_by: string;
}

export interface PeopleList {
  readonly people: readonly PersonView[];
  /** Open ones. */
  readonly invitations: readonly InvitationView[];
}

export interface DeviceList {
  readonly devices: readonly Passkey[];
}

/** A person who may approve was invited again, or enrolled by that; others can still object. */
export interface Recovery extends InvitationView {
  /** Until when the new passkey cannot approve; null while it is not made. */
  readonly waits_until: string | null;
}
