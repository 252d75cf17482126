/**
 * A service as a command asks it: bounded in time and size, and without going elsewhere.
 *
 * @module
 */

import { setTimeout } from 'node:timers/promises';
import { FILE_BYTES_MAX, jsonOf } from './files.ts';

/** In milliseconds. Longer than any of the answers asked for here takes. */
const TIMEOUT_MS = 30_000;

/** A long export meets a busy service now and then; one that stays busy is no service. */
const TRIES_MAX = 10;

/** A service that wants to be left alone for longer is not asked again. */
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
   * The body of a success, parsed. Rejects with what the service said otherwise. Only for questions: a
   * service that is busy and names a time is asked again then.
   */
  json(method: 'GET' | 'POST', path: string): Promise<unknown>;
}

/** `credential` goes to this service only: a redirection is an error. */
export function remoteAt(address: string, credential?: string): Remote {
  const url = baseOf(address);
  const headers = credential === undefined ? {} : { authorization: `Bearer ${credential}` };
  const ask: Remote['ask'] = async (method, path) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await fetch(`${url}${path}`, { method, headers, signal, redirect: 'error' });
      return { status: response.status, headers: response.headers, body: await bodyOf(response) };
    } catch (error) {
      throw new Error(`"${url}" does not answer (${reasonOf(error)})`, { cause: error });
    }
  };
  return {
    url,
    ask,
    async json(method, path) {
      for (let tries = 1; ; tries++) {
        const { status, body, headers } = await ask(method, path);
        if (status === 200) return jsonOf(body, `the answer of "${url}${path}"`);
        const seconds = Number(headers.get('retry-after') ?? Number.NaN);
        if (tries === TRIES_MAX || !(seconds <= RETRY_AFTER_MAX_SECONDS)) {
          throw new Error(`"${url}${path}" answered ${status}${detailOf(body)}`);
        }
        await setTimeout(seconds * 1_000);
      }
    },
  };
}

function baseOf(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new Error(`"${address}" is no address of a service such as https://desk.example.com`);
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

/** The platform hides the reason of a failed connection one level down. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  const { code } = (cause ?? {}) as { code?: string };
  return code ?? (cause instanceof Error ? cause.message : message);
}

/** What a failure says of itself, where it is one of ours. */
function detailOf(body: Uint8Array): string {
  try {
    const { failure } = JSON.parse(new TextDecoder().decode(body));
    return typeof failure?.detail === 'string' ? `: ${failure.detail}` : '';
  } catch {
    return '';
  }
}
