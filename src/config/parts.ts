/**
 * Schemas shared by settings: identities, rules about principals, issuers, and numbers that
 * may arrive as text.
 *
 * @module
 */

import * as z from 'zod';
import { entitlementFault, entitlementRuleFault } from '../domain/authority/entitlement.ts';
import { type ConditionsOf, readEntitled } from '../domain/authority/token-conditions.ts';
import { parseDuration } from '../domain/values/duration.ts';
import { readForeign } from '../domain/wire/foreign.ts';
import { BODY_LIMITS } from '../domain/wire/json.ts';
import { RateLimit } from '../protocol/capability.ts';
import { CallerClass } from '../protocol/primitives.ts';
import { OutsideUrl, VariableName } from './webhook.ts';

export const Text = z.string().min(1);

/** Characters on the button of a provider. */
const LABEL_LENGTH_MAX = 60;

const HexDigest = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 lower-case hex digits');

/** Conditions on the calls of every root token, by capability and path. */
const EntitledConditions = z
  .unknown()
  .transform((written, context): ConditionsOf | undefined => {
    const read = readEntitled(written ?? {});
    if ('conditions' in read) return written == null ? undefined : read.conditions;
    context.addIssue({ code: 'custom', message: read.fault });
    return z.NEVER;
  })
  .optional();

/** One bootstrap identity: principal, credential, and what it may put into root tokens. */
export const Identity = z
  .strictObject({
    principal: Text,
    key: Text.optional().describe('The credential itself. Prefer `key_sha256` outside of demos'),
    key_sha256: HexDigest.optional().describe('SHA-256 of the credential, in hex'),
    scopes: z.array(Text).default([]),
    subjects: z.array(Text).default([]),
    caller_class: CallerClass.default('default'),
    caller_classes: z.array(CallerClass).default([]),
    conditions: EntitledConditions,
    demo: z.boolean().default(false),
  })
  .refine((identity) => (identity.key === undefined) !== (identity.key_sha256 === undefined), {
    message: 'expected exactly one of "key" and "key_sha256"',
  })
  .superRefine((identity, context) => addFault(entitlementFault(identity), context));
export type Identity = z.output<typeof Identity>;

/** The entitlement of principals that match a pattern and authenticate in another way, such as OIDC. */
export const EntitlementRule = z
  .strictObject({
    principals: z.array(Text).min(1),
    scopes: z.array(Text).default([]),
    subjects: z.array(Text).default([]),
    caller_class: CallerClass.default('default'),
    caller_classes: z.array(CallerClass).default([]),
    conditions: EntitledConditions,
  })
  .superRefine((rule, context) => addFault(entitlementRuleFault(rule), context));
export type EntitlementRule = z.output<typeof EntitlementRule>;

/** A configuration file may be a program, so this checks that every store can keep the value. */
const JsonValue = z
  .unknown()
  .refine(
    (value) => 'value' in readForeign(value, BODY_LIMITS),
    'expected a JSON value without U+0000 and lone surrogates',
  );

/** The value derived for a principal, or the values it may choose from, by input name. */
export const ActorPolicyRule = z
  .strictObject({
    principals: z.array(Text).min(1),
    inputs: z.record(
      z.string(),
      z.strictObject({ value: JsonValue.optional(), allowed: z.array(JsonValue).optional() }),
    ),
  })
  .superRefine((rule, context) => addFault(entitlementRuleFault(rule), context));
export type ActorPolicyRule = z.output<typeof ActorPolicyRule>;

function addFault(found: ReturnType<typeof entitlementFault>, context: z.RefinementCtx): void {
  if (!found) return;
  context.addIssue({ code: 'custom', path: [found.field], message: found.fault });
}

/** This service as a client of an identity provider: people sign in there with a browser. */
export const ProviderClient = z
  .strictObject({
    client_id: Text,
    client_secret: Text.optional(),
    client_secret_env: VariableName.optional(),
    label: Text.max(LABEL_LENGTH_MAX).optional(),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'expected a scope without spaces'))
      .refine((scopes) => scopes.includes('openid'), 'expected "openid" among the scopes')
      .default(['openid', 'email']),
    check: z.enum(['refresh', 'none']).default('none'),
  })
  .refine(
    (client) => client.client_secret === undefined || client.client_secret_env === undefined,
    {
      message: 'expected at most one of "client_secret" and "client_secret_env"',
    },
  );
export type ProviderClient = z.output<typeof ProviderClient>;

/** An identity provider whose tokens are accepted as bootstrap credentials. */
export const OidcIssuer = z.strictObject({
  issuer: OutsideUrl,
  audience: Text,
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,31}$/, 'expected a lower-case word')
    .optional(),
  algorithms: z
    .array(z.enum(['ES256', 'RS256', 'PS256']))
    .min(1)
    .default(['ES256', 'RS256', 'PS256']),
  authorized_parties: z.array(Text).optional(),
  require_email_verified: z.boolean().default(false),
  email_domains: z.array(z.string().toLowerCase()).optional(),
  service_accounts: z
    .array(z.strictObject({ claim: Text, prefix: Text, class: z.enum(['agent', 'service']) }))
    .default([]),
  inside_hosts: z.array(Text).default([]),
  sign_in: ProviderClient.optional(),
});
export type OidcIssuer = z.output<typeof OidcIssuer>;

/** Environment variables are text, so digits are accepted as a number; other text is not. */
const Numeric = z.union(
  [
    z.number(),
    z
      .string()
      .regex(/^\d{1,15}(?:\.\d{1,15})?$/)
      .transform(Number),
  ],
  { error: 'expected a number' },
);
export function wholeNumber(min: number, max: number) {
  const error = `expected a whole number from ${min} to ${max}`;
  return Numeric.pipe(z.int({ error }).min(min, { error }).max(max, { error }));
}
export const PortNumber = wholeNumber(0, 65_535);
export const Count = Numeric.pipe(z.int().nonnegative());
const RATE_EXPECTED = 'expected <calls>/<duration>, such as 100/PT1M';
/** `100/PT1M`, or an object with both. */
export const Rate = z
  .union(
    [
      RateLimit,
      z
        .string()
        .regex(/^\d{1,9}\/\w+$/)
        .transform((text) => {
          const [limit = '', window = ''] = text.split('/');
          return { limit: Number(limit), window };
        })
        .pipe(RateLimit),
    ],
    { error: RATE_EXPECTED },
  )
  .refine(({ window }) => (parseDuration(window) ?? 0) > 0, RATE_EXPECTED);

export const Hours = Numeric.pipe(z.number().positive().max(87_600));
