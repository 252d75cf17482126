/**
 * An object store as the target of a stream: one object for each chunk, over the S3 protocol.
 *
 * @module
 */

import type { Io } from '../../shell/command.ts';
import { CommandFault, EXIT_CREDENTIAL, EXIT_FOUND } from '../../shell/exit.ts';
import { type Exchanged, sinkExchange } from './exchange.ts';
import { Busy } from './patience.ts';
import { encodedPath, type SigningKeys, signedHeaders } from './sigv4.ts';
import { addressOf, otherChunk, type Sink } from './sink.ts';

export interface S3Options {
  /** `s3://bucket/prefix` */
  readonly to: string;
  readonly endpoint: string | undefined;
  readonly allowHttp: boolean;
  readonly timeoutMs: number;
}

/** Bytes of a stored chunk that is compared with ours: more than the longest chunk. */
const STORED_BYTES_MAX = 32 * 1024 * 1024;

export function s3Sink(options: S3Options, { env }: Pick<Io, 'env'>): Sink {
  const { bucket, prefix } = bucketIn(options.to);
  const keys = keysIn(env);
  const base = baseOf(options, bucket, keys.region);
  const urlOf = (name: string) => new URL(`${base}/${encodedPath(`${prefix}${name}`)}`);

  async function send(
    method: 'GET' | 'PUT',
    url: URL,
    { signal, body = '', headers = {} }: SendOptions,
  ): Promise<Exchanged> {
    const signed = signedHeaders({ method, url, headers, body, now: new Date() }, keys);
    const bounds = { timeoutMs: options.timeoutMs, signal };
    if (method === 'GET') {
      return sinkExchange(
        url,
        { method, headers: signed },
        { ...bounds, bytesMax: STORED_BYTES_MAX },
      );
    }
    return sinkExchange(url, { method, headers: signed, body }, bounds);
  }

  async function stored(name: string, signal: AbortSignal): Promise<string> {
    const answer = await send('GET', urlOf(name), { signal });
    if (answer.status === 200) return answer.body;
    throw refusal(urlOf(name), answer);
  }
  return {
    target: `s3:${base}/${prefix}`,
    async get(name, signal) {
      const answer = await send('GET', urlOf(name), { signal });
      if (answer.status === 200) return answer.body;
      // 403: who may not list a bucket is not shown that an object is absent. A wrong credential shows at the first PUT.
      if (answer.status === 404 || answer.status === 403) return undefined;
      throw refusal(urlOf(name), answer);
    },
    async put({ name, text }, signal) {
      const url = urlOf(name);
      const content = { body: text, headers: { 'content-type': 'application/x-ndjson' } };
      const guarded = { ...content.headers, 'if-none-match': '*' };
      const first = await send('PUT', url, { ...content, signal, headers: guarded });
      // 501: the store does not know the condition.
      const answer = first.status === 501 ? await send('PUT', url, { ...content, signal }) : first;
      if (answer.status === 412) {
        if ((await stored(name, signal)) === text) return;
        throw otherChunk(`"${url.href}"`);
      }
      // Another request for the same object is under way.
      if (answer.status === 409) throw new Busy(`"${url.origin}" answered 409`);
      if (answer.status !== 200) throw refusal(url, answer);
    },
  };
}

interface SendOptions {
  readonly signal: AbortSignal;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function bucketIn(to: string): { bucket: string; prefix: string } {
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]*)\/?(.*)$/s.exec(to) ?? [];
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) {
    throw new Error(`"${to}" does not name a bucket as in s3://bucket/prefix`);
  }
  if (path.split('/').some((part) => part === '.' || part === '..') || path.includes('//')) {
    throw new Error(`"${to}" has a prefix with an empty, "." or ".." part`);
  }
  const prefix = path === '' || path.endsWith('/') ? path : `${path}/`;
  return { bucket, prefix };
}

/** The bucket is part of the host at Amazon, and of the path at other stores. */
function baseOf({ endpoint, allowHttp }: S3Options, bucket: string, region: string): string {
  if (endpoint !== undefined) {
    const { origin, pathname } = addressOf(endpoint, allowHttp);
    return `${origin}${pathname.replace(/\/+$/, '')}/${bucket}`;
  }
  // The certificate of Amazon does not match a bucket with a dot in the host.
  if (bucket.includes('.')) return `https://s3.${region}.amazonaws.com/${bucket}`;
  return `https://${bucket}.s3.${region}.amazonaws.com`;
}

function keysIn(env: Io['env']): SigningKeys {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (!accessKeyId || !secretAccessKey) {
    throw new CommandFault(
      'there is no credential for the object store; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
      { exit: EXIT_CREDENTIAL },
    );
  }
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1';
  if (!/^[a-z0-9-]{1,64}$/.test(region)) throw new Error(`AWS_REGION is "${region}", no region`);
  const sessionToken = env.AWS_SESSION_TOKEN || undefined;
  return { accessKeyId, secretAccessKey, sessionToken, region };
}

/** The code in the answer, such as `NoSuchBucket`. */
function refusal(url: URL, { status, body }: Exchanged): CommandFault {
  const code = /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(body)?.[1];
  const why = code === undefined ? String(status) : `${status} ${code}`;
  const exit = status === 401 || status === 403 ? EXIT_CREDENTIAL : EXIT_FOUND;
  return new CommandFault(`the object store answered ${why} for "${url.href}"`, { exit });
}
