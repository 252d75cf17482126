/**
 * Clients: what a program says about itself, read strictly.
 *
 * A client is known by a metadata document at its `client_id` (draft-ietf-oauth-client-id-metadata-document),
 * by configuration, or by dynamic registration (RFC 7591). All three pass the same reader. Every client
 * is public: it has no secret, and what it claims about itself proves nothing. Members that are not
 * used here are ignored.
 *
 * @module
 */

import { toHex } from '../wire/hash.ts';
import { isObject, isWellFormed } from '../wire/json.ts';
import { redirectFault } from './redirect.ts';

/** Characters of a claimed name: one line of a page. */
export const CLIENT_NAME_MAX = 200;

/** Redirects of one client. Editors list one for each of their editions. */
export const REDIRECTS_MAX = 20;

/** Characters of a client id, which is sent in queries and stored with each consent. */
export const CLIENT_ID_MAX = 2_000;

export interface Client {
  readonly client_id: string;
  /** As the client gave it: not verified, and not made visible yet. */
  readonly client_name: string;
  readonly redirect_uris: readonly string[];
  /** Whether the operator of this service registered the client. */
  readonly isVerified: boolean;
}

/** Error codes of RFC 7591 section 3.2.2. */
export interface ClientFault {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata';
  readonly description: string;
}

export type ClientReading = { readonly client: Client } | { readonly fault: ClientFault };

/** Why a client id is not the URL of a metadata document, or `undefined` (section 3 of the draft). */
export function clientUrlFault(text: string): string | undefined {
  if (text.length > CLIENT_ID_MAX) return `it has more than ${CLIENT_ID_MAX} characters`;
  if (!text.startsWith('https://')) return 'it does not begin with "https://"';
  if (text.includes('#')) return 'it has a fragment';
  if (!URL.canParse(text)) return 'it is not a URL';
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return 'it has a user name';
  if (url.pathname === '/') return 'it has no path';
  // Ids are compared as text. The parser resolves dot segments, escaped ones too, and changes case.
  return url.href === text ? undefined : 'it is not written in its usual form';
}

/** Reads the document at `url`. Its `client_id` must be that URL as text. */
export function readClientDocument(url: string, document: unknown): ClientReading {
  const unusable = clientUrlFault(url);
  if (unusable !== undefined) return metadataFault(`Cannot use client_id: ${unusable}`);
  if (!isObject(document))
    return metadataFault('Cannot read the client document: it is not an object');
  if (document.client_id !== url) {
    return metadataFault('Cannot use the client document: its client_id is not its URL');
  }
  return readMetadata(document, { client_id: url, nameless: new URL(url).host });
}

/** Reads a registration request; `clientId` is the id that the service gives this client. */
export function readRegistration(clientId: string, request: unknown): ClientReading {
  if (!isObject(request)) return metadataFault('Cannot register a client: expected an object');
  return readMetadata(request, { client_id: clientId, nameless: 'Unnamed client' });
}

/** A client that the operator of this service registered. */
export interface ConfiguredClient {
  readonly client_id: string;
  readonly name: string;
  readonly redirect_uris: readonly string[];
}

export function readConfiguredClient(configured: ConfiguredClient): ClientReading {
  const { client_id, name, redirect_uris } = configured;
  if (!PLAIN_ID.test(client_id) || client_id.startsWith('https://')) {
    return metadataFault(
      `Cannot use client_id "${client_id}": expected 1 to 200 printable ASCII characters without space, and no URL of a document`,
    );
  }
  const reading = readMetadata(
    { client_name: name, redirect_uris },
    { client_id, nameless: client_id },
  );
  return 'fault' in reading ? reading : { client: { ...reading.client, isVerified: true } };
}

/** The answer to a registration (RFC 7591 section 3.2.1): the values that hold, not those asked for. */
export function registrationAnswer(client: Client, now: Date) {
  return {
    client_id: client.client_id,
    client_id_issued_at: Math.floor(now.getTime() / 1_000),
    client_name: client.client_name,
    redirect_uris: client.redirect_uris,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
}

/** Characters of the word of a client in a subject. */
const CLIENT_WORD_MAX = 40;

/** A claimed name as a word for a principal: lower-case letters, digits and "-". */
export function clientWord(name: string): string {
  const word = name
    .slice(0, CLIENT_NAME_MAX)
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, CLIENT_WORD_MAX)
    .replace(/-$/, '');
  return word === '' ? 'client' : word;
}

/**
 * The subject of one delegation. The random part is the service's own, so a claimed name cannot make the
 * subject of another delegation.
 */
export function agentSubject(clientName: string, random: Uint8Array): string {
  if (random.length < 2 || random.length > 4) {
    throw new RangeError(`Cannot name an agent: ${random.length} random bytes, it takes 2 to 4`);
  }
  return `agent:${clientWord(clientName)}/${toHex(random)}`;
}

const PLAIN_ID = /^[\x21-\x7e]{1,200}$/;

/** Line breaks and NUL: no name has them, and not every store takes them. */
const CONTROL = /\p{Cc}/u;

interface Naming {
  readonly client_id: string;
  /** The name of a client that gives none. */
  readonly nameless: string;
}

function readMetadata(
  given: Readonly<Record<string, unknown>>,
  { client_id, nameless }: Naming,
): ClientReading {
  const fault = methodFault(given) ?? flowFault(given) ?? nameFault(given.client_name);
  if (fault !== undefined) return metadataFault(fault);
  const { redirect_uris } = given;
  const misdirected = redirectsFault(redirect_uris);
  if (misdirected !== undefined) {
    return { fault: { error: 'invalid_redirect_uri', description: misdirected } };
  }
  const name = ((given.client_name as string | undefined) ?? '').trim();
  return {
    client: {
      client_id,
      client_name: name === '' ? nameless : name,
      redirect_uris: [...new Set(redirect_uris as string[])],
      isVerified: false,
    },
  };
}

/** A public client has no secret to prove itself with. */
function methodFault(given: Readonly<Record<string, unknown>>): string | undefined {
  const method = given.token_endpoint_auth_method;
  if (method !== undefined && method !== 'none') {
    return 'Cannot use token_endpoint_auth_method: only "none" is offered';
  }
  return given.client_secret === undefined
    ? undefined
    : 'Cannot use client_secret: clients have no secret here';
}

/** Where a client lists what it uses, the code flow must be in the list. */
function flowFault(given: Readonly<Record<string, unknown>>): string | undefined {
  for (const [field, needed] of NEEDED) {
    const listed = given[field];
    if (listed === undefined || (Array.isArray(listed) && listed.includes(needed))) continue;
    return `Cannot use ${field}: expected a list with "${needed}"`;
  }
  return undefined;
}

const NEEDED = [
  ['grant_types', 'authorization_code'],
  ['response_types', 'code'],
] as const;

function nameFault(name: unknown): string | undefined {
  if (name === undefined) return undefined;
  if (typeof name !== 'string') return 'Cannot use client_name: expected a text';
  if (name.length > CLIENT_NAME_MAX * 2 || [...name].length > CLIENT_NAME_MAX) {
    return `Cannot use client_name: expected at most ${CLIENT_NAME_MAX} characters`;
  }
  const isText = isWellFormed(name) && !CONTROL.test(name);
  return isText ? undefined : 'Cannot use client_name: it has control characters';
}

function redirectsFault(uris: unknown): string | undefined {
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > REDIRECTS_MAX) {
    return `Cannot use redirect_uris: expected a list of 1 to ${REDIRECTS_MAX}`;
  }
  for (const [index, uri] of uris.entries()) {
    const fault = typeof uri === 'string' ? redirectFault(uri) : 'it is not a text';
    if (fault !== undefined) return `Cannot use redirect_uris[${index}]: ${fault}`;
  }
  return undefined;
}

function metadataFault(description: string): ClientReading {
  return { fault: { error: 'invalid_client_metadata', description } };
}
