/**
 * The wire form of signed artefacts: compact JWS (RFC 7515), read so that each artefact has one spelling.
 *
 * Checks form only, without keys, and also runs in a browser. Libraries accept padding, spaces, unused bits
 * and repeated members; this reader refuses each of them before any signature is computed. It gives no
 * reason, so that a forger learns nothing.
 *
 * One second spelling remains: for a signature (r, s), (r, n−s) is also a valid ECDSA signature of the same
 * content, and anyone can compute it. It adds nothing, so it is accepted. Two texts can therefore be one
 * token: identity, revocation and replay must be keyed on the token id, never on these bytes.
 *
 * @module
 */

import { fromBase64url, toBase64url } from './base64.ts';
import { isObject, type JsonLimits, readJson } from './json.ts';

/** Each signed artefact has its own `typ`, so that none can pass for another. */
export const TYPS = {
  delegation: 'svc-delegation+jwt',
  manifest: 'svc-manifest+jws',
  grant: 'svc-grant+jws',
  checkpoint: 'svc-checkpoint+jws',
  receipt: 'svc-receipt+jws',
  successor: 'svc-successor+jws',
} as const;

export type ArtefactTyp = (typeof TYPS)[keyof typeof TYPS];

/** Characters of a text. It travels in a header, which may take 8 KiB. */
export const TEXT_LENGTH_MAX = 8 * 1024;

/** Bytes of a payload that travels in the text: 6,000 characters, which leaves room in a header. */
export const PAYLOAD_BYTES_MAX = 4_500;

/** A text of the right form. Nothing in it is true until the signature has been verified. */
export interface SignedText {
  readonly kid: string;
  /** What the signature covers: header and payload as they are spelt. */
  readonly signed: Uint8Array;
  readonly signature: Uint8Array;
}

/** Reads `header.payload.signature`, or `undefined` unless it has exactly the form of this artefact. */
export function readCompact(
  text: string,
  typ: ArtefactTyp,
): (SignedText & { readonly payload: Uint8Array }) | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  const [, header, encoded, last] = COMPACT.exec(text) ?? [];
  if (header === undefined || encoded === undefined || last === undefined) return undefined;

  const kid = kidOf(header, typ);
  const payload = fromBase64url(encoded);
  const signature = fromBase64url(last);
  if (kid === undefined || payload === undefined || signature === undefined) return undefined;
  return { kid, payload, signature, signed: signedBytes(header, encoded) };
}

/** Reads `header..signature`, whose payload travels elsewhere (RFC 7515, appendix F). */
export function readDetached(
  text: string,
  typ: ArtefactTyp,
  payload: Uint8Array,
): SignedText | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  const [, header, last] = DETACHED.exec(text) ?? [];
  if (header === undefined || last === undefined) return undefined;

  const kid = kidOf(header, typ);
  const signature = fromBase64url(last);
  if (kid === undefined || signature === undefined) return undefined;
  return { kid, signature, signed: signedBytes(header, toBase64url(payload)) };
}

/** The claims of a verified token; `undefined` when two readers could disagree about them. */
export function readClaims(payload: Uint8Array): unknown | undefined {
  const reading = readJson(payload, CLAIMS_LIMITS);
  return 'value' in reading ? reading.value : undefined;
}

/** What a text in the form of a JWT claims about itself, unverified. */
interface JwtKind {
  readonly typ?: unknown;
  readonly iss?: unknown;
}

/** `undefined` for a text of another form; an empty kind where header or payload cannot be read. */
export function jwtKind(text: string): JwtKind | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  const [, header = '', payload = ''] = /^([\w-]+)\.([\w-]+)\.[\w-]*$/.exec(text) ?? [];
  if (header === '') return undefined;
  return { typ: memberOf(header, 'typ'), iss: memberOf(payload, 'iss') };
}

function memberOf(encoded: string, name: string): unknown {
  const bytes = fromBase64url(encoded);
  const reading = bytes && readJson(bytes, FOREIGN_LIMITS);
  const value = reading && 'value' in reading ? reading.value : undefined;
  return isObject(value) ? value[name] : undefined;
}

/** The only header that this service writes, encoded. */
export function jwsHeader(kid: string, typ: ArtefactTyp): string {
  return toBase64url(encoder.encode(JSON.stringify({ alg: ALG, kid, typ })));
}

export function signedBytes(header: string, payload: string): Uint8Array {
  return encoder.encode(`${header}.${payload}`);
}

const encoder = new TextEncoder();

const ALG = 'ES256';

/**
 * An ES256 signature is 64 bytes, hence 86 characters of which the last has four bits to spare.
 * This refuses padding, white space, DER, truncation, JSON serialisation, encryption and `none` at
 * once.
 */
const SIGNATURE = '([A-Za-z0-9_-]{85}[AQgw])';
const HEADER = '([A-Za-z0-9_-]{2,512})';
// `$` alone means the end of the text here, since there is no `m` flag.
const COMPACT = new RegExp(`^${HEADER}\\.([A-Za-z0-9_-]{2,6000})\\.${SIGNATURE}$`);
const DETACHED = new RegExp(`^${HEADER}\\.\\.${SIGNATURE}$`);

const KID = /^[A-Za-z0-9_-]{1,64}$/;

/** A valid header has three members on one level. The bounds only limit how much is read. */
const HEADER_LIMITS: JsonLimits = { bytes: 384, depth: 8, keys: 8 };

/** The depth leaves room for a structured purpose; the bytes bound the number of keys. */
const CLAIMS_LIMITS: JsonLimits = { bytes: PAYLOAD_BYTES_MAX, depth: 8, keys: PAYLOAD_BYTES_MAX };

/** An identity token carries groups and addresses; the text bounds its bytes. */
const FOREIGN_LIMITS: JsonLimits = { bytes: TEXT_LENGTH_MAX, depth: 16, keys: 1_000 };

/** The key id of a header; `undefined` unless this service could have written the header. */
function kidOf(encoded: string, typ: ArtefactTyp): string | undefined {
  const bytes = fromBase64url(encoded);
  if (bytes === undefined) return undefined;

  const reading = readJson(bytes, HEADER_LIMITS);
  if (!('value' in reading)) return undefined;
  const header = reading.value;
  // A fourth member would be an instruction (`crit`, `b64`, `jwk`, …), and this reader follows none.
  if (!isObject(header) || Object.keys(header).length !== 3) return undefined;

  const { alg, kid, typ: named } = header;
  if (alg !== ALG || named !== typ) return undefined;
  return typeof kid === 'string' && KID.test(kid) ? kid : undefined;
}
