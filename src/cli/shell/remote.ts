/**
 * Calls a service from a command: bounded in time and size, without redirects.
 *
 * @module
 */

import { setTimeout } from 'node:timers/promises';
import { CommandFault, EXIT_CREDENTIAL, EXIT_FAILED, EXIT_UNAVAILABLE } from './exit.ts';
import { FILE_BYTES_MAX, parseJsonBytes } from './files.ts';

/** In milliseconds. Longer than any answer requested here takes. */
const TIMEOUT_MS = 30_000;

/** A service may be busy for a moment during a long export; after this many tries the command gives up. */
const TRIES_MAX = 10;

/** In milliseconds. The command does not repeat a request if the service asks for a longer pause. */
const RETRY_AFTER_MAX_SECONDS = 10;

interface RemoteAnswer {
  readonly status: number;
  readonly body: Uint8Array;
  readonly headers: Headers;
}

export interface Remote {
  readonly url: string;
  ask(method: 'GET' | 'POST', path: string): Promise<RemoteAnswer>;
  /**
   * The parsed body of a success. Rejects with the failure of the service otherwise. Only for reads: if the
   * service is busy and names a time, the request is repeated after it.
   */
  json(method: 'GET' | 'POST', path: string): Promise<unknown>;
}

/** Sends `credential` to this service only: a redirection is an error. */
export function remoteAt(address: string, credential?: string): Remote {
  const url = baseOf(address);
  const headers = credential === undefined ? {} : { authorization: `Bearer ${credential}` };
  const ask: Remote['ask'] = async (method, path) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await fetch(`${url}${path}`, { method, headers, signal, redirect: 'error' });
      return { status: response.status, headers: response.headers, body: await bodyOf(response) };
    } catch (error) {
      const why = `"${url}" does not answer (${reasonOf(error)})`;
      throw new CommandFault(why, { exit: EXIT_UNAVAILABLE, cause: error });
    }
  };
  return {
    url,
    ask,
    async json(method, path) {
      for (let tries = 1; ; tries++) {
        const { status, body, headers } = await ask(method, path);
        if (status === 200) return parseJsonBytes(body, `the answer of "${url}${path}"`);
        const seconds = Number(headers.get('retry-after') ?? Number.NaN);
        if (tries === TRIES_MAX || !(seconds <= RETRY_AFTER_MAX_SECONDS)) {
          const why = `"${url}${path}" answered ${status}${detailOf(body)}`;
          throw new CommandFault(why, { exit: statusExit(status) });
        }
        await setTimeout(seconds * 1_000);
      }
    },
  };
}

/** The exit status of a command that needs an answer and got another HTTP status than 200. */
export function statusExit(status: number): number {
  if (status === 401) return EXIT_CREDENTIAL;
  return status === 429 || status >= 500 ? EXIT_UNAVAILABLE : EXIT_FAILED;
}

/** Without a user and a password, also where the address cannot be read. */
function withoutUser(address: string): string {
  return address.replace(/\/\/.*@/s, '//…@');
}

export function baseOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new Error(
      `"${withoutUser(address)}" is not an address of a service such as https://desk.example.com`,
    );
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

async function bodyOf(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > FILE_BYTES_MAX) throw new Error(`more than ${FILE_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** `fetch` has the reason of a failed connection in `cause`. */
export function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  const { code } = (cause ?? {}) as { code?: string };
  return code ?? (cause instanceof Error ? cause.message : message);
}

/** The detail of a failure, if the body is one. */
function detailOf(body: Uint8Array): string {
  try {
    const { failure } = JSON.parse(new TextDecoder().decode(body));
    return typeof failure?.detail === 'string' ? `: ${failure.detail}` : '';
  } catch {
    return '';
  }
}
