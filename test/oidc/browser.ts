/**
 * Identity providers as the service uses them when people sign in with a browser.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { configOf } from '../../src/config/config.ts';
import { Refusal } from '../../src/domain/failure.ts';
import { createLog } from '../../src/log.ts';
import { system } from '../../src/platform.ts';
import { openIssuers } from '../../src/service/authority/issuers.ts';
import { callOut, type OutboundRequest } from '../../src/service/outbound/outbound.ts';
import { createProviders, type Provider } from '../../src/service/sign-in/provider.ts';
import { AUDIENCE, REDIRECT_URI, WEB_CLIENT, WEB_SECRET } from './provider.ts';

export const CLIENT = { client_id: WEB_CLIENT, client_secret: WEB_SECRET };

/** An issuer of the configuration that has `sign_in`. */
export function webIssuer(issuer: string, rules: object = {}, client: object = CLIENT) {
  return { issuer, audience: AUDIENCE, ...rules, sign_in: client };
}

/** The providers of a configuration, a clock that a test moves, and what was logged and sent. */
export function webProviders(oidc: readonly object[], change: Partial<OutboundRequest> = {}) {
  const lines: string[] = [];
  const sent: OutboundRequest[] = [];
  let offset = 0;
  const parts = {
    now: () => new Date(Date.now() + offset),
    log: createLog('debug', { write: (line: string) => void lines.push(line) }),
    platform: system,
  };
  const issuers = openIssuers(configOf({ oidc }, '.').oidc, {
    ...parts,
    call: (request) => {
      sent.push(request);
      return callOut(system, { ...request, ...change });
    },
  });
  const providers = createProviders(issuers, parts);
  return {
    providers,
    sent,
    /** The only provider, or the first. */
    provider: providers.all()[0] as Provider,
    log: () => lines.join(''),
    advance: (ms: number) => {
      offset += ms;
    },
  };
}

export const LOGIN = { redirectUri: REDIRECT_URI, returnTo: '/agents' };

/** The detail of the refusal. Fails when there is none, or when it or the log has a secret. */
export async function refusalOf(
  asked: Promise<unknown>,
  type = 'authentication_required',
): Promise<string> {
  const error = await asked.then(
    (value) => assert.fail(`not refused: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Refusal)) throw error;
  assert.equal(error.failure.type, type, error.failure.detail);
  return error.failure.detail;
}
