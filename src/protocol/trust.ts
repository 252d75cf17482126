/**
 * The public documents: discovery, keys and manifest, which anyone may fetch and verify.
 *
 * @module
 */

import * as z from 'zod';
import { CapabilityDeclaration, SideEffectType } from './capability.ts';
import {
  boundedText,
  CallerClass,
  CapabilityName,
  Duration,
  ID_LENGTH_MAX,
  optional,
  Scope,
  SemanticVersion,
  ServiceId,
  Timestamp,
} from './primitives.ts';

export const PROTOCOL_VERSION = '0.24';
export const PROTOCOL = `svc/${PROTOCOL_VERSION}`;

export const Trust = z.object({
  level: z.enum(['declarative', 'signed', 'anchored']),
  anchoring: z.object({ cadence: Duration }).optional(),
});
export type Trust = z.infer<typeof Trust>;

export const DisclosureLevel = z.enum(['full', 'reduced', 'redacted']);
export type DisclosureLevel = z.infer<typeof DisclosureLevel>;

const ClassDisclosure = z.object({ caller_class: CallerClass, failure_detail: DisclosureLevel });

export const CapabilitySummary = z.object({
  description: z.string(),
  side_effect: z.object({ type: SideEffectType }),
  minimum_scope: z.array(Scope),
  financial: z.boolean(),
});
export type CapabilitySummary = z.infer<typeof CapabilitySummary>;

const Path = z.string().regex(/^\/\S*$/, 'expected a path');

export const Discovery = z.object({
  version: z.string(),
  protocol: z.string(),
  service_id: ServiceId,
  endpoints: z.record(z.string(), Path),
  /** Other protocols at the same address: name to path. */
  surfaces: z.record(z.string(), Path).optional(),
  /** Empty if the manifest requires a credential. */
  capabilities: z.record(CapabilityName, CapabilitySummary),
  /** Absent if the manifest is public. */
  manifest_access: z.literal('authenticated').optional(),
  trust: Trust,
  metadata_disclosure: ClassDisclosure.extend({ classes: z.array(ClassDisclosure) }).optional(),
});
export type Discovery = z.infer<typeof Discovery>;

export const DiscoveryAnswer = z.object({ svc_discovery: Discovery });
export type DiscoveryAnswer = z.infer<typeof DiscoveryAnswer>;

const Coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'expected 32 bytes in base64url');

export const PublicKey = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: Coordinate,
  y: Coordinate,
  kid: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  use: z.literal('sig'),
  alg: z.literal('ES256'),
});
export type PublicKey = z.infer<typeof PublicKey>;

/** A compact JWS in which a key names its successor (`domain/log/successor.ts`). */
export const SuccessorStatement = z
  .string()
  .max(2_048)
  .regex(/^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/, 'expected a compact JWS');

/** Of both uses together. */
export const SUCCESSOR_STATEMENTS_MAX = 128;

/**
 * RFC 7517 allows further members, which other readers ignore. Absent before the first
 * rotation.
 */
export const Jwks = z.object({
  keys: z.array(PublicKey).min(1),
  svc_successors: z.array(SuccessorStatement).max(SUCCESSOR_STATEMENTS_MAX).optional(),
});
export type Jwks = z.infer<typeof Jwks>;

/**
 * What a service offers, and the level of trust that it declares. The service signs it.
 *
 * @example
 * import { createService } from 'writ';
 * import type { Manifest } from 'writ/client';
 * import { expectAnswer, testService } from 'writ/testing';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const manifest: Manifest = expectAnswer(await desk.human('ann').client.manifest());
 * console.log(manifest.service_identity.id, Object.keys(manifest.capabilities));
 * await desk.close();
 */
export const Manifest = z.object({
  manifest_metadata: z.object({
    version: z.string(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
    issued_at: Timestamp,
    expires_at: Timestamp,
  }),
  service_identity: z.object({
    id: ServiceId,
    jwks_uri: z.string(),
    issuer_mode: z.literal('self'),
  }),
  trust: Trust,
  capabilities: z.record(CapabilityName, CapabilityDeclaration),
});
export type Manifest = z.infer<typeof Manifest>;

export const GraphEdgeType = z.enum([
  'requires',
  'composition',
  'compensation',
  'refresh',
  'verify',
  'cross_service',
]);

/** `service` is set on nodes of other services that a capability refers to. */
export const GraphNode = z.object({
  capability: CapabilityName,
  service: ServiceId.optional(),
  side_effect: SideEffectType.optional(),
  kind: z.enum(['atomic', 'composed']).optional(),
});

export const GraphEdge = z.object({
  type: GraphEdgeType,
  from: CapabilityName,
  to: CapabilityName,
  service: ServiceId.optional(),
  relation: z.string().optional(),
  reason: z.string().optional(),
});
export type GraphEdge = z.infer<typeof GraphEdge>;

export const Graph = z.object({ nodes: z.array(GraphNode), edges: z.array(GraphEdge) });
export type Graph = z.infer<typeof Graph>;

export const GraphRequest = z.object({ capability: boundedText(ID_LENGTH_MAX, 0) });

/** Bounds the request by the largest number of capabilities of a service. */
const HANDSHAKE_CAPABILITIES_MAX = 1_000;

const VersionRange = boundedText(256);

export const HandshakeRequest = z.object({
  protocol_versions: optional(z.array(boundedText(64, 0)).max(64)),
  capabilities: optional(
    z
      .record(CapabilityName, VersionRange)
      .refine((asked) => Object.keys(asked).length <= HANDSHAKE_CAPABILITIES_MAX, {
        message: `expected at most ${HANDSHAKE_CAPABILITIES_MAX} capabilities`,
      })
      .meta({ maxProperties: HANDSHAKE_CAPABILITIES_MAX }),
  ),
});
export type HandshakeRequest = z.output<typeof HandshakeRequest>;

export const HandshakeAnswer = z.object({
  compatible: z.boolean(),
  protocol_version: z.string(),
  capabilities: z.record(
    CapabilityName,
    z.object({ compatible: z.boolean(), contract_version: SemanticVersion.nullable() }),
  ),
});
export type HandshakeAnswer = z.infer<typeof HandshakeAnswer>;

/**
 * The same schema, for what a newer service may have published: a field that it added is kept, not refused. What is known
 * here is checked as before. Where a value may have several forms, it may have one that is not known.
 */
export function lenient<Schema extends z.ZodType>(schema: Schema): Schema {
  return loosened(schema) as Schema;
}

type AnyDef = z.core.$ZodTypeDef & Record<string, unknown>;

function loosened(schema: z.ZodType): z.ZodType {
  const def = schema.def as AnyDef;
  const changed = CHANGES[def.type]?.(def);
  return changed ? schema.clone({ ...def, ...changed }) : schema;
}

const inner = ({ innerType }: AnyDef) => ({ innerType: loosened(innerType as z.ZodType) });

/** By the type of a schema: the parts of its definition that change. */
const CHANGES: Readonly<Record<string, (def: AnyDef) => object>> = {
  object: ({ shape }) => ({
    shape: Object.fromEntries(
      Object.entries(shape as z.ZodRawShape).map(([name, each]) => [
        name,
        loosened(each as z.ZodType),
      ]),
    ),
    catchall: z.unknown(),
  }),
  union: ({ options }) => ({
    options: [...(options as z.ZodType[]).map(loosened), z.looseObject({})],
  }),
  array: ({ element }) => ({ element: loosened(element as z.ZodType) }),
  record: ({ valueType }) => ({ valueType: loosened(valueType as z.ZodType) }),
  // What an author writes in short is published in full, and what an older service published is kept as it is.
  pipe: ({ out }) => ({ in: loosened(out as z.ZodType), out: loosened(out as z.ZodType) }),
  optional: inner,
  nullable: inner,
  default: inner,
};
