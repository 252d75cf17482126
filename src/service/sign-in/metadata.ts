/**
 * What clients read before they ask: metadata of the authorization server (RFC 8414) and of the protected
 * resource (RFC 9728).
 *
 * @module
 */

import { namedAs, namesOf } from '../../address/host.ts';
import { isGivable } from '../../domain/sign-in/givable.ts';
import type { Capability } from '../../protocol/capability.ts';

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** The addresses that name this service as the resource of a request. */
export function resourcesOf(baseUrl: string): readonly string[] {
  return namesOf(baseUrl).flatMap((name) => [name, `${name}/mcp`, `${name}/svc`]);
}

export function serverMetadata(baseUrl: string, facts: { readonly registers: boolean }) {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/authorize`,
    token_endpoint: `${baseUrl}/token`,
    revocation_endpoint: `${baseUrl}/revoke`,
    ...(facts.registers && { registration_endpoint: `${baseUrl}/register` }),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', TOKEN_EXCHANGE],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    authorization_details_types_supported: ['writ_delegation'],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
  };
}

/** A client compares the resource with the address it uses, so it has the name of the request. */
export function resourceMetadata(
  baseUrl: string,
  { path, host }: AskedResource,
  scopes: readonly string[],
) {
  return {
    resource: `${namedAs(baseUrl, host)}${path}`,
    authorization_servers: [baseUrl],
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
  };
}

/** A path of the service, and the name under which a request asked for it. */
export interface AskedResource {
  readonly path: string;
  readonly host: string | undefined;
}

/** Where the metadata of a resource is. */
export function metadataUrl(baseUrl: string, { path, host }: AskedResource): string {
  const suffix = path === '/mcp' ? path : '';
  return `${namedAs(baseUrl, host)}/.well-known/oauth-protected-resource${suffix}`;
}

/** The scopes that consent can give, in the order of the catalog. */
export function grantableScopes(capabilities: Iterable<Capability>): string[] {
  const scopes = [...capabilities].flatMap(({ minimum_scope }) => minimum_scope);
  return [...new Set(scopes)].filter(isGivable);
}
