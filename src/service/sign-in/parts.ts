/**
 * The parts of sign-in: what its files share.
 *
 * A person signs in with a browser and gives clients delegations. The way of one delegation:
 *
 * 1. `sessions.ts` knows who sits at the browser. `provider.ts` asks the identity provider.
 * 2. `clients.ts` finds out which program asks, and where its answers go.
 * 3. `authorize.ts` shows what the program may get, and stores what the person gave.
 * 4. `token.ts` hands out access tokens for it, first for a code, then for refresh tokens.
 *    `accounts.ts` asks each time whether the person may still sign in.
 * 5. `agents.ts` shows a person what is alive, and ends it.
 *
 * `exchange.ts` gives a service that acts for a person a narrower token. `sign-in.ts` binds all of it.
 *
 * @module
 */

import type { ServiceParts } from '../operations/parts.ts';
import type { Providers } from './provider.ts';

export interface SignInParts extends ServiceParts {
  readonly providers: Providers;
  /** Where callers reach the service. It is the issuer of all answers. */
  baseUrl(): string;
  /** An app decides who reaches a mounted service, so the setting `host` says nothing. */
  readonly isMounted: boolean;
  /** Whether a person had a key in the store when the service started. */
  readonly storesKeys: boolean;
  /** Whether the store had an invited person or an open invitation when the service started. */
  readonly storesPeople: boolean;
}
