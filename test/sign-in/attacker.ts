/**
 * What the attacks on sign-in share: requests that no browser would send, and what a token says.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Reply, TestService } from '../support/world.ts';
import {
  asking,
  askToken,
  BASE,
  consent,
  type Decision,
  locationOf,
  type Person,
  personAt,
  REDIRECT,
} from './browser.ts';

type Asked = Pick<TestService, 'ask'>;

export const READS: Decision = { chosen: ['search_flights', 'get_booking'] };
export const SPENDS: Decision = { chosen: ['search_flights', 'buy_lounge_pass'], limit: '60' };
export const SEARCH = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };

const FORM = 'application/x-www-form-urlencoded';

/** A person who is signed in. */
export async function signedIn(service: Asked, key = 'demo-human-key'): Promise<Person> {
  const person = personAt(service);
  const reply = await person.signIn(key);
  assert.equal(reply.status, 303, reply.text);
  return person;
}

export function cookieLine({ cookies }: Person): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}

/** A form as bytes, with exactly these headers besides the media type. */
export function post(
  service: Asked,
  path: string,
  body: string | Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const text = typeof body === 'string' ? body : new URLSearchParams(body).toString();
  return service.ask('POST', path, {
    body: text,
    headers: { 'content-type': FORM, host: 'localhost', ...headers },
  });
}

/** A GET with exactly these headers. */
export function get(service: Asked, path: string, headers: Record<string, string> = {}) {
  return service.ask('GET', path, { headers: { host: 'localhost', ...headers } });
}

/** The hidden value with which a page proves its forms. */
export function csrfIn({ text = '' }: Reply): string {
  const [, value] = /name="csrf" value="([^"]+)"/.exec(text) ?? [];
  assert.ok(value !== undefined, `the page has no form: ${text.slice(0, 500)}`);
  return value;
}

export interface Coded {
  readonly code: string;
  readonly verifier: string;
  readonly redirect_uri: string;
}

/** A code on its way to the client. */
export async function codeFor(
  person: Person,
  decision: Decision = READS,
  more: Record<string, string | undefined> = {},
): Promise<Coded> {
  const { path, verifier } = asking(more);
  const code = locationOf(await consent(person, path, decision)).searchParams.get('code');
  assert.ok(code, 'the answer has no code');
  return { code, verifier, redirect_uri: more.redirect_uri ?? REDIRECT };
}

export function redeem(
  service: Asked,
  { code, verifier, redirect_uri }: Coded,
  more: Record<string, string | undefined> = {},
): Promise<Reply> {
  const fields = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri };
  return askToken(service, { ...fields, ...more });
}

export function refresh(
  service: Asked,
  token: string,
  more: Record<string, string | undefined> = {},
): Promise<Reply> {
  return askToken(service, { grant_type: 'refresh_token', refresh_token: token, ...more });
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever a token says.
export function claimsOf(token: string): any {
  return JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());
}

export async function isAlive(service: TestService, token: string): Promise<boolean> {
  const { status } = await service.invoke(token, 'search_flights', SEARCH);
  assert.ok(status === 200 || status === 401, `${status}`);
  return status === 200;
}

/** The page says what is wrong and leads nowhere. */
export function assertShown({ status, headers, text }: Reply, name = ''): void {
  assert.equal(status, 400, `${name}: ${status} ${text?.slice(0, 200)}`);
  assert.equal(headers.location, undefined, name);
}

/** The error goes to the client, with its state and our name. */
export function errorOf(reply: Reply): string | null {
  const url = locationOf(reply);
  assert.equal(`${url.origin}${url.pathname}`, REDIRECT);
  assert.equal(url.searchParams.get('iss'), BASE);
  assert.equal(url.searchParams.get('code'), null);
  return url.searchParams.get('error');
}
