/**
 * Identity providers of a service: those whose tokens it accepts, and those where people sign in.
 *
 * Both use the same documents and keys, which are fetched and cached once.
 *
 * @module
 */

import { pagesUrl } from '../../address/host.ts';
import type { ExternalIdentities } from '../authority/oidc.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { SignInParts } from './parts.ts';
import type { Providers } from './provider.ts';
import { hasSignIn } from './sessions.ts';

interface IdentityProviders {
  readonly external?: ExternalIdentities | undefined;
  readonly providers: Providers;
}

const NO_PROVIDERS: Providers = {
  all: () => [],
  find: () => undefined,
  ofIssuer: () => undefined,
};

/** Loads its files only when an issuer is configured: they import a library of their own. */
export async function openIdentityProviders({
  config: { oidc },
  store,
  log,
  platform,
  callOut: call,
}: Pick<
  ServiceParts,
  'config' | 'store' | 'log' | 'platform' | 'callOut'
>): Promise<IdentityProviders> {
  if (oidc.length === 0) return { providers: NO_PROVIDERS };
  const [{ createExternalIdentities }, { openIssuers }, { createProviders }] = await Promise.all([
    import('../authority/oidc.ts'),
    import('../authority/issuers.ts'),
    import('./provider.ts'),
  ]);
  const now = () => store.now();
  const issuers = openIssuers(oidc, { now, log, call });
  return {
    external: createExternalIdentities(issuers, now),
    providers: createProviders(issuers, { now, log, platform }),
  };
}

/** The addresses of pages. They contain no credential: a person who opens one signs in. */
export function pageUrls({
  baseUrl,
  ...parts
}: Pick<
  SignInParts,
  | 'config'
  | 'providers'
  | 'isMounted'
  | 'isIdentifiedByApp'
  | 'storesKeys'
  | 'storesPeople'
  | 'baseUrl'
>): (path: `/${string}`) => string | undefined {
  const hasOwn = hasSignIn(parts);
  return (path) => {
    // People whom the app signs in have the console and no other page.
    const isOffered = hasOwn || (parts.isIdentifiedByApp && path.startsWith('/console/'));
    const base = baseUrl();
    // On standard input and output a service has an address only where one is configured.
    return isOffered && /^https?:/.test(base) ? `${pagesUrl(base)}${path}` : undefined;
  };
}
