/**
 * Documents: the public texts of the service, made once and served many times.
 *
 * Nothing is serialised or signed per request. The manifest is issued at fixed half-day marks, so
 * every replica with the same declarations makes the same bytes without asking the others. What grows
 * with the catalog is made in slices; requests that come meanwhile wait for the same document.
 *
 * @module
 */

import { canonicalJson, canonicalRecord } from '../../domain/wire/canonical.ts';
import { sha256Hex, utf8 } from '../../domain/wire/hash.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import { ARTEFACTS } from '../../keyring/wire.ts';
import type { Capability, CapabilityDeclaration } from '../../protocol/capability.ts';
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

/** A manifest lives a day and is replaced at half-life: a copy fetched now is good for half a day. */
const MANIFEST_LIFETIME_MS = 86_400_000;

/** How long a fetched copy may be used without asking again. Key rotation waits longer than this. */
export const DOCUMENT_MAX_AGE_SECONDS = 300;

/** A text with the headers that belong to exactly its bytes. */
export interface Document {
  readonly text: string;
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface DocumentSources {
  readonly definition: ServiceDefinition;
  readonly keyring: Keyring;
  baseUrl(): string;
  /** Asked once, when discovery is first fetched: by then every method is bound. */
  offered(): readonly OperationName[];
  /** Other protocols at the same address, with their paths; complete by then too. */
  readonly surfaces: ReadonlyMap<string, string>;
  readonly disclosure: Readonly<Record<string, DisclosureLevel>>;
  readonly slices: Slices;
  /** Whether what the service can do is kept from strangers. */
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
    // Remade too when keys change: the signature must verify with the keys that are published. And
    // when the address does: it is not final before the service listens.
    manifest: remadeInSlices(
      () => `${issuedAt(sources.now())} ${sources.keyring.revision()} ${sources.baseUrl()}`,
      () => slices.finish(signedManifest(sources)),
    ),
  };
}

/** Makes a document again only when the version it was made for has passed. */
function remade(version: () => string, make: () => Document): () => Document {
  let made: { version: string; document: Document } | undefined;
  return () => {
    const current = version();
    if (made?.version !== current) made = { version: current, document: make() };
    return made.document;
  };
}

/** The same for a document that is made in slices. One that could not be made is tried again. */
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

/** What stands in the documents, but for the map of capabilities, whose text is made in steps. */
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
  const { disclosure, surfaces, isGated } = sources;
  const classes = Object.entries(disclosure).map(([caller_class, failure_detail]) => ({
    caller_class,
    failure_detail,
  }));
  return {
    version: PROTOCOL_VERSION,
    protocol: PROTOCOL,
    service_id: definition.id,
    endpoints: Object.fromEntries(
      offered().map((name) => [operations[name].endpoint, operations[name].path]),
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

function declarationOf({ name: _, ...declaration }: Capability): CapabilityDeclaration {
  return declaration;
}

/** The canonical text of a map by name, a capability in a step. */
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

/** The half-day mark that has passed last. */
function issuedAt(now: Date): number {
  const half = MANIFEST_LIFETIME_MS / 2;
  return Math.floor(now.getTime() / half) * half;
}

/** `private`: no cache that callers share may keep it. */
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
