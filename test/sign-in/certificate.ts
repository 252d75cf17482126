/**
 * A certificate for a host of a test, signed by itself: just enough of X.509 for a TLS server to start with.
 *
 * @module
 */

import { generateKeyPairSync, sign } from 'node:crypto';

/** The key and the certificate of `localhost`, as PEM. */
export function selfSigned(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8, Buffer.from('localhost')))),
  );
  const contents = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.of(2))),
    der(INTEGER, Buffer.of(1)),
    ECDSA_SHA256,
    name,
    der(SEQUENCE, time('200101000000Z'), time('491231235959Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  );
  const signature = Buffer.concat([Buffer.of(0), sign('sha256', contents, privateKey)]);
  const certificate = der(SEQUENCE, contents, ECDSA_SHA256, der(BITS, signature));
  const lines = certificate.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

const [INTEGER, BITS, OID, UTF8, TIME, SEQUENCE, SET, VERSION] = [
  2, 3, 6, 12, 23, 0x30, 0x31, 0xa0,
];

const COMMON_NAME = der(OID, Buffer.from('550403', 'hex'));
const ECDSA_SHA256 = der(SEQUENCE, der(OID, Buffer.from('2a8648ce3d040302', 'hex')));

function time(text: string): Buffer {
  return der(TIME, Buffer.from(text));
}

/** One value in DER: its tag, its length, its content. */
function der(tag: number | undefined, ...content: Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  const { length } = bytes;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag ?? 0, ...size), bytes]);
}
