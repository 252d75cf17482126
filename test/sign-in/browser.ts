/**
 * A person with a browser, without a browser: keeps cookies, follows redirects within the service, and fills
 * in the forms of the pages. And a client program that asks for a delegation as OAuth describes it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { Reply, TestService } from '../support/world.ts';

/** The address of the service, and the one that its pages have. */
export const BASE = 'http://127.0.0.1';
export const PAGES = 'http://localhost';

/** The client of the command line: known to every service, with a redirect to this computer. */
export const CLIENT = 'writ-cli';
export const REDIRECT = 'http://127.0.0.1:53187/callback';

export interface Person {
  readonly cookies: Map<string, string>;
  open(path: string): Promise<Reply>;
  /** Sends the form of a page, with its hidden fields, to its own address. */
  send(
    page: Reply,
    path: string,
    fields?: Fields,
    headers?: Record<string, string>,
  ): Promise<Reply>;
  signIn(key: string): Promise<Reply>;
}

type Fields = Readonly<Record<string, string | readonly string[]>>;

/** `pages` is the origin of the pages of the service. */
export function personAt(service: Pick<TestService, 'ask'>, pages = PAGES): Person {
  const cookies = new Map<string, string>();
  async function ask(method: string, path: string, body?: string, more = {}): Promise<Reply> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const reply = await service.ask(method, path, {
      body,
      headers: {
        host: new URL(pages).host,
        'user-agent': 'Test Browser',
        ...(cookie && { cookie }),
        ...(method === 'POST' && {
          'content-type': 'application/x-www-form-urlencoded',
          origin: pages,
        }),
        ...more,
      },
    });
    keep(cookies, reply);
    return reply;
  }
  const send: Person['send'] = (page, path, fields = {}, headers = {}) => {
    const form = new URLSearchParams(hiddenIn(page, path));
    for (const [name, value] of Object.entries(fields)) {
      form.delete(name);
      for (const each of [value].flat()) form.append(name, each as string);
    }
    return ask('POST', path, form.toString(), headers);
  };
  return {
    cookies,
    open: (path) => ask('GET', path),
    send,
    signIn: async (key) => send(await ask('GET', '/sign-in'), '/sign-in', { key }),
  };
}

function keep(cookies: Map<string, string>, { headers }: Reply): void {
  for (const line of [headers['set-cookie'] ?? []].flat() as string[]) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (/max-age=0/i.test(line)) cookies.delete(name);
    else cookies.set(name, value);
  }
}

/** The hidden fields of the form on a page that is sent to this path. */
function hiddenIn({ text = '' }: Reply, path: string): [string, string][] {
  const form = [...text.matchAll(/<form[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)].find(
    ([, action]) => action === path,
  )?.[2];
  assert.ok(form !== undefined, `the page has no form to ${path}: ${text.slice(0, 2_000)}`);
  return [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(
    ([, name = '', value = '']) => [name, unescaped(value)],
  );
}

function unescaped(html: string): string {
  return html
    .replaceAll('&quot;', '"')
    .replaceAll('&gt;', '>')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&');
}

export interface Asking {
  readonly verifier: string;
  readonly path: string;
}

/** What a client opens in the browser of the person. */
export function asking(more: Readonly<Record<string, string | undefined>> = {}): Asking {
  const verifier = randomBytes(32).toString('base64url');
  const params = {
    response_type: 'code',
    client_id: CLIENT,
    redirect_uri: REDIRECT,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'the state',
    ...more,
  };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params))
    if (value !== undefined) query.set(name, value);
  return { verifier, path: `/authorize?${query}` };
}

/** What a person decides on the consent page, beyond its defaults. */
export interface Decision {
  readonly chosen: readonly string[];
  readonly limit?: string;
  readonly pass?: string;
  readonly for?: string;
  readonly currency?: string;
}

/** Lets the client act. Resolves with where the browser goes then. */
export async function consent(
  person: Person,
  path: string,
  { chosen, ...limits }: Decision,
): Promise<Reply> {
  const page = await person.open(path);
  assert.equal(page.status, 200, page.text);
  return person.send(page, '/authorize', {
    c: chosen,
    until: firstUntil(page),
    currency: 'USD',
    limit: '0',
    pass: '0',
    for: 'March offsite',
    answer: 'allow',
    ...limits,
  });
}

/** The latest end that the page offers. */
function firstUntil({ text = '' }: Reply): string {
  const [, select = ''] = /<select[^>]*name="until"[^>]*>([\s\S]*?)<\/select>/.exec(text) ?? [];
  const values = [...select.matchAll(/value="([^"]+)"/g)].map(([, value]) => value as string);
  return values.at(-1) ?? '';
}

export function locationOf({ headers, status, text }: Reply): URL {
  assert.equal(status, 303, text);
  return new URL(String(headers.location), PAGES);
}

/** Asks the token endpoint. */
export function askToken(
  service: Pick<TestService, 'ask'>,
  fields: Readonly<Record<string, string | undefined>>,
  path = '/token',
): Promise<Reply> {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries({ client_id: CLIENT, ...fields })) {
    if (value !== undefined) body.set(name, value);
  }
  const headers = { 'content-type': 'application/x-www-form-urlencoded', host: '127.0.0.1' };
  return service.ask('POST', path, { body: body.toString(), headers });
}

export interface Given {
  readonly access: string;
  readonly refresh: string;
  readonly code: string;
  readonly verifier: string;
}

/** The whole way: sign in, consent, code, tokens. */
export async function delegation(
  service: Pick<TestService, 'ask'>,
  decision: Decision,
  {
    person = personAt(service),
    key = 'demo-human-key',
    more = {},
  }: {
    person?: Person;
    key?: string;
    more?: Record<string, string | undefined>;
  } = {},
): Promise<Given> {
  if (person.cookies.size === 0) await person.signIn(key);
  const { path, verifier } = asking(more);
  const code = locationOf(await consent(person, path, decision)).searchParams.get('code') ?? '';
  const fields = { grant_type: 'authorization_code', code, code_verifier: verifier };
  const { status, body, text } = await askToken(service, {
    ...fields,
    redirect_uri: more.redirect_uri ?? REDIRECT,
    client_id: more.client_id ?? CLIENT,
  });
  assert.equal(status, 200, text);
  return { access: body.access_token, refresh: body.refresh_token, code, verifier };
}
