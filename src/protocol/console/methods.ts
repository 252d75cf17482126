/**
 * The methods of the console's own API, each with the schema of its request. `views.ts` has what they answer.
 *
 * Only the pages of the service call them, with the cookie of a session. What a page can also ask an operation
 * for, it asks the operation for (`CONSOLE_OPERATIONS`).
 *
 * @module
 */

import * as z from 'zod';
import { AuditQuery } from '../audit.ts';
import { GrantType } from '../failure.ts';
import type { OperationName } from '../operations.ts';
import { PasskeyAssertion } from '../passkey.ts';
import {
  boundedText,
  CapabilityName,
  Cursor,
  HexHash,
  ID_LENGTH_MAX,
  JsonObject,
  Nothing,
  optional,
  Principal,
  pageSize,
  TokenId,
  VISIBLE_LINE,
} from '../primitives.ts';
import { InvitationId, PersonInvite } from './people.ts';

/** Items of a page of any list in the console. */
const PAGE_MAX = 100;
const PAGE_DEFAULT = 25;

/** UTF-16 units of the name that a person gives a passkey. */
export const PASSKEY_LABEL_MAX = 64;

const page = { limit: pageSize(PAGE_MAX, PAGE_DEFAULT), cursor: optional(Cursor) };
const approval = { approval_request_id: boundedText(ID_LENGTH_MAX) };

export const consoleMethods = {
  /** Who is signed in, and what this person may do. */
  me: Nothing,
  /** What every open page asks for again and again. */
  pulse: Nothing,
  /** Pending requests that the person may decide, the next to expire first. */
  inbox: z.strictObject(page),
  /** Everything that a person needs to decide one request. */
  decision: z.strictObject(approval),
  /** What a passkey signs for one decision. */
  'decision.challenge': z.strictObject({
    ...approval,
    decision: z.enum(['approve', 'deny']),
    /** With `approve`: the terms, as in the request of a grant. */
    grant_type: optional(GrantType),
    session_id: optional(boundedText(ID_LENGTH_MAX)),
    expires_in_seconds: optional(z.number().positive()),
    max_uses: optional(z.int().positive()),
  }),
  'passkeys.list': Nothing,
  /** What the browser needs to make a passkey. */
  'passkeys.begin': Nothing,
  'passkeys.add': z.strictObject({
    label: boundedText(PASSKEY_LABEL_MAX).regex(VISIBLE_LINE, 'expected visible characters'),
    /** As `passkeys.begin` gave it. */
    challenge: boundedText(2_000),
    /** Base64url, as the browser made them. */
    client_data: boundedText(4_000),
    authenticator_data: boundedText(4_000),
    /** By a key that counts already, over the same challenge: then the new one counts at once. */
    confirmed_by: optional(PasskeyAssertion),
  }),
  'passkeys.remove': z.strictObject({ credential_id: boundedText(1_400) }),
  /** The root tokens of a person, newest first, each with the tree below it. */
  agents: z.strictObject({
    ...page,
    /** Another person's, for operators. */
    root_principal: optional(Principal),
    ended: optional(z.boolean()),
  }),
  /** The children of one token, where a tree shows only some. */
  'agents.children': z.strictObject({ token_id: TokenId, ...page }),
  /** What ends when a token is revoked. */
  'agents.ends': z.strictObject({ token_id: TokenId }),
  /** A page of the log with the filters of `audit.query`: entries under this token and the tokens below it. */
  'activity.entries': AuditQuery.extend({ token_id: TokenId }),
  /** Spending and refusals by day, from a bounded number of the newest entries. */
  'activity.days': z.strictObject({
    capability: optional(CapabilityName),
    /** Calls under this token and the tokens below it. */
    token_id: optional(TokenId),
    root_principal: optional(Principal),
  }),
  /** One invocation with everything that belongs to it. */
  'activity.invocation': z.strictObject({ invocation_id: boundedText(ID_LENGTH_MAX) }),
  /** A dry run with the authority of the person. */
  try: z.strictObject({ capability: CapabilityName, parameters: JsonObject }),
  /** What a page verifies the log with: the name of the service, and the keys of its witnesses. */
  trust: Nothing,
  /** Health, readiness, log and keys; for operators. */
  operations: Nothing,
  'operations.identities': Nothing,
  'operations.sessions': z.strictObject(page),
  'operations.end_session': z.strictObject({ session_id: boundedText(ID_LENGTH_MAX) }),
  /** People who sign in with passkeys, and open invitations; for operators. */
  'people.list': Nothing,
  'people.devices': z.strictObject({ principal: Principal }),
  /** Makes a link and a code. No right to approve, and nobody who has it. */
  'people.invite': PersonInvite,
  /** Ends an invitation, and the passkey that it enrolled while that does not count. */
  'people.cancel': z.strictObject({ invitation_id: InvitationId }),
  'people.remove': z.strictObject({ principal: Principal }),
  'people.remove_device': z.strictObject({
    principal: Principal,
    credential_id: boundedText(1_400),
  }),
  /** Tools of others that changed since their review; for operators, where the service has such tools. */
  reviews: Nothing,
  /** Accepts a tool as the page showed it. */
  'reviews.accept': z.strictObject({ name: boundedText(ID_LENGTH_MAX), digest: HexHash }),
} as const satisfies Record<string, z.ZodType>;

export type ConsoleMethodName = keyof typeof consoleMethods;
export type ConsoleRequest<Name extends ConsoleMethodName> = z.output<
  (typeof consoleMethods)[Name]
>;
export type ConsoleInput<Name extends ConsoleMethodName> = z.input<(typeof consoleMethods)[Name]>;

/**
 * The operations that a page may ask for. None of them makes a token or runs a capability: a session must not
 * turn into authority that outlives it.
 */
export const CONSOLE_OPERATIONS = [
  'discovery',
  'jwks',
  'manifest',
  'graph',
  'graph.get',
  'tokens.get',
  'tokens.revoke',
  'approval_grants.issue',
  'approval_requests.list',
  'approval_requests.get',
  'approval_requests.deny',
  'audit.query',
  'checkpoints.list',
  'checkpoints.get',
  'operator.freeze',
  'operator.unfreeze',
  'operator.frozen',
  'operator.indeterminate',
  'operator.reconcile',
  'operator.checkpoints',
  'operator.deliveries',
] as const satisfies readonly OperationName[];

export type ConsoleOperation = (typeof CONSOLE_OPERATIONS)[number];
