/**
 * Verifies a manifest from the exact bytes of its body and the signature header.
 *
 * @module
 */

import { countText } from '../domain/values/count-text.ts';
import { sha256, toHex } from '../domain/wire/hash.ts';
import { isObject, type JsonLimits, readJson } from '../domain/wire/json.ts';
import { readDetached, TYPS } from '../domain/wire/jws.ts';
import { lenient, Manifest } from '../protocol/trust.ts';
import { type Check, failed, passedCheck, type Report, reportOf, unlessFound } from './report.ts';
import {
  canonicalBytes,
  expiryCheck,
  serviceCheck,
  serviceLimit,
  signatureChecks,
  type TrustAnchors,
} from './signed.ts';

/**
 * The checks of a manifest.
 *
 * @example
 * import { type ManifestReport, verifyManifest } from 'writ/verify';
 *
 * const unsigned = { body: new TextEncoder().encode('{}'), signature: '' };
 * const anchors = { keys: { keys: [], noteKeys: [] }, now: new Date() };
 * const report: ManifestReport = await verifyManifest(unsigned, anchors);
 * console.log(Object.keys(report.manifest?.capabilities ?? {}), report.limits);
 */
export interface ManifestReport extends Report {
  /** The manifest; present when its signature verifies. */
  readonly manifest?: Manifest | undefined;
}

const PublishedManifest = lenient(Manifest);

/** Fits a thousand capabilities with long declarations. */
const MANIFEST_LIMITS: JsonLimits = { bytes: 8 * 1024 * 1024, depth: 32, keys: 1_000_000 };

/**
 * Verifies a manifest. `signature` is the value of `X-SVC-Signature`.
 *
 * @example
 * import { createService, mount } from 'writ';
 * import { readKeys, verifyManifest } from 'writ/verify';
 *
 * const service = createService({ id: 'demo', capabilities: [] });
 * const desk = await mount(service, { prefix: '/desk', settings: { store: 'memory:' } });
 * const get = (path: string) => desk.fetch(new Request(`http://127.0.0.1/desk${path}`));
 * const keys = readKeys({ jwks: await (await get('/.well-known/jwks.json')).json(), pinned: 'all' });
 * const answer = await get('/svc/manifest');
 * const signature = answer.headers.get('x-svc-signature') ?? '';
 * const signed = { signature, body: new Uint8Array(await answer.arrayBuffer()) };
 * if ('fault' in keys) throw new Error(keys.fault);
 * console.log((await verifyManifest(signed, { keys, now: new Date() })).verdict);
 * await desk.close();
 */
export async function verifyManifest(
  { body, signature }: { body: Uint8Array; signature: string },
  anchors: TrustAnchors,
): Promise<ManifestReport> {
  const read = readDetached(signature, TYPS.manifest, body);
  const { checks, isSigned } = await signatureChecks(read, TYPS.manifest, anchors.keys);
  const limits = ['whether the service has issued a newer one since', ...serviceLimit(anchors)];
  if (!isSigned) return reportOf(checks, limits);

  const reading = readJson(body, MANIFEST_LIMITS);
  const value = 'value' in reading ? reading.value : undefined;
  const parsed = PublishedManifest.safeParse(value);
  if (!parsed.success) {
    return reportOf([...checks, failed('body', 'it is not a manifest')], limits);
  }
  const manifest = parsed.data;
  const all = [...checks, ...contentChecks(manifest, value, anchors)];
  return { ...reportOf(all, limits), manifest };
}

function contentChecks(manifest: Manifest, value: unknown, anchors: TrustAnchors): Check[] {
  const { sha256: claimed, expires_at } = manifest.manifest_metadata;
  const digest = digestOf(value);
  return [
    passedCheck(
      'body',
      `${countText(Object.keys(manifest.capabilities).length, 'capability', 'capabilities')}`,
    ),
    unlessFound(
      'digest',
      digest === claimed ? undefined : `"sha256" says ${claimed}, it is ${digest}`,
    ),
    ...serviceCheck(manifest.service_identity.id, anchors),
    expiryCheck(expires_at, anchors.now),
  ];
}

/** The digest of the canonical form as received, without the digest field itself; unknown fields count too. */
function digestOf(value: unknown): string | undefined {
  if (!isObject(value) || !isObject(value.manifest_metadata)) return undefined;
  const { sha256: _, ...metadata } = value.manifest_metadata;
  const bytes = canonicalBytes({ ...value, manifest_metadata: metadata });
  return bytes && toHex(sha256(bytes));
}
