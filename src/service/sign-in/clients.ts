/**
 * Clients: which program asks, and where its answers may go.
 *
 * A client is configured, is the command line of this package, registered itself where the configuration
 * admits that, or publishes a document about itself whose address is its id. Nothing about a client is
 * stored: the id of a registered one contains what it registered, under a MAC. Its name is what it says of
 * itself, so pages show it as a claim.
 *
 * @module
 */

import { bareHost } from '../../address/host.ts';
import {
  CLIENT_ID_MAX,
  type Client,
  clientUrlFault,
  readClientDocument,
  readConfiguredClient,
  readRegistration,
  registrationAnswer,
} from '../../domain/sign-in/client.ts';
import { createRecent } from '../../domain/values/recent.ts';
import { readJson } from '../../domain/wire/json.ts';
import { OAuthError } from './oauth.ts';
import type { SignInParts } from './parts.ts';

/** The command line, on this machine. */
const COMMAND_LINE: Client = {
  client_id: 'writ-cli',
  client_name: 'writ login',
  redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
  // Its id is public, and any program on this computer can use it.
  isVerified: false,
};

const DOCUMENT_TIMEOUT_MS = 5_000;
const DOCUMENT_BYTES_MAX = 65_536;

/** Documents that are remembered. */
const DOCUMENTS_MAX = 200;

/** In milliseconds: how long a document, or its fault, is remembered. */
const DOCUMENT_FRESH_MS = 300_000;
const FAULT_FRESH_MS = 10_000;

/** Documents that are fetched at a time. */
const FETCHES_MAX = 4;

export interface Clients {
  /** Rejects with an `OAuthError` when the id names no client. */
  find(clientId: string): Promise<Client>;
  /** Whether the configuration still admits a client that got a delegation. Asks no other host. */
  isAdmitted(clientId: string): boolean;
  /** RFC 7591, where the configuration admits it. */
  register(body: unknown): object;
}

type Found = { readonly client: Client } | { readonly fault: string };

export function createClients(parts: SignInParts): Clients {
  const { clients, registration } = parts.config.sign_in;
  const configured = new Map(
    [COMMAND_LINE, ...clients.map(configuredClient)].map((each) => [each.client_id, each]),
  );
  const documents = createDocuments(parts);
  const knownHere = (clientId: string) =>
    configured.get(clientId) ??
    (registration === 'on' ? readRegistered(parts, clientId) : undefined);
  return {
    isAdmitted: (clientId) =>
      knownHere(clientId) !== undefined ||
      (clientUrlFault(clientId) === undefined && foreignHost(parts, clientId) === undefined),
    async find(clientId) {
      const known = knownHere(clientId);
      if (known) return known;
      const unusable = clientUrlFault(clientId);
      if (unusable !== undefined) {
        const detail = `Cannot find the client: its client_id is not known here, and it names no document because ${unusable}`;
        throw new OAuthError('invalid_client', detail);
      }
      const found = await documents(clientId);
      if ('fault' in found) throw new OAuthError('invalid_client', found.fault);
      return found.client;
    },
    register(body) {
      const read = readRegistration('', body);
      if ('fault' in read) throw new OAuthError(read.fault.error, read.fault.description);
      const client = { ...read.client, client_id: registeredId(parts, read.client) };
      if (client.client_id.length > CLIENT_ID_MAX) {
        throw new OAuthError(
          'invalid_client_metadata',
          'Cannot register: the metadata is too long',
        );
      }
      return registrationAnswer(client, parts.store.now());
    },
  };
}

/** Configuration checks its clients at the start, so a fault here is a defect. */
function configuredClient(given: SignInParts['config']['sign_in']['clients'][number]): Client {
  const read = readConfiguredClient(given);
  if ('fault' in read) throw new Error(read.fault.description);
  return read.client;
}

const REGISTERED = /^reg\.([\w-]+)\.([\w-]+\.[\w-]+)$/;

function registeredId(
  { keyring }: SignInParts,
  { client_name, redirect_uris }: Pick<Client, 'client_name' | 'redirect_uris'>,
): string {
  const facts = JSON.stringify({ client_name, redirect_uris });
  const text = Buffer.from(facts).toString('base64url');
  return `reg.${text}.${keyring.rows.macOf(`writ client\n${text}`)}`;
}

function readRegistered({ keyring }: SignInParts, clientId: string): Client | undefined {
  const [, text = '', mac = ''] = REGISTERED.exec(clientId) ?? [];
  if (text === '' || !keyring.rows.isMacOf(`writ client\n${text}`, mac)) return undefined;
  const facts = JSON.parse(Buffer.from(text, 'base64url').toString()) as Client;
  return { ...facts, client_id: clientId, isVerified: false };
}

/** Reads the documents of clients, each at most once in a while. */
function createDocuments(parts: SignInParts): (clientId: string) => Promise<Found> {
  const known = createRecent<string, { readonly found: Found; readonly until: number }>(
    DOCUMENTS_MAX,
  );
  const underWay = new Map<string, Promise<Found>>();

  async function look(clientId: string): Promise<Found> {
    const found = await fetchDocument(parts, clientId);
    const fresh = 'client' in found ? DOCUMENT_FRESH_MS : FAULT_FRESH_MS;
    known.set(clientId, { found, until: parts.platform.monotonic() + fresh });
    return found;
  }

  return async (clientId) => {
    const before = known.get(clientId);
    if (before && before.until > parts.platform.monotonic()) return before.found;
    const running = underWay.get(clientId);
    if (running !== undefined) return running;
    if (underWay.size >= FETCHES_MAX) {
      return {
        fault: 'Cannot read the document of the client: too many are being read; try again',
      };
    }
    const looking = look(clientId).finally(() => underWay.delete(clientId));
    underWay.set(clientId, looking);
    return looking;
  };
}

async function fetchDocument(parts: SignInParts, clientId: string): Promise<Found> {
  const { inside_hosts } = parts.config.sign_in;
  const { host } = new URL(clientId);
  const foreign = foreignHost(parts, clientId);
  if (foreign !== undefined) return { fault: foreign };
  try {
    const { status, body } = await parts.callOut({
      url: clientId,
      timeoutMs: DOCUMENT_TIMEOUT_MS,
      bytesMax: DOCUMENT_BYTES_MAX,
      insideHosts: inside_hosts,
    });
    if (status !== 200) return unread(`${host} answered ${status}`);
    const reading = readJson(body);
    if ('fault' in reading) return unread(reading.fault);
    const read = readClientDocument(clientId, reading.value);
    return 'fault' in read ? { fault: read.fault.description } : read;
  } catch (error) {
    const why = (error as Error).message;
    parts.log.warn({ client_id: clientId, why }, 'client document not read');
    // The reason may describe the network of this service, so it stays in the log.
    return unread(`${host} was not reached`);
  }
}

/** Why the document of a client at this address is not read. */
function foreignHost({ config }: SignInParts, clientId: string): string | undefined {
  const { metadata_hosts: hosts } = config.sign_in;
  const host = bareHost(new URL(clientId));
  if (!hosts || hosts.includes(host)) return undefined;
  return `Cannot admit the client: this service reads no client documents of ${host}`;
}

function unread(why: string): Found {
  return { fault: `Cannot read the document of the client: ${why}` };
}
