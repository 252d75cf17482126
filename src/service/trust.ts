/**
 * The trust surface: what anyone may ask without a credential.
 *
 * @module
 */

import { failure, Refusal } from '../domain/failure.ts';
import { graphOf } from '../domain/graph.ts';
import { satisfies } from '../domain/version.ts';
import {
  type HandshakeAnswer,
  type HandshakeRequest,
  PROTOCOL,
  PROTOCOL_VERSION,
} from '../protocol/trust.ts';
import { capabilityOf, type ServiceDefinition } from './definition.ts';
import { type Document, type Documents, documentOf } from './documents.ts';
import { type Methods, requestOf } from './operations.ts';

export function trustMethods(definition: ServiceDefinition, documents: Documents): Methods {
  const names = [...definition.catalog.capabilities.keys()];
  const graph = documentOf(graphOf(definition.catalog));
  const around = new Map(
    names.map((name) => [name, documentOf(graphOf(definition.catalog, name))]),
  );
  return {
    discovery: () => documents.discovery(),
    jwks: () => documents.jwks(),
    manifest: () => documents.manifest(),
    graph: () => graph,
    'graph.get': (ask) => neighbours(around, requestOf('graph.get', ask).capability),
    handshake: (ask) => ({ body: handshake(definition, requestOf('handshake', ask)) }),
  };
}

function neighbours(around: ReadonlyMap<string, Document>, name: string): Document {
  const found = around.get(name);
  if (found) return found;
  const detail = `Cannot show "${name}": the service has no such capability`;
  throw new Refusal(failure('unknown_capability', detail));
}

/** A caller that names nothing is compatible: it asked for nothing that we lack. */
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
