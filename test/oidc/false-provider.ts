/**
 * A provider that answers as a test tells it to: what no honest one would say.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { listening } from './provider.ts';

export interface FalseAnswers {
  readonly jwks?: unknown;
  /** Members of the discovery document that differ from the honest ones. */
  readonly discovery?: Readonly<Record<string, unknown>>;
  /** Takes over the answer to a path; returns whether it did. */
  readonly instead?: (path: string, response: ServerResponse, request: IncomingMessage) => boolean;
}

export interface FalseProvider {
  readonly issuer: string;
  /** Paths asked for, in order. */
  readonly asked: string[];
  close(): Promise<void>;
}

export async function falseProvider(answers: FalseAnswers): Promise<FalseProvider> {
  const asked: string[] = [];
  let issuer = '';
  const { port, close } = await listening(0, (request, response) => {
    const path = request.url ?? '/';
    asked.push(path);
    if (answers.instead?.(path, response, request)) return;
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': {
        issuer,
        jwks_uri: `${issuer}/jwks`,
        ...answers.discovery,
      },
      '/jwks': answers.jwks ?? { keys: [] },
    };
    const found = Object.hasOwn(documents, path);
    response.statusCode = found ? 200 : 404;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(documents[path]));
  });
  issuer = `http://127.0.0.1:${port}`;
  return { issuer, asked, close };
}
