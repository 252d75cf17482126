/**
 * Routes: where each parameter of a call goes in a request to an HTTP API.
 *
 * The origin, with the prefix of its paths, is written by an author or an operator. Parameters enter only as
 * encoded text inside a segment of the path, as values of the query, as values of named headers, or as JSON. So
 * whatever a caller sends, the request goes to this origin, and its path has the segments of the template.
 *
 * @module
 */

import type { JsonObject } from '../../protocol/primitives.ts';
import type { Method } from './outbound.ts';

/** Plain JSON, so that it can be reviewed and compared. */
export interface Route {
  readonly method: Method;
  /** Such as `/pets/{id}`. A placeholder has the name of an input. */
  readonly path: string;
  /** The input of each name in the query. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** The input of each header. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The inputs that are fields of the body, all inputs that go nowhere else, or the input that is the whole body. */
  readonly body?: readonly string[] | 'rest' | { readonly input: string } | undefined;
  /** `application/json`, unless the API asks for a type that is JSON by another name. */
  readonly content_type?: string | undefined;
}

export interface RoutedRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** In characters. Many servers refuse a longer one. */
const URL_LENGTH_MAX = 8_192;

/** In characters. Values of headers are short names and numbers. */
const HEADER_LENGTH_MAX = 1_024;

/** Reads an origin such as `https://api.example.com`, or one with a prefix such as `/v1`. */
export function readBase(text: string): { readonly base: URL } | { readonly fault: string } {
  if (!/^https?:\/\/[^\\?#@\s]+$/i.test(text) || !URL.canParse(text)) {
    return { fault: 'expected an origin such as "https://api.example.com", or one with a path' };
  }
  if (segmentsOf(text).some(isStep)) {
    return { fault: 'expected an origin whose path has no "." or ".." in it' };
  }
  return { base: new URL(text) };
}

/** The first reason why a route cannot be used, with the member of the route it is about. */
export function routeFault(
  route: Route,
): { readonly at: string; readonly why: string } | undefined {
  const { method, path, headers = {}, body, content_type = JSON_TYPE } = route;
  if (!isTemplate(path)) {
    return { at: 'path', why: 'expected a path such as "/pets/{id}", without a query' };
  }
  const refused = Object.keys(headers).find((name) => !isFreeHeader(name));
  if (refused !== undefined) {
    return { at: 'headers', why: `no parameter may set the header "${refused.slice(0, 64)}"` };
  }
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) {
    return { at: 'body', why: `a request with the method ${method} has no body` };
  }
  if (!/^application\/(?:[\w.+-]{1,100}\+)?json$/.test(content_type)) {
    return { at: 'content_type', why: 'expected a type of JSON, such as "application/json"' };
  }
  return undefined;
}

/** The inputs that a route names. */
export function namedInputs({ path, query = {}, headers = {}, body }: Route): string[] {
  return [
    ...placeholdersOf(path),
    ...Object.values(query),
    ...Object.values(headers),
    ...(body === undefined || body === 'rest' ? [] : 'input' in body ? [body.input] : body),
  ];
}

/** Makes the request, or says why the parameters do not fit. The route has no fault. */
export function routedRequest(
  base: URL,
  route: Route,
  parameters: JsonObject,
): RoutedRequest | { readonly fault: string } {
  try {
    const url = addressOf(base, route, parameters);
    const body = bodyOf(route, parameters);
    const headers = headersOf(route, parameters);
    if (body === undefined) return { url, headers };
    return { url, headers: { ...headers, 'content-type': route.content_type ?? JSON_TYPE }, body };
  } catch (error) {
    if (error instanceof Unfit) return { fault: error.message };
    throw error;
  }
}

/**
 * True for a header that a parameter may set. The others decide where a request goes, who sends it, how its body
 * is read, or are set by this service.
 */
export function isFreeHeader(name: string): boolean {
  return /^[A-Za-z0-9-]{1,64}$/.test(name) && !TAKEN_HEADER.test(name);
}

const TAKEN_HEADER =
  /^(?:host|authorization|idempotency-key|connection|keep-alive|te|trailer|upgrade|expect|via|forwarded|origin|referer|user-agent|date|from|warning|max-forwards|cookie2?|set-cookie2?|x-real-ip|x-http-method|x-original-url|x-rewrite-url|(?:accept|access-control|alt|content|proxy|sec|transfer|x-forwarded|x-http-method|x-method)(?:-.*)?)$/i;

const JSON_TYPE = 'application/json';

/** Ends the making of a request. Caught in `routedRequest`. */
class Unfit extends Error {}

function addressOf(base: URL, { path, query = {} }: Route, parameters: JsonObject): URL {
  const prefix = base.pathname.replace(/\/+$/, '');
  const pathname =
    prefix +
    segmentsOf(path)
      .map((each) => filled(each, parameters))
      .join('/');
  const url = new URL(base.origin + pathname);
  for (const [name, input] of Object.entries(query)) {
    const value = parameters[input] ?? [];
    for (const each of Array.isArray(value) ? value : [value]) {
      url.searchParams.append(name, parameterText(input, each));
    }
  }
  // Cannot happen for a checked template: it states what the functions above guarantee.
  if (url.origin !== base.origin || url.pathname !== (pathname || '/')) {
    throw new Unfit('the path would be changed on the way');
  }
  if (url.href.length > URL_LENGTH_MAX) {
    throw new Unfit(`the address would be longer than ${URL_LENGTH_MAX} characters`);
  }
  return url;
}

function segmentsOf(path: string): string[] {
  return path.split('/');
}

/** A name in braces. The global flag has no state in `matchAll` and `replace`. */
const PLACEHOLDER = /\{([^{}/]{1,128})\}/g;

function placeholdersOf(path: string): string[] {
  return [...path.matchAll(PLACEHOLDER)].map(([, name]) => name as string);
}

/** Literal parts have only characters that a URL keeps as they are. */
function isTemplate(path: string): boolean {
  const literal = path.replace(PLACEHOLDER, 'x');
  if (!/^\/(?:[\w.~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*$/.test(literal)) return false;
  return !segmentsOf(path).some(isStep);
}

/** A segment that means this folder or the one above, in every spelling that a URL parser knows. */
function isStep(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment);
}

function filled(segment: string, parameters: JsonObject): string {
  const text = segment.replace(PLACEHOLDER, (_, input: string) => {
    const value = parameterText(input, parameters[input]);
    if (value === '') throw new Unfit(`"${input}" is empty`);
    // Some servers decode a slash before they resolve "..".
    if (value.split(/[/\\]/).some((part) => /^\.{1,2}$/.test(part))) {
      throw new Unfit(`"${input}" has "." or ".." as a part of a path`);
    }
    return encodeURIComponent(value);
  });
  if (isStep(text)) throw new Unfit('a part of the path would be "." or ".."');
  return text;
}

/** A text, a number or a boolean. Texts of callers have no lone surrogates, so each can be encoded. */
function parameterText(input: string, value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') {
    throw new Unfit(`"${input}" is no text, number or boolean`);
  }
  if (/\p{Cc}|\p{Cs}/u.test(value)) throw new Unfit(`"${input}" has a control character`);
  return value;
}

function headersOf({ headers = {} }: Route, parameters: JsonObject): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const [name, input] of Object.entries(headers)) {
    const value = parameters[input];
    if (value === undefined || value === null) continue;
    const text = parameterText(input, value);
    if (
      text.length > HEADER_LENGTH_MAX ||
      !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)
    ) {
      throw new Unfit(`"${input}" is no printable ASCII of 1 to ${HEADER_LENGTH_MAX} characters`);
    }
    sent[name.toLowerCase()] = text;
  }
  return sent;
}

function bodyOf(route: Route, parameters: JsonObject): string | undefined {
  const { body } = route;
  if (body === undefined) return undefined;
  if (body !== 'rest' && 'input' in body) {
    const whole = parameters[body.input];
    return whole === undefined ? undefined : JSON.stringify(whole);
  }
  const elsewhere = body === 'rest' ? new Set(namedInputs(route)) : undefined;
  const isField = (name: string) => (elsewhere ? !elsewhere.has(name) : body.includes(name));
  return JSON.stringify(
    Object.fromEntries(Object.entries(parameters).filter(([name]) => isField(name))),
  );
}
