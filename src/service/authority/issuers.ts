/**
 * Issuers: the discovery document and the keys of each configured identity provider, fetched and cached,
 * and the check of a signature by them.
 *
 * Both documents are fetched together. A token with an unknown key causes a new fetch, at most one in half
 * a minute. While an issuer is down, its last documents are used for up to a day. Callers decide what the claims
 * of a verified token mean.
 *
 * @module
 */

import { isIP } from 'node:net';
import {
  createLocalJWKSet,
  decodeJwt,
  errors,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import { bareHost } from '../../address/host.ts';
import type { OidcIssuer } from '../../config/parts.ts';
import { SKEW_SECONDS } from '../../domain/authority/external-identity.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import { readJson } from '../../domain/wire/json.ts';
import type { Logger } from '../../log.ts';
import type { OutboundAnswer, OutboundRequest } from '../outbound/outbound.ts';

/** In milliseconds: documents are fetched again after this, so that a withdrawn key is dropped. */
const FRESH_MS = 600_000;

/** In milliseconds: the shortest time between two fetches. */
const REFETCH_MIN_MS = 30_000;

/** In milliseconds: how long the last documents are used while the issuer is down. */
const STALE_MAX_MS = 86_400_000;

const FETCH_TIMEOUT_MS = 5_000;
const DOCUMENT_BYTES_MAX = 262_144;

/** Characters of a foreign issuer name in a log line: enough to see a missing slash. */
const SHOWN_LENGTH_MAX = 200;

const TOKEN_LENGTH_MAX = 8_192;

const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

export interface Issuer {
  readonly rules: OidcIssuer;
  /** The discovery document, which names exactly this issuer. Refuses while the issuer is not reachable. */
  discovery(): Promise<Json>;
  /**
   * The header and the claims of a token that this issuer signed for the audience, by its admitted algorithms,
   * and that has not expired. Refuses every other one.
   */
  verified(token: string, checks: TokenChecks): Promise<VerifiedToken>;
  /** Sends a request to an endpoint of the issuer, with the bounds of all requests to it. */
  call(request: IssuerRequest): Promise<OutboundAnswer>;
}

export type Json = Readonly<Record<string, unknown>>;
type TokenChecks = Required<Pick<JWTVerifyOptions, 'audience' | 'requiredClaims'>>;
type IssuerRequest = Pick<OutboundRequest, 'url' | 'method' | 'headers' | 'body'>;

export interface VerifiedToken {
  readonly payload: JWTPayload;
  readonly protectedHeader: JWTHeaderParameters;
}

export interface IssuerParts {
  readonly now: () => Date;
  readonly log: Logger;
  /** Sends the requests to issuers. */
  readonly call: (request: OutboundRequest) => Promise<OutboundAnswer>;
}

/** The configured issuers by their exact names. */
export type Issuers = ReadonlyMap<string, Issuer>;

export function openIssuers(configured: readonly OidcIssuer[], parts: IssuerParts): Issuers {
  return new Map(configured.map((rules) => [rules.issuer, openIssuer(rules, parts)]));
}

function openIssuer(rules: OidcIssuer, parts: IssuerParts): Issuer {
  const bounds = {
    insideHosts: insideHosts(rules),
    timeoutMs: FETCH_TIMEOUT_MS,
    bytesMax: DOCUMENT_BYTES_MAX,
  };
  const call = (request: IssuerRequest) => parts.call({ ...request, ...bounds });
  const documents = cachedDocuments(rules.issuer, parts, () => fetchDocuments(rules.issuer, call));
  return {
    rules,
    call,
    discovery: async () => (await documents.current()).discovery,
    async verified(token, checks) {
      const options = {
        ...checks,
        issuer: rules.issuer,
        algorithms: [...rules.algorithms],
        clockTolerance: SKEW_SECONDS,
        currentDate: parts.now(),
      };
      const verify = ({ keySet }: Documents) => jwtVerify(token, keySet, options);
      return withKeys(documents, verify).catch((error: unknown) => {
        if (error instanceof Refusal) throw error;
        // Covers all errors: an issuer key that is too short or malformed causes a TypeError.
        throw new Refusal(unusableToken(reasonOf(error)), { cause: error });
      });
    },
  };
}

/** The issuer that a text claims. Nothing is verified yet. */
export function claimedIssuer(token: string): string | undefined {
  if (token.length > TOKEN_LENGTH_MAX || !COMPACT.test(token)) return undefined;
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

export function unusableToken(why: string) {
  return failure('authentication_required', `Cannot use the identity token: ${why}`);
}

/** Reads the body of an answer. Rejects what is not one JSON object. */
export function documentJson(body: Uint8Array): Json {
  const reading = readJson(body);
  if ('fault' in reading) throw new Error(reading.fault);
  if (typeof reading.value === 'object' && reading.value) return { ...reading.value };
  throw new Error('its answer is not a JSON object');
}

/** Verifies with the cached keys, and once more with newer ones when the key is unknown. */
async function withKeys<Result>(
  documents: CachedDocuments,
  verify: (documents: Documents) => Promise<Result>,
): Promise<Result> {
  const tried = await documents.current();
  try {
    return await verify(tried);
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    const newer = await documents.newerThan(tried);
    if (!newer) throw error;
    return verify(newer);
  }
}

interface Documents {
  readonly discovery: Json;
  readonly keySet: ReturnType<typeof createLocalJWKSet>;
}

interface CachedDocuments {
  /** Fresh ones, or the last ones while the issuer is down, up to their maximum age. */
  current(): Promise<Documents>;
  /** Those fetched after the tried ones. Fetches them, unless the last fetch was recent. */
  newerThan(tried: Documents): Promise<Documents | undefined>;
}

function cachedDocuments(
  issuer: string,
  { now, log }: IssuerParts,
  fetch: () => Promise<Documents>,
): CachedDocuments {
  let held: { documents: Documents; at: number } | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  let underWay: Promise<void> | undefined;

  /** Runs one fetch at a time, and none before the interval has passed. */
  function refetch(): Promise<void> {
    if (underWay !== undefined) return underWay;
    if (now().getTime() - triedAt < REFETCH_MIN_MS) return Promise.resolve();
    triedAt = now().getTime();
    underWay = fetch()
      .then(
        (documents) => {
          held = { documents, at: now().getTime() };
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
      if (held && age() <= STALE_MAX_MS) return held.documents;
      const detail = `Cannot check the identity token: issuer "${issuer}" is not reachable`;
      throw new Refusal(
        failure('service_unavailable', detail, { estimated_availability: 'PT30S' }),
      );
    },
    async newerThan(tried) {
      // Another call may have fetched them in the meantime.
      if (held?.documents === tried) await refetch();
      return held?.documents === tried ? undefined : held?.documents;
    },
  };
}

/** Rejects a malformed document, so that it never replaces a working one. */
async function fetchDocuments(issuer: string, call: Issuer['call']): Promise<Documents> {
  const discovery = await fetchJson(
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
    call,
  );
  if (discovery.issuer !== issuer) {
    const claimed = String(discovery.issuer).slice(0, SHOWN_LENGTH_MAX);
    throw new Error(`its discovery document is of "${claimed}"`);
  }
  const { keys } = await fetchJson(String(discovery.jwks_uri), call);
  if (!Array.isArray(keys)) throw new Error('its key set has no keys');
  return { discovery, keySet: createLocalJWKSet({ keys } as JSONWebKeySet) };
}

async function fetchJson(url: string, call: Issuer['call']): Promise<Json> {
  const { status, body } = await call({ url });
  if (status !== 200) throw new Error(`it answered ${status}`);
  return documentJson(body);
}

/**
 * A loopback or inside address in the configuration is allowed. A host name needs `inside_hosts`.
 */
function insideHosts({ issuer, inside_hosts }: OidcIssuer): string[] {
  const host = bareHost(new URL(issuer));
  return isIP(host) !== 0 || host === 'localhost' ? [...inside_hosts, host] : [...inside_hosts];
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'it has expired';
  if (error instanceof errors.JWTClaimValidationFailed)
    return `its claim "${error.claim}" does not fit`;
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not admitted';
  return 'its signature does not verify';
}
