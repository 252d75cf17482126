/**
 * Signs requests to an object store: AWS Signature Version 4 in the Authorization header, for S3.
 *
 * @module
 */

import { createHash, createHmac } from 'node:crypto';

export interface SigningKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  readonly region: string;
}

export interface SignedRequest {
  readonly method: string;
  /** With a path as `encodedPath` writes it, and without a query. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly now: Date;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** The headers of the request, with those that sign it. All of them are signed. */
export function signedHeaders(request: SignedRequest, keys: SigningKeys): Record<string, string> {
  const { method, url, body, now } = request;
  const time = now.toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const payload = hashOf(body);
  const headers: Record<string, string> = {
    ...request.headers,
    host: url.host,
    'x-amz-content-sha256': payload,
    'x-amz-date': time,
    ...(keys.sessionToken !== undefined && { 'x-amz-security-token': keys.sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const lines = names.map(
    (name) => `${name}:${(headers[name] ?? '').trim().replaceAll(/ +/g, ' ')}`,
  );
  const signed = names.join(';');
  const canonical = [method, url.pathname, '', ...lines, '', signed, payload].join('\n');
  const scope = `${time.slice(0, 8)}/${keys.region}/s3/aws4_request`;
  const text = [ALGORITHM, time, scope, hashOf(canonical)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${keys.secretAccessKey}`);
  const credential = `Credential=${keys.accessKeyId}/${scope}`;
  const signature = hmac(key, text).toString('hex');
  // Node sets the host itself.
  const { host: _, ...sent } = headers;
  return {
    ...sent,
    authorization: `${ALGORITHM} ${credential},SignedHeaders=${signed},Signature=${signature}`,
  };
}

/** A path as S3 signs it: each part encoded once, with everything but the unreserved characters. */
export function encodedPath(path: string): string {
  return path.split('/').map(encodedPart).join('/');
}

function encodedPart(part: string): string {
  return encodeURIComponent(part).replaceAll(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
