/**
 * Targets of a stream: an object store that checks signatures with the library of Amazon, and an HTTP receiver.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import { atEnd } from '../support/ends.ts';

export interface Posted {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Answers a request; `hang` never does. */
type Answering = (posted: Posted, index: number) => Answered | Promise<Answered>;
type Answered = number | 'hang' | { status: number; headers?: object; body?: string };

export async function receiver(answer: Answering = () => 200) {
  const posts: Posted[] = [];
  const server = createServer(async (request, response) => {
    const posted = await read(request);
    posts.push(posted);
    reply(response, await answer(posted, posts.length - 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { posts, url: `http://127.0.0.1:${port}`, server };
}

async function read(request: IncomingMessage): Promise<Posted> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { method = '', url = '', headers } = request;
  return { method, path: url, headers, body: Buffer.concat(chunks).toString() };
}

function reply(response: ServerResponse, answered: Answered): void {
  if (answered === 'hang') return;
  const whole = typeof answered === 'number' ? { status: answered } : answered;
  const { status, headers = {}, body = '' } = { headers: {}, body: '', ...whole };
  response.writeHead(status, { ...headers }).end(body);
}

export const STORE_KEYS = {
  AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'a-secret-of-the-store',
  AWS_REGION: 'eu-central-1',
} as const;

type Conditions = 'yes' | 'ignored' | 'refused';

/** An object store that knows `If-None-Match` as Amazon does, or ignores it, or refuses it with 501. */
export async function objectStore(conditions: Conditions = 'yes') {
  const objects = new Map<string, string>();
  const { posts, url } = await receiver(async (posted) => {
    if (!(await isSigned(posted))) return xml(403, 'SignatureDoesNotMatch');
    if (!posted.path.startsWith('/audit/')) return xml(404, 'NoSuchBucket');
    return posted.method === 'GET' ? got(objects, posted) : put(objects, posted, conditions);
  });
  return { objects, posts, url };
}

function got(objects: ReadonlyMap<string, string>, { path }: Posted): Answered {
  const body = objects.get(path);
  return body === undefined ? xml(404, 'NoSuchKey') : { status: 200, body };
}

function put(objects: Map<string, string>, posted: Posted, conditions: Conditions): Answered {
  const { path, headers, body } = posted;
  const isGuarded = headers['if-none-match'] === '*';
  if (isGuarded && conditions === 'refused') return xml(501, 'NotImplemented');
  const isTaken = isGuarded && conditions === 'yes' && objects.has(path);
  if (isTaken) return xml(412, 'PreconditionFailed');
  objects.set(path, body);
  return 200;
}

function xml(status: number, code: string) {
  return { status, body: `<?xml version="1.0"?><Error><Code>${code}</Code></Error>` };
}

/** Signs the request again, with the headers that it says are signed, and compares. */
async function isSigned({ method, path, headers, body }: Posted): Promise<boolean> {
  const given = String(headers.authorization).replaceAll(', ', ',');
  const [, names = ''] = /SignedHeaders=([^,]*)/.exec(given) ?? [];
  const signed = names.split(';').map((name) => [name, String(headers[name])]);
  if (headers['x-amz-content-sha256'] !== createHash('sha256').update(body).digest('hex'))
    return false;
  const signer = new SignatureV4({
    credentials: {
      accessKeyId: STORE_KEYS.AWS_ACCESS_KEY_ID,
      secretAccessKey: STORE_KEYS.AWS_SECRET_ACCESS_KEY,
    },
    region: STORE_KEYS.AWS_REGION,
    service: 's3',
    sha256: Sha256,
    uriEscapePath: false,
  });
  const time = String(headers['x-amz-date']);
  const signingDate = new Date(
    time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'),
  );
  const { hostname } = new URL(`http://${headers.host}`);
  const request = { method, protocol: 'http:', hostname, path, body };
  const again = await signer.sign(
    { ...request, headers: Object.fromEntries(signed) },
    { signingDate },
  );
  return again.headers.authorization?.replaceAll(', ', ',') === given;
}
