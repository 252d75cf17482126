/**
 * An HTTP API behind a guard, described by an OpenAPI document.
 *
 * Reads the file again whenever its tools are asked for, so a changed document switches changed tools off. Calls a
 * tool by the route that a person reviewed.
 *
 * @module
 */

import { readFile, stat } from 'node:fs/promises';
import * as z from 'zod';
import type { Platform } from '../../platform.ts';
import { NoEffect } from '../../service/author/handler.ts';
import { UPSTREAM_FAILED } from '../../service/http-api/http-answer.ts';
import {
  callHttp,
  credentialFault,
  type HttpCredential,
  readApi,
} from '../../service/http-api/http-call.ts';
import { type Route, routeFault } from '../../service/outbound/route.ts';
import type { Upstream, UpstreamCall, UpstreamTool } from '../upstream.ts';
import { DOCUMENT_BYTES_MAX } from './document.ts';
import { readOpenApi } from './openapi.ts';

export interface OpenApiUpstreamOptions {
  /** The path of the document. */
  readonly file: string;
  /** Such as `https://api.example.com/v1`. */
  readonly origin: string;
  /** The origin may have an inside address, and plain HTTP there. */
  readonly inside: boolean;
  /** Headers that a parameter may set. */
  readonly headers: readonly string[];
  /** Absent where each person has an own one. */
  readonly credential?: HttpCredential | undefined;
  /** How long one call may take. */
  readonly deadlineMs: number;
  readonly platform: Pick<Platform, 'after' | 'every' | 'cancel'>;
}

/** In milliseconds: how soon a changed document is noticed. */
const LOOK_MS = 2_000;

/** Throws one line about an origin or a credential that cannot be used. */
export function openApiUpstream(options: OpenApiUpstreamOptions): Upstream {
  const { file, origin, inside, headers, credential, deadlineMs, platform } = options;
  const read = readApi(origin, inside);
  if ('fault' in read) throw new Error(`Cannot use the origin "${origin}": ${read.fault}`);
  const unfit = credential && credentialFault(credential);
  if (unfit) throw new Error(`Cannot use the credential: ${unfit}`);
  const allowed = new Set(headers.map((each) => each.toLowerCase()));
  const watching = watchFile(file, platform);
  let last: { readonly text: string; readonly tools: readonly UpstreamTool[] } | undefined;
  return {
    async tools() {
      const text = await documentText(file);
      if (last?.text === text) return last.tools;
      const found = readOpenApi(text, { headers });
      if ('fault' in found) throw new Error(`Cannot use "${file}": ${found.fault}`);
      last = { text, tools: found.tools };
      return found.tools;
    },
    async call({ tool, parameters, invocationId, isRead, signal, accessToken }: UpstreamCall) {
      const proof = accessToken
        ? { header: 'Authorization', value: `Bearer ${accessToken}` }
        : credential;
      const route = routeOf(tool, allowed);
      const late = new AbortController();
      const timer = platform.after(deadlineMs, () => late.abort());
      const sent = { route, parameters, invocationId, isRead, credential: proof };
      return callHttp(read.api, {
        ...sent,
        signal: AbortSignal.any([signal, late.signal]),
      }).finally(() => platform.cancel(timer));
    },
    watch: watching.add,
    close: async () => watching.end(),
  };
}

/** The text of a document. Rejects with one line. */
async function documentText(file: string): Promise<string> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`Cannot read "${file}": ${error.code}`, { cause: error });
  });
  if (!found.isFile()) throw new Error(`Cannot read "${file}": it is no file`);
  if (found.size > DOCUMENT_BYTES_MAX) {
    throw new Error(`Cannot read "${file}": it is larger than ${DOCUMENT_BYTES_MAX} bytes`);
  }
  return readFile(file, 'utf8');
}

const ReviewedRoute = z.strictObject({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: z.string(),
  query: z.record(z.string(), z.string()).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z
    .union([z.array(z.string()), z.literal('rest'), z.strictObject({ input: z.string() })])
    .optional(),
  content_type: z.string().optional(),
});

/** The route of a reviewed tool. The policy may have been narrowed since the review. */
function routeOf({ name, route: reviewed }: UpstreamTool, allowed: ReadonlySet<string>): Route {
  const read = ReviewedRoute.safeParse(reviewed);
  const route: Route | undefined = read.data;
  const refused = Object.keys(route?.headers ?? {}).find(
    (each) => !allowed.has(each.toLowerCase()),
  );
  if (route && !routeFault(route) && refused === undefined) return route;
  const why =
    refused === undefined
      ? 'its route cannot be used'
      : `the policy does not list the header "${refused}"`;
  throw new NoEffect(`Cannot call "${name}": ${why}`, UPSTREAM_FAILED.type);
}

/** Looks at the file from the first listener on. */
function watchFile(file: string, { every, cancel }: Pick<Platform, 'every' | 'cancel'>) {
  const listeners: (() => void)[] = [];
  let timer: ReturnType<typeof every> | undefined;
  let seen: string | undefined;
  let isLooking = false;

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    const mark = await stat(file).then(
      ({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`,
      () => 'gone',
    );
    isLooking = false;
    if (seen !== undefined && mark !== seen) for (const each of listeners) each();
    seen = mark;
  }

  return {
    add(onChange: () => void) {
      listeners.push(onChange);
      if (timer) return;
      void look();
      timer = every(LOOK_MS, () => void look());
      timer.unref();
    },
    end() {
      listeners.length = 0;
      cancel(timer);
    },
  };
}
