/**
 * The description of the API that a running service gives of itself: as data and as a page.
 *
 * Both are made of exactly the operations that are offered, once, as soon as the service listens: they
 * take too long to make while callers wait. They are no operations, so discovery does not list them.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { OperationName } from '../protocol/operations.ts';
import { DOCUMENT_MAX_AGE_SECONDS, type Document } from '../service/documents.ts';
import type { Methods } from '../service/operations.ts';
import { sendAnswer } from './answer.ts';
import { apiPage } from './api-page.ts';
import { STYLE } from './api-page-style.ts';
import { openApiDocument } from './openapi.ts';

/** Nothing but the page's own style: no script, no image, no frame, no request of any kind. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

export function addReference(app: FastifyInstance, methods: Methods): void {
  const api = once(() => openApiDocument(Object.keys(methods) as OperationName[]));
  const data = once(() => documentOf(JSON.stringify(api()), {}));
  const page = once(() => documentOf(apiPage(api()), PAGE_HEADERS));
  app.addHook('onListen', async () => {
    data();
    page();
  });
  app.get('/openapi.json', { config: { operation: 'openapi' } }, async (request, reply) =>
    sendAnswer(request, reply, data()),
  );
  app.get('/docs', { config: { operation: 'docs' } }, async (request, reply) =>
    sendAnswer(request, reply, page()),
  );
}

function documentOf(content: string, headers: Record<string, string>): Document {
  return {
    text: content,
    etag: `"sha256-${createHash('sha256').update(content).digest('hex')}"`,
    headers: { 'cache-control': `public, max-age=${DOCUMENT_MAX_AGE_SECONDS}`, ...headers },
  };
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
