/**
 * Identity providers: verifies tokens of the configured issuers only.
 *
 * Keys come from the discovery document of the issuer and are cached. A token with an unknown key
 * causes a new fetch, at most one in half a minute. While an issuer is down, its last keys are used
 * for up to a day. An external token proves an identity; it is never a delegation token.
 *
 * @module
 */

import { isIP } from 'node:net';
import { createLocalJWKSet, decodeJwt, errors, type JSONWebKeySet, jwtVerify } from 'jose';
import type { OidcIssuer } from '../../config/parts.ts';
import {
  type Claims,
  principalOfClaims,
  SKEW_SECONDS,
  unfitToken,
} from '../../domain/authority/external-identity.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import { bareHost } from '../../domain/values/host.ts';
import { readJson } from '../../domain/wire/json.ts';
import type { Logger } from '../../log.ts';
import type { OutboundAnswer, OutboundRequest } from './outbound.ts';

/** In milliseconds: keys are fetched again after this, so that a withdrawn key is dropped. */
const FRESH_MS = 600_000;

/** In milliseconds: the shortest time between two fetches. */
const REFETCH_MIN_MS = 30_000;

/** In milliseconds: how long the last keys are used while the issuer is down. */
const STALE_MAX_MS = 86_400_000;

const FETCH_TIMEOUT_MS = 5_000;
const DOCUMENT_BYTES_MAX = 262_144;

/** Characters of a foreign issuer name in a log line: enough to see a missing slash. */
const SHOWN_LENGTH_MAX = 200;

const TOKEN_LENGTH_MAX = 8_192;

const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

export interface ExternalIdentities {
  /** The principal of an external token; `undefined` when no configured issuer made it. */
  principal(bearer: string): Promise<string | undefined>;
}

type CallOut = (request: OutboundRequest) => Promise<OutboundAnswer>;

/** `call` sends the requests to issuers. */
export function createExternalIdentities(
  issuers: readonly OidcIssuer[],
  now: () => Date,
  log: Logger,
  call: CallOut,
): ExternalIdentities {
  const known = new Map(
    issuers.map((rules) => [
      rules.issuer,
      { rules, keys: issuerKeys(rules.issuer, { now, log, fetch: () => fetchKeys(rules, call) }) },
    ]),
  );
  return {
    async principal(bearer) {
      const issuer = known.get(claimedIssuer(bearer) ?? '');
      if (!issuer) return undefined;
      const claims = await verifiedClaims(bearer, issuer.rules, issuer.keys, now);
      const principal = principalOfClaims(claims, issuer.rules);
      if (principal) return principal;
      throw new Refusal(unusable('its claims name no principal'));
    },
  };
}

/** The issuer that a text claims. Nothing is verified yet. */
function claimedIssuer(bearer: string): string | undefined {
  if (bearer.length > TOKEN_LENGTH_MAX || !COMPACT.test(bearer)) return undefined;
  try {
    return decodeJwt(bearer).iss;
  } catch {
    return undefined;
  }
}

async function verifiedClaims(
  bearer: string,
  rules: OidcIssuer,
  keys: IssuerKeys,
  now: () => Date,
): Promise<Claims> {
  const verify = (keySet: KeySet) =>
    jwtVerify(bearer, keySet, {
      issuer: rules.issuer,
      audience: rules.audience,
      algorithms: [...rules.algorithms],
      clockTolerance: SKEW_SECONDS,
      requiredClaims: ['exp', 'iat', 'sub'],
      currentDate: now(),
    });
  const { payload, protectedHeader } = await withKeys(keys, verify).catch((error: unknown) => {
    if (error instanceof Refusal) throw error;
    // Covers all errors: an issuer key that is too short or malformed causes a TypeError.
    throw new Refusal(unusable(reasonOf(error)), { cause: error });
  });
  const why = unfitToken({ typ: protectedHeader.typ, claims: payload }, rules, now());
  if (why) throw new Refusal(unusable(why));
  return payload;
}

/** Verifies with the cached keys, and once more with newer ones when the key is unknown. */
async function withKeys<Result>(
  keys: IssuerKeys,
  verify: (keySet: KeySet) => Promise<Result>,
): Promise<Result> {
  const tried = await keys.current();
  try {
    return await verify(tried);
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    const newer = await keys.newerThan(tried);
    if (!newer) throw error;
    return verify(newer);
  }
}

type KeySet = ReturnType<typeof createLocalJWKSet>;

interface IssuerKeys {
  /** Fresh keys, or the last ones while the issuer is down, up to their maximum age. */
  current(): Promise<KeySet>;
  /**
   * Keys that were fetched after the tried ones. Fetches them, unless the last fetch was recent.
   */
  newerThan(tried: KeySet): Promise<KeySet | undefined>;
}

interface KeySource {
  readonly now: () => Date;
  readonly log: Logger;
  readonly fetch: () => Promise<KeySet>;
}

function issuerKeys(issuer: string, { now, log, fetch }: KeySource): IssuerKeys {
  let held: { keySet: KeySet; at: number } | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<void> | undefined;

  /** Runs one fetch at a time, and none before the interval has passed. */
  function refetch(): Promise<void> {
    if (underWay !== undefined) return underWay;
    if (now().getTime() - triedAt < REFETCH_MIN_MS) return Promise.resolve();
    triedAt = now().getTime();
    underWay = fetch()
      .then(
        (keySet) => {
          held = { keySet, at: now().getTime() };
        },
        (error: Error) => log.warn({ issuer, why: error.message }, 'issuer not reached'),
      )
      .finally(() => {
        underWay = undefined;
      });
    return underWay;
  }

  const age = () => (held ? now().getTime() - held.at : Number.POSITIVE_INFINITY);
  return {
    async current() {
      if (age() > FRESH_MS) await refetch();
      if (held && age() <= STALE_MAX_MS) return held.keySet;
      const detail = `Cannot check the identity token: issuer "${issuer}" is not reachable`;
      throw new Refusal(
        failure('service_unavailable', detail, { estimated_availability: 'PT30S' }),
      );
    },
    async newerThan(tried) {
      // Another call may have fetched them in the meantime.
      if (held?.keySet === tried) await refetch();
      return held?.keySet === tried ? undefined : held?.keySet;
    },
  };
}

/** Rejects a malformed key set, so that it never replaces a working one. */
async function fetchKeys(rules: OidcIssuer, call: CallOut): Promise<KeySet> {
  const base = rules.issuer.replace(/\/$/, '');
  const ask = (url: string) => fetchJson(url, insideHosts(rules), call);
  const discovery = await ask(`${base}/.well-known/openid-configuration`);
  if (discovery.issuer !== rules.issuer) {
    const claimed = String(discovery.issuer).slice(0, SHOWN_LENGTH_MAX);
    throw new Error(`its discovery document is of "${claimed}"`);
  }
  const { keys } = await ask(String(discovery.jwks_uri));
  if (!Array.isArray(keys)) throw new Error('its key set has no keys');
  return createLocalJWKSet({ keys } as JSONWebKeySet);
}

/**
 * A loopback or inside address in the configuration is allowed. A host name needs `inside_hosts`.
 */
function insideHosts({ issuer, inside_hosts }: OidcIssuer): string[] {
  const host = bareHost(new URL(issuer));
  return isIP(host) !== 0 || host === 'localhost' ? [...inside_hosts, host] : [...inside_hosts];
}

async function fetchJson(
  url: string,
  insideHosts: readonly string[],
  call: CallOut,
): Promise<Record<string, unknown>> {
  const { status, body } = await call({
    url,
    insideHosts,
    timeoutMs: FETCH_TIMEOUT_MS,
    bytesMax: DOCUMENT_BYTES_MAX,
  });
  if (status !== 200) throw new Error(`it answered ${status}`);
  const reading = readJson(body);
  if ('fault' in reading) throw new Error(reading.fault);
  if (typeof reading.value === 'object' && reading.value) return { ...reading.value };
  throw new Error('its answer is not a JSON object');
}

function unusable(why: string) {
  return failure('authentication_required', `Cannot use the identity token: ${why}`);
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `its claim "${error.claim}" does not fit`;
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not admitted';
  return 'its signature does not verify';
}
