/**
 * Settings of sign-in: sessions, the clients that may ask for a delegation, when a person signs in again, and
 * the client secrets at identity providers.
 *
 * @module
 */

import * as z from 'zod';
import { bareHost, isLoopback, openHost, type Reached } from '../address/host.ts';
import { isScopePattern } from '../domain/authority/scope-pattern.ts';
import { readConfiguredClient } from '../domain/sign-in/client.ts';
import { type OidcIssuer, Text, wholeNumber } from './parts.ts';

const REDIRECTS_MAX = 20;
const NAME_LENGTH_MAX = 200;

/** In minutes: 30 days. */
const MINUTES_MAX = 43_200;

const Host = z
  .string()
  .refine((text) => URL.canParse(`https://${text}`) && new URL(`https://${text}`).host === text, {
    message: 'expected a host in lower case, such as app.example',
  });

/** A client that needs no metadata document and no registration. */
export const SignInClient = z
  .strictObject({
    client_id: Text.max(NAME_LENGTH_MAX),
    name: Text.max(NAME_LENGTH_MAX),
    redirect_uris: z.array(Text).min(1).max(REDIRECTS_MAX),
  })
  .superRefine((client, context) => {
    const read = readConfiguredClient(client);
    if ('client' in read) return;
    context.addIssue({ code: 'custom', message: read.fault.description });
  });

/** What a consent to these scopes needs: a recent sign-in, or one of a certain strength. */
export const StepUpRule = z
  .strictObject({
    scopes: z.array(Text.refine(isScopePattern, 'expected a scope, prefix.* or word:*')).min(1),
    max_age_minutes: wholeNumber(1, MINUTES_MAX).optional(),
    acr: z.string().regex(/^\S+$/, 'expected one value without spaces').optional(),
  })
  .refine(({ max_age_minutes, acr }) => max_age_minutes !== undefined || acr !== undefined, {
    message: 'expected "max_age_minutes", "acr" or both',
  });

export const SignInSettings = z.strictObject({
  session_hours: wholeNumber(1, 720).default(12).describe('How long a session lasts at most'),
  idle_minutes: wholeNumber(1, MINUTES_MAX)
    .default(60)
    .describe('A session ends when its browser has asked for nothing for so long'),
  access_minutes: wholeNumber(1, 60)
    .default(15)
    .describe('How long an access token lives; the client renews it with its refresh token'),
  clients: z
    .array(SignInClient)
    .refine((clients) => new Set(clients.map((each) => each.client_id)).size === clients.length, {
      message: 'expected a client_id of its own for each client',
    })
    .default([])
    .describe('Clients that are known without a metadata document'),
  registration: z
    .enum(['on', 'off'])
    .default('off')
    .describe('Whether any client may register itself (RFC 7591)'),
  metadata_hosts: z
    .array(Host)
    .optional()
    .describe('The hosts whose client metadata documents are accepted; without it, any'),
  inside_hosts: z
    .array(Host)
    .default([])
    .describe('Those of them that may resolve to a private or local address'),
  step_up: z
    .array(StepUpRule)
    .default([])
    .describe('Which scopes need a recent or a stronger sign-in'),
});

type Issuers = readonly OidcIssuer[];

/** The session cookie would travel in the clear. */
export function insecureSignIn(config: Reached & { readonly oidc: Issuers }): string | undefined {
  const provider = config.oidc.find((each) => each.sign_in !== undefined);
  const open = openHost(config);
  if (provider === undefined || open === undefined) return undefined;
  const { public_url } = config;
  if (public_url?.startsWith('https:')) return undefined;
  // A proxy of this machine may reach a loopback public_url, whatever the service listens on.
  if (public_url !== undefined && isLoopback(bareHost(new URL(public_url)))) return undefined;
  return `Cannot offer sign-in with "${provider.issuer}" on "${open}": expected a public_url with https (http is accepted on a loopback address only)`;
}

/** Puts the secrets in place that the environment has. A variable that is not set is a fault. */
export function withClientSecrets(
  oidc: Issuers,
  environment: Readonly<Record<string, string | undefined>>,
): { oidc: OidcIssuer[]; faults: string[] } {
  const faults: string[] = [];
  const filled = oidc.map((issuer) => {
    const variable = issuer.sign_in?.client_secret_env;
    if (issuer.sign_in === undefined || variable === undefined) return issuer;
    const client_secret = environment[variable];
    if (client_secret) return { ...issuer, sign_in: { ...issuer.sign_in, client_secret } };
    faults.push(
      `Cannot sign in with "${issuer.issuer}": the variable "${variable}" (client_secret_env) is not set`,
    );
    return issuer;
  });
  return { oidc: filled, faults };
}
