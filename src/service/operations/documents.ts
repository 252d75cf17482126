/**
 * Documents: the public texts of the service, made once and served many times.
 *
 * A request neither serialises nor signs. The manifest is issued at fixed half-day marks, so all
 * replicas with the same declarations make the same bytes. Texts that grow with the catalog are
 * made in slices, and requests that arrive meanwhile wait for the same document.
 *
 * @module
 */

import { declarationOf } from '../../domain/catalog/declaration.ts';
import { canonicalJson, canonicalRecord } from '../../domain/wire/canonical.ts';
import { sha256Hex, utf8 } from '../../domain/wire/hash.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import { ARTEFACTS } from '../../keyring/wire.ts';
import type { Capability } from '../../protocol/capability.ts';
import { type OperationName, operations } from '../../protocol/operations.ts';
import {
  type CapabilitySummary,
  type DisclosureLevel,
  type Discovery,
  type Manifest,
  PROTOCOL,
  PROTOCOL_VERSION,
} from '../../protocol/trust.ts';
import type { ServiceDefinition } from '../author/definition.ts';
import type { Slices } from '../pace/slices.ts';

/**
 * A manifest is valid for a day and replaced after half of it, so a fetched copy is valid for half
 * a day.
 */
const MANIFEST_LIFETIME_MS = 86_400_000;

/**
 * How long a fetched copy may be used without asking again. A key rotation waits longer than this.
 */
export const DOCUMENT_MAX_AGE_SECONDS = 300;

/** A text with its headers. */
export interface Document {
  readonly text: string;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface DocumentSources {
  readonly definition: ServiceDefinition;
  readonly keyring: Keyring;
  baseUrl(): string;
  /** Stands before the path of every endpoint. */
  readonly basePath: string;
  /** Called once, at the first fetch of discovery: all methods are bound by then. */
  offered(): readonly OperationName[];
  /** Other protocols at the same address, with their paths. Complete before the first fetch. */
  readonly surfaces: ReadonlyMap<string, string>;
  readonly disclosure: Readonly<Record<string, DisclosureLevel>>;
  readonly slices: Slices;
  /** Whether only known callers may read what the service can do. */
  readonly isGated: boolean;
  now(): Date;
}

export interface Documents {
  discovery(): Promise<Document>;
  jwks(): Document;
  manifest(): Promise<Document>;
}

export function createDocuments(sources: DocumentSources): Documents {
  const { slices } = sources;
  return {
    discovery: remadeInSlices(
      () => 'once',
      () => slices.finish(discoveryDocument(sources)),
    ),
    jwks: remade(
      () => String(sources.keyring.revision()),
      () => documentOf(sources.keyring.jwks()),
    ),
    // Also made again when keys change, so that a published key verifies the signature; and when
    // the address changes, which is final only once the service listens.
    manifest: remadeInSlices(
      () => `${issuedAt(sources.now())} ${sources.keyring.revision()} ${sources.baseUrl()}`,
      () => slices.finish(signedManifest(sources)),
    ),
  };
}

/** Makes a document again only when its version changes. */
function remade(version: () => string, make: () => Document): () => Document {
  let made: { version: string; document: Document } | undefined;
  return () => {
    const current = version();
    if (made?.version !== current) made = { version: current, document: make() };
    return made.document;
  };
}

/** Like `remade`, in slices. A failed attempt is repeated at the next request. */
function remadeInSlices(
  version: () => string,
  make: () => Promise<Document>,
): () => Promise<Document> {
  let made: { version: string; document: Promise<Document> } | undefined;
  return () => {
    const current = version();
    if (made?.version === current) return made.document;
    const mine = { version: current, document: make() };
    made = mine;
    mine.document.catch(() => {
      if (made === mine) made = undefined;
    });
    return mine.document;
  };
}

/** A document without its map of capabilities, whose text is made in steps. */
type Without<Content> = Omit<Content, 'capabilities'>;

function* signedManifest({
  definition,
  keyring,
  baseUrl,
  isGated,
  now,
}: DocumentSources): Generator<undefined, Document, undefined> {
  const issued = issuedAt(now());
  const metadata = {
    version: PROTOCOL_VERSION,
    issued_at: new Date(issued).toISOString(),
    expires_at: new Date(issued + MANIFEST_LIFETIME_MS).toISOString(),
  };
  const content: Omit<Without<Manifest>, 'manifest_metadata'> = {
    service_identity: {
      id: definition.id,
      jwks_uri: `${baseUrl()}${operations.jwks.path}`,
      issuer_mode: 'self' as const,
    },
    trust: definition.trust,
  };
  const capabilities = yield* namedMap(definition, declarationOf);
  const textWith = (manifest_metadata: object) =>
    withCapabilities({ ...content, manifest_metadata }, capabilities);
  const sha256 = sha256Hex(textWith(metadata));
  yield;
  const document = documentOfText(
    textWith({ ...metadata, sha256 }),
    isGated ? 'private' : 'public',
  );
  yield;
  const { use, typ } = ARTEFACTS.manifest;
  const signature = keyring.signDetached(use, typ, utf8(document.text));
  return { ...document, headers: { ...document.headers, 'x-svc-signature': signature } };
}

function* discoveryDocument(sources: DocumentSources): Generator<undefined, Document, undefined> {
  const capabilities = sources.isGated ? '{}' : yield* namedMap(sources.definition, summaryOf);
  const discovery = withCapabilities(discoveryOf(sources), capabilities);
  return documentOfText(canonicalRecord([['svc_discovery', discovery]]));
}

function withCapabilities(content: object, capabilities: string): string {
  const texts = Object.entries(content).map(
    ([name, value]) => [name, canonicalJson(value)] as const,
  );
  return canonicalRecord([...texts, ['capabilities', capabilities]]);
}

function discoveryOf({ definition, offered, ...sources }: DocumentSources): Without<Discovery> {
  const { disclosure, surfaces, isGated, basePath } = sources;
  const classes = Object.entries(disclosure).map(([caller_class, failure_detail]) => ({
    caller_class,
    failure_detail,
  }));
  return {
    version: PROTOCOL_VERSION,
    protocol: PROTOCOL,
    service_id: definition.id,
    endpoints: Object.fromEntries(
      offered().map((name) => [operations[name].endpoint, basePath + operations[name].path]),
    ),
    ...(surfaces.size > 0 && { surfaces: Object.fromEntries(surfaces) }),
    ...(isGated && { manifest_access: 'authenticated' }),
    trust: definition.trust,
    metadata_disclosure: {
      caller_class: 'default',
      failure_detail: disclosure.default ?? 'reduced',
      classes,
    },
  };
}

function summaryOf(capability: Capability): CapabilitySummary {
  return {
    description: capability.description,
    side_effect: { type: capability.side_effect.type },
    minimum_scope: capability.minimum_scope,
    financial: capability.cost?.financial !== undefined,
  };
}

/** The canonical text of a map by name, one capability in each step. */
function* namedMap(
  { catalog }: ServiceDefinition,
  value: (capability: Capability) => object,
): Generator<undefined, string, undefined> {
  const texts: [name: string, text: string][] = [];
  for (const [name, capability] of catalog.capabilities) {
    texts.push([name, canonicalJson(value(capability))]);
    yield;
  }
  return canonicalRecord(texts);
}

/** The last half-day mark before `now`. */
function issuedAt(now: Date): number {
  const half = MANIFEST_LIFETIME_MS / 2;
  return Math.floor(now.getTime() / half) * half;
}

/** `private`: shared caches may not store it. */
export function documentOf(content: object, reach: 'public' | 'private' = 'public'): Document {
  // Canonical, so that the same content is the same bytes in every process.
  return documentOfText(canonicalJson(content), reach);
}

function documentOfText(text: string, reach: 'public' | 'private' = 'public'): Document {
  return {
    text,
    etag: `"sha256-${sha256Hex(text)}"`,
    headers: { 'cache-control': `${reach}, max-age=${DOCUMENT_MAX_AGE_SECONDS}` },
  };
}
