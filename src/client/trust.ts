/**
 * Trust: accepts a manifest only when a known key signed it.
 *
 * With pins, the known keys are those that the caller has from another source. Without, they are those of the
 * first contact: the client detects a service that is replaced later, but not one that was false from
 * the start. It accepts another key only when a known one signed it as its successor. It follows successors
 * from the first pins each time, so it forgets a successor that the service has withdrawn.
 *
 * @module
 */

import { readJson } from '../domain/wire/json.ts';
import type { Manifest } from '../protocol/trust.ts';
import { verifyManifest } from '../verify/manifest.ts';
import type { Report } from '../verify/report.ts';
import { followKeys } from '../verify/successors.ts';
import type { WholeAnswer } from './exchange.ts';
import type { Refused, Succeeded } from './reply.ts';

/** Milliseconds for which a manifest is used. Short, because a service may change its contract. */
const MANIFEST_AGE_MAX_MS = 300_000;

/**
 * No known key signed what the service published. The caller must not use it.
 *
 * @example
 * import { createService, mount } from 'writ';
 * import { createClient, UntrustedService } from 'writ/client';
 *
 * const service = createService({ id: 'demo', capabilities: [] });
 * const desk = await mount(service, { prefix: '/desk', settings: { store: 'memory:' } });
 * const near: typeof fetch = (input, init) => desk.fetch(new Request(input, init));
 * const pins = ['thumbprint-of-another-service'];
 * const client = createClient({ url: 'http://127.0.0.1/desk', fetch: near, pins });
 * const error = await client.manifest().catch((reason) => reason);
 * if (error instanceof UntrustedService) console.log(error.message);
 * await desk.close();
 */
export class UntrustedService extends Error {
  override readonly name = 'UntrustedService';
}

export interface TrustOptions {
  readonly pins?: readonly string[] | undefined;
  readonly serviceId?: string | undefined;
  now(): Date;
  /** Fetches a document, or returns why there is none. */
  fetchDocument(name: 'jwks' | 'manifest'): Promise<WholeAnswer | Refused>;
}

export interface Trust {
  /** The verified manifest, a few minutes old at most. Throws `UntrustedService`. */
  manifest(): Promise<Succeeded<Manifest> | Refused>;
  /** Whether the expected service is known: by pins, by its id, or from the first contact. */
  knowsWhom(): boolean;
  /** The trusted thumbprints with their successors; none before the first contact. */
  pins(): readonly string[];
  /** Forgets the fetch, so that the next caller fetches again. */
  forget(): void;
}

export function createTrust(options: TrustOptions): Trust {
  let { pins: firstPins, serviceId } = options;
  let pins = firstPins ?? [];
  let held: { reply: Promise<Succeeded<Manifest> | Refused>; at: number } | undefined;

  async function load(): Promise<Succeeded<Manifest> | Refused> {
    const jwks = await options.fetchDocument('jwks');
    if ('ok' in jwks) return jwks;
    const signed = await options.fetchDocument('manifest');
    if ('ok' in signed) return signed;

    const keys = await followKeys({ jwks: parsed(jwks), pinned: firstPins ?? 'all' });
    if ('fault' in keys) throw new UntrustedService(`Cannot use the key set: ${keys.fault}`);
    const signature = signed.headers.get('x-svc-signature') ?? '';
    const ground = { keys, now: options.now(), serviceId };
    const report = await verifyManifest({ body: signed.body, signature }, ground);
    if (report.verdict !== 'verified' || !report.manifest) throw new UntrustedService(why(report));

    const believed = keys.keys.filter(({ isPinned }) => isPinned).map(({ kid }) => kid);
    firstPins ??= believed;
    pins = [...new Set([...firstPins, ...believed])];
    serviceId ??= report.manifest.service_identity.id;
    return { ok: true, answer: report.manifest, replayed: false };
  }

  return {
    manifest() {
      const now = options.now().getTime();
      if (held && now - held.at < MANIFEST_AGE_MAX_MS) return held.reply;
      const fetched = { reply: load(), at: now };
      held = fetched;
      const drop = () => {
        if (held === fetched) held = undefined;
      };
      fetched.reply.then((reply) => reply.ok || drop(), drop);
      return fetched.reply;
    },
    knowsWhom: () => firstPins !== undefined || serviceId !== undefined,
    pins: () => pins,
    forget: () => {
      held = undefined;
    },
  };
}

/** `null` when the body is not JSON; `null` is not a key set. */
function parsed({ body }: WholeAnswer): unknown {
  const reading = readJson(body);
  return 'value' in reading ? reading.value : null;
}

function why({ checks }: Report): string {
  const fault = checks.find(({ outcome }) => outcome !== 'ok');
  return `Cannot trust the manifest: ${fault?.what}: ${fault?.detail ?? 'nothing was checked'}`;
}
