/**
 * The trust surface: the operations that need no credential, unless a gate is configured.
 *
 * @module
 */

import { graphOf } from '../../domain/catalog/graph.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import { satisfies } from '../../domain/values/version.ts';
import {
  type HandshakeAnswer,
  type HandshakeRequest,
  PROTOCOL,
  PROTOCOL_VERSION,
} from '../../protocol/trust.ts';
import { capabilityOf, type ServiceDefinition } from '../author/definition.ts';
import { type Document, type Documents, documentOf } from './documents.ts';
import { type Ask, type Method, type Methods, requestOf } from './operations.ts';

/** Refuses an unknown caller. */
export type Gate = (ask: Ask) => Promise<void>;

/** Decision 02: the operations that show what the service can do. A gate protects all of them. */
export const GATED = ['manifest', 'graph', 'graph.get', 'handshake'] as const;

export function trustMethods(
  definition: ServiceDefinition,
  documents: Documents,
  gate?: Gate,
): Methods {
  const graphs = createGraphs(definition, gate ? 'private' : 'public');
  const catalogMethods: Record<(typeof GATED)[number], Method> = {
    manifest: () => documents.manifest(),
    graph: () => graphs(),
    'graph.get': (ask) => graphs(requestOf('graph.get', ask).capability),
    handshake: (ask) => ({ body: handshake(definition, requestOf('handshake', ask)) }),
  };
  const open = { discovery: () => documents.discovery(), jwks: () => documents.jwks() };
  return { ...open, ...(gate ? gated(catalogMethods, gate) : catalogMethods) };
}

function gated(methods: Readonly<Record<string, Method>>, gate: Gate): Methods {
  return Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      async (ask: Ask) => {
        await gate(ask);
        return method(ask);
      },
    ]),
  );
}

/** The whole graph, or the part around one capability. Each is made when it is first asked for. */
function createGraphs(
  { catalog }: ServiceDefinition,
  reach: 'private' | 'public',
): (name?: string) => Document {
  // Bounded: only names of capabilities get here.
  const made = new Map<string | undefined, Document>();
  return (name) => {
    if (name !== undefined && !catalog.capabilities.has(name)) {
      const detail = `Cannot show "${name}": the service has no such capability`;
      throw new Refusal(failure('unknown_capability', detail));
    }
    const known = made.get(name);
    if (known) return known;
    const graph = documentOf(graphOf(catalog, name), reach);
    made.set(name, graph);
    return graph;
  };
}

/** A caller that requires nothing is compatible. */
function handshake(definition: ServiceDefinition, request: HandshakeRequest): HandshakeAnswer {
  const { protocol_versions: versions, capabilities: asked = {} } = request;
  const speaks =
    !versions || versions.some((version) => version === PROTOCOL_VERSION || version === PROTOCOL);
  const capabilities = Object.fromEntries(
    Object.entries(asked).map(([name, range]) => {
      const version = capabilityOf(definition, name)?.contract_version ?? null;
      const compatible = version !== null && satisfies(version, range);
      return [name, { compatible, contract_version: version }];
    }),
  );
  const fits = Object.values(capabilities).every(({ compatible }) => compatible);
  return { compatible: speaks && fits, protocol_version: PROTOCOL_VERSION, capabilities };
}
