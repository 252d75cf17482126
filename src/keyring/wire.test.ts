import assert from 'node:assert/strict';
import { createHmac, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { test } from 'vitest';
import { PAYLOAD_BYTES_MAX, readClaims, TEXT_LENGTH_MAX } from '../domain/wire/jws.ts';
import { generateJwk, thumbprintOf } from './es256.ts';
import { openKeyring } from './keyring.ts';
import { ARTEFACTS } from './wire.ts';

const tokenJwk = generateJwk();
const logJwk = generateJwk();
const privateKey = createPrivateKey({ key: { ...tokenJwk }, format: 'jwk' });
const publicPem = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' });
const keyring = openKeyring(
  { tokenKeys: JSON.stringify([tokenJwk]), logKeys: JSON.stringify([logJwk]) },
  { now: () => new Date(0), onWarning: assert.fail },
);

const { use, typ } = ARTEFACTS.delegation;
const kid = thumbprintOf(tokenJwk);
const header = { alg: 'ES256', kid, typ };
const claims = '{"sub":"agent:a","scope":["trip.book"]}';

const token = forged(JSON.stringify(header), claims);
const [encodedHeader = '', encodedPayload = '', signature = ''] = token.split('.');

test('verify() accepts the form that every refusal below departs from', () => {
  const verified = keyring.verify(use, typ, token);

  assert.equal(verified?.kid, kid);
  assert.equal(Buffer.from(verified?.payload ?? []).toString(), claims);
});

// The signature of each is good for what it covers, so only the form can be the reason.
const headers: [name: string, header: string][] = [
  ['alg none', json({ ...header, alg: 'none' })],
  ['alg None', json({ ...header, alg: 'None' })],
  ['alg in lower case', json({ ...header, alg: 'es256' })],
  ['alg HS256', json({ ...header, alg: 'HS256' })],
  ['alg ES384', json({ ...header, alg: 'ES384' })],
  ['alg as a list', json({ ...header, alg: ['ES256'] })],
  ['no alg', json({ kid, typ })],
  ['no typ', json({ alg: 'ES256', kid })],
  ['no kid', json({ alg: 'ES256', typ })],
  ['crit', json({ ...header, crit: ['b64'] })],
  ['jwk', json({ ...header, jwk: { kty: 'EC' } })],
  ['jku', json({ ...header, jku: 'https://127.0.0.1/jwks.json' })],
  ['x5u', json({ ...header, x5u: 'https://127.0.0.1/cert' })],
  ['x5c', json({ ...header, x5c: [] })],
  ['x5t', json({ ...header, x5t: 'AA' })],
  ['b64', json({ ...header, b64: true })],
  ['cty', json({ ...header, cty: 'JWT' })],
  ['zip', json({ ...header, zip: 'DEF' })],
  ['enc', json({ ...header, enc: 'A256GCM' })],
  ['a member for another', json({ alg: 'ES256', typ, jwk: {} })],
  ['alg twice', `{"alg":"ES256","alg":"ES256","kid":"${kid}","typ":"${typ}"}`],
  ['kid twice', `{"alg":"ES256","kid":"x","kid":"${kid}","typ":"${typ}"}`],
  ['alg twice by an escape', `{"alg":"ES256","\\u0061lg":"ES256","kid":"${kid}","typ":"${typ}"}`],
  ['a __proto__', `{"alg":"ES256","kid":"${kid}","__proto__":{"typ":"${typ}"}}`],
  ['a byte order mark', `\ufeff${json(header)}`],
  ['a list around it', json([header])],
  ['null instead', 'null'],
  ['text after it', `${json(header)}{}`],
  ['the typ of another artefact', json({ ...header, typ: ARTEFACTS.grant.typ })],
  ['the typ in upper case', json({ ...header, typ: typ.toUpperCase() })],
  ['the typ with its media type', json({ ...header, typ: `application/${typ}` })],
  ['an unknown kid', json({ ...header, kid: thumbprintOf(generateJwk()) })],
  ['an empty kid', json({ ...header, kid: '' })],
  ['a kid with path characters', json({ ...header, kid: '../token-0001.json' })],
  ['a kid that is a property name', json({ ...header, kid: 'constructor' })],
  ['a kid with a line break', json({ ...header, kid: `${kid}\n` })],
  ['a kid that is a number', json({ ...header, kid: 1 })],
  ['a kid of the log', json({ ...header, kid: thumbprintOf(logJwk) })],
];
for (const [name, text] of headers) {
  test(`verify() refuses a signed header with ${name}`, () => {
    assert.equal(keyring.verify(use, typ, forged(text, claims)), undefined);
  });
}

test('verify() refuses a header that is not UTF-8', () => {
  const bytes = Buffer.concat([
    Buffer.from(json(header).slice(0, -2)),
    Buffer.of(0xff, 0x22, 0x7d),
  ]);

  assert.equal(keyring.verify(use, typ, forged(bytes, claims)), undefined);
});

const texts: [name: string, text: string][] = [
  ['padding after the signature', `${token}==`],
  ['padding after the header', `${encodedHeader}=.${encodedPayload}.${signature}`],
  ['a space after it', `${token} `],
  ['a space before it', ` ${token}`],
  ['a line break after it', `${token}\n`],
  ['a line break in the signature', `${token.slice(0, -10)}\n${token.slice(-10)}`],
  ['a tab in the payload', `${encodedHeader}.\t${encodedPayload}.${signature}`],
  ['another last character of the signature', twinLast(token)],
  ['another last character of the payload', alteredPayload()],
  ['the alphabet of plain base64', plainBase64Token()],
  ['a NUL after it', `${token}\0`],
  ['a full-width dot', token.replace('.', '．')],
  ['no signature', `${encodedHeader}.${encodedPayload}.`],
  ['no payload', `${encodedHeader}..${signature}`],
  ['no header', `.${encodedPayload}.${signature}`],
  ['no part at all', '..'],
  ['no text at all', ''],
  ['two parts', `${encodedHeader}.${encodedPayload}`],
  ['four parts', `${token}.`],
  ['five parts, as encryption has', `${encodedHeader}.AAAA.AAAA.AAAA.AAAA`],
  ['a character less in the signature', token.slice(0, -1)],
  ['a byte more in the signature', `${token}AA`],
  ['a signature of zeros', `${encodedHeader}.${encodedPayload}.${'A'.repeat(86)}`],
  [
    'the signature of another payload',
    `${token.slice(0, -86)}${forged(json(header), '{}').slice(-86)}`,
  ],
  ['a DER signature', forged(json(header), claims, 'der')],
  ['an HMAC with the public key (HS256)', confused('HS256', 'sha256')],
  ['an HMAC as long as a signature (HS512)', confused('HS512', 'sha512')],
  [
    'the flattened JSON serialisation',
    json({ protected: encodedHeader, payload: encodedPayload, signature }),
  ],
  [
    'the general JSON serialisation',
    json({ payload: encodedPayload, signatures: [{ protected: encodedHeader, signature }] }),
  ],
  ['a scheme before it', `Bearer ${token}`],
];
for (const [name, text] of texts) {
  test(`verify() refuses a text with ${name}`, () => {
    assert.notEqual(text, token);
    assert.equal(keyring.verify(use, typ, text), undefined);
  });
}

test('verify() refuses a signed text of more than 8 KiB', () => {
  const long = forged(json(header), 'x'.repeat(TEXT_LENGTH_MAX));

  assert.equal(keyring.verify(use, typ, `${'A'.repeat(TEXT_LENGTH_MAX + 1)}`), undefined);
  assert.equal(keyring.verify(use, typ, long), undefined);
});

test('verify() accepts the longest payload, and refuses one of a byte more', () => {
  const longest = forged(json(header), 'x'.repeat(PAYLOAD_BYTES_MAX));
  const longer = forged(json(header), 'x'.repeat(PAYLOAD_BYTES_MAX + 1));

  assert.equal(keyring.verify(use, typ, longest)?.payload.length, PAYLOAD_BYTES_MAX);
  assert.equal(keyring.verify(use, typ, longer), undefined);
});

test('verify() accepts each artefact as itself and as no other', () => {
  const rows = Object.values(ARTEFACTS);
  for (const signed of rows) {
    const text = keyring.sign(signed.use, signed.typ, Buffer.from('{}'));
    // Twice, because the second answer comes from memory.
    for (const asked of [...rows, ...rows]) {
      const isSame = asked.typ === signed.typ;
      assert.equal(keyring.verify(asked.use, asked.typ, text) !== undefined, isSame, asked.typ);
    }
  }
});

test('verify() refuses an artefact of the log signed with a token key', () => {
  const checkpoint = ARTEFACTS.checkpoint.typ;
  const text = forged(json({ ...header, typ: checkpoint }), '{}');

  assert.equal(keyring.verify('log', checkpoint, text), undefined);
});

test('verify() accepts the n−s twin, which is why no text is an identity', () => {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const bytes = Buffer.from(signature, 'base64url');
  const s = BigInt(`0x${bytes.subarray(32).toString('hex')}`);
  const other = Buffer.from((order - s).toString(16).padStart(64, '0'), 'hex');
  const twin = Buffer.concat([bytes.subarray(0, 32), other]).toString('base64url');

  assert.notEqual(twin, signature);
  assert.equal(keyring.verify(use, typ, `${token.slice(0, -86)}${twin}`)?.kid, kid);
});

const payload = Buffer.from('{"merkle_root":"sha256:00"}');
const log = ARTEFACTS.checkpoint;
const detached = keyring.signDetached(log.use, log.typ, payload);
const [detachedHeader = '', , detachedSignature = ''] = detached.split('.');

test('verifyDetached() accepts the payload that was signed and no other', () => {
  const other = Buffer.from('{"merkle_root":"sha256:01"}');

  assert.deepEqual(keyring.verifyDetached(log.use, log.typ, detached, payload), {
    kid: thumbprintOf(logJwk),
  });
  assert.equal(keyring.verifyDetached(log.use, log.typ, detached, other), undefined);
  assert.equal(keyring.verifyDetached(log.use, log.typ, detached, new Uint8Array()), undefined);
});

test('verifyDetached() accepts a payload far longer than a token may be', () => {
  const manifest = ARTEFACTS.manifest;
  const large = Buffer.alloc(1_000_000, 'a');
  const text = keyring.signDetached(manifest.use, manifest.typ, large);

  assert.notEqual(keyring.verifyDetached(manifest.use, manifest.typ, text, large), undefined);
});

const detachedTexts: [name: string, text: string][] = [
  ['padding', `${detached}==`],
  ['a line break', `${detached}\n`],
  ['another last character', twinLast(detached)],
  [
    'its payload put back',
    `${detachedHeader}.${payload.toString('base64url')}.${detachedSignature}`,
  ],
  ['one dot', `${detachedHeader}.${detachedSignature}`],
  ['three dots', `${detachedHeader}...${detachedSignature}`],
  ['no header', `..${detachedSignature}`],
  ['no signature', `${detachedHeader}..`],
  ['a longer header than 8 KiB', `${'A'.repeat(TEXT_LENGTH_MAX)}..${detachedSignature}`],
];
for (const [name, text] of detachedTexts) {
  test(`verifyDetached() refuses a text with ${name}`, () => {
    assert.equal(keyring.verifyDetached(log.use, log.typ, text, payload), undefined);
  });
}

test('verifyDetached() refuses the typ of another artefact and the use of another key', () => {
  const grant = ARTEFACTS.grant.typ;

  assert.equal(keyring.verifyDetached('log', grant, detached, payload), undefined);
  assert.equal(keyring.verifyDetached('token', log.typ, detached, payload), undefined);
});

test('readClaims() reads what JSON says in one way only', () => {
  assert.deepEqual(readClaims(Buffer.from(claims)), JSON.parse(claims));
});

const unclear: [name: string, payload: Uint8Array][] = [
  ['a claim twice', Buffer.from('{"sub":"a","sub":"b"}')],
  ['__proto__', Buffer.from('{"__proto__":{}}')],
  ['nine levels', Buffer.from(`${'['.repeat(9)}${']'.repeat(9)}`)],
  ['a number that a double cannot hold', Buffer.from('{"exp":1e309}')],
  ['bytes that are not UTF-8', Buffer.of(0x22, 0xff, 0x22)],
  ['nothing', new Uint8Array()],
  ['text after the value', Buffer.from('{} {}')],
  ['more bytes than a payload has', Buffer.from(`"${'x'.repeat(PAYLOAD_BYTES_MAX)}"`)],
];
for (const [name, bytes] of unclear) {
  test(`readClaims() refuses ${name}`, () => {
    assert.equal(readClaims(bytes), undefined);
  });
}

test('readClaims() reads eight levels', () => {
  assert.notEqual(readClaims(Buffer.from(`${'['.repeat(8)}${']'.repeat(8)}`)), undefined);
});

/** Signs whatever it is given with the real key. */
function forged(
  headerText: string | Uint8Array,
  payloadText: string,
  dsaEncoding: 'ieee-p1363' | 'der' = 'ieee-p1363',
): string {
  const first = Buffer.from(headerText as string).toString('base64url');
  const signed = `${first}.${Buffer.from(payloadText).toString('base64url')}`;
  const made = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding });
  return `${signed}.${made.toString('base64url')}`;
}

/** What a verifier that takes the algorithm from the header would check with the public key. */
function confused(alg: string, digest: string): string {
  const first = Buffer.from(json({ ...header, alg })).toString('base64url');
  const signed = `${first}.${encodedPayload}`;
  return `${signed}.${createHmac(digest, publicPem).update(signed).digest('base64url')}`;
}

/** Sets the lowest of the four bits that the last character of a signature has to spare. */
function twinLast(text: string): string {
  const twins: Record<string, string> = { A: 'B', Q: 'R', g: 'h', w: 'x' };
  return `${text.slice(0, -1)}${twins[text.at(-1) ?? '']}`;
}

/** A signed payload whose last character has bits to spare, and uses them. */
function alteredPayload(): string {
  const first = Buffer.from(json(header)).toString('base64url');
  // "{}" is "e30"; "e31" decodes to the same two bytes. The signature covers the second spelling.
  const signed = `${first}.e31`;
  const made = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${made.toString('base64url')}`;
}

/** A signed payload spelt with "+" and "/" where base64url has "-" and "_". */
function plainBase64Token(): string {
  const first = Buffer.from(json(header)).toString('base64url');
  const signed = `${first}.${Buffer.of(0xfb, 0xff, 0xbf).toString('base64')}`;
  const made = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${made.toString('base64url')}`;
}

function json(value: unknown): string {
  return JSON.stringify(value);
}
