/**
 * The travel desk with identity providers configured.
 *
 * @module
 */

import { type TestService, testService } from '../support/world.ts';
import { AUDIENCE } from './provider.ts';

/** An issuer as the desk's configuration names it; `rules` adds to the mapping. */
export function issuerOf(issuer: string, rules: object = {}) {
  return { issuer, audience: AUDIENCE, service_accounts: SERVICE_ACCOUNTS, ...rules };
}

const SERVICE_ACCOUNTS = [
  { claim: 'client_id', prefix: 'svc-', class: 'service' },
  { claim: 'client_id', prefix: 'agent-', class: 'agent' },
];

/** Whoever the providers vouch for may search; one may book, by a rule that stands before. */
const ENTITLEMENTS = [
  { principals: ['human:ann@example.com'], scopes: ['travel.search', 'travel.book'] },
  { principals: ['human:*', 'service:*', 'agent:*', 'oidc:*'], scopes: ['travel.search'] },
];

export function desk(
  issuers: readonly object[],
  options: { settings?: object; store?: string } = {},
): Promise<TestService> {
  const settings = { oidc: issuers, entitlements: ENTITLEMENTS, ...options.settings };
  return testService({ ...options, settings });
}

/** What a credential gets at the desk: the answer, and the root principal of the issued token. */
export async function exchanged(service: TestService, bearer: string, request: object = {}) {
  const body = { scope: ['travel.search'], ...request };
  const answer = await service.ask('POST', '/svc/tokens', { bearer, body });
  if (answer.status !== 200) return { answer };
  const { token } = await service.store.load({ tokenId: answer.body.token_id });
  return { answer, token };
}

/** The principal that a credential is mapped to, or the type of the refusal. */
export async function principalAt(service: TestService, bearer: string): Promise<string> {
  const { answer, token } = await exchanged(service, bearer);
  return token?.root_principal ?? answer.body.failure.type;
}
