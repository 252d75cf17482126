/**
 * The API description: the table of operations as an OpenAPI 3.1 document.
 *
 * A pure function of the table, of the rows that a service offers and of the recorded examples, so it cannot
 * contradict the service. It adds only what belongs to HTTP: headers, statuses beside 200, and the location
 * of each field.
 *
 * @module
 */

import { parametersSchema, rebased, resultSchema } from '../domain/catalog/json-schema.ts';
import { Grant, QuorumAnswer } from '../protocol/approval.ts';
import type { CapabilityDeclaration } from '../protocol/capability.ts';
import { FailureAnswer } from '../protocol/failure.ts';
import { InvokeFailure, InvokeSuccess } from '../protocol/invocation.ts';
import { type Operation, type OperationName, operations } from '../protocol/operations.ts';
import { type JsonObject, partialSchema } from '../protocol/primitives.ts';
import { TTL_HOURS_MAX_DEFAULT } from '../protocol/token.ts';
import { PROTOCOL_VERSION } from '../protocol/trust.ts';
import { EXAMPLES, type Examples, type RecordedExample } from './examples.generated.ts';
import { type ApiHeaders, answerHeaders, documentHeaders, refusalHeaders } from './headers.ts';
import { COMPONENT, componentsOf, refTo, type Schema, type Schemas } from './schemas.ts';

export interface Content {
  readonly schema: Schema;
  readonly example?: unknown;
  /** By failure type. */
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface ApiResponse {
  readonly description: string;
  readonly headers?: ApiHeaders;
  readonly content?: Readonly<Record<string, Content>>;
}

interface ApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

export interface ApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly ApiParameter[];
  readonly requestBody?: { required: boolean; content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, ApiResponse>>;
}

export interface ApiDocument {
  readonly openapi: string;
  readonly info: { title: string; version: string; description: string; [field: string]: unknown };
  readonly servers: readonly object[];
  readonly tags: readonly { name: string; description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: {
    readonly securitySchemes: object;
    readonly schemas: Readonly<Record<string, Schema>>;
  };
}

const JSON_TYPE = 'application/json';

/** What the operations of a group are for, and the first words of their names. */
const GROUPS: Readonly<Record<string, readonly [description: string, ...words: string[]]>> = {
  trust: [
    'What anyone may fetch, and verify',
    'discovery',
    'jwks',
    'manifest',
    'graph',
    'handshake',
  ],
  authority: ['Tokens: issued, narrowed, looked at, ended', 'tokens', 'agents', 'permissions'],
  invocation: ['Using a capability, or asking what would happen', 'invoke', 'test'],
  approval: ['What a person has to agree to first', 'approval_grants', 'approval_requests'],
  log: ['The trail of every call, and the proofs about it', 'audit', 'checkpoints'],
  operator: ['For those who run the service', 'operator', 'identities'],
};

const SECURITY: Readonly<Record<Operation['auth'], ApiOperation['security']>> = {
  none: [],
  optional: [{}, { token: [] }, { credential: [] }],
  bearer: [{ credential: [] }, { token: [] }],
  token: [{ token: [] }],
};

const SECURITY_SCHEMES = {
  credential: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key, a service secret or an identity token: says who asks',
  },
  token: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A delegation token of this service: says what may be done',
  },
};

/** What one service has otherwise than another. */
export interface ServiceFacts {
  /** The operations that ask for a credential although their row does not. */
  readonly gated?: readonly OperationName[];
  readonly ttlHoursMax?: number;
  /** The capabilities that everyone may know, by name. */
  readonly capabilities?: ReadonlyMap<string, CapabilityDeclaration>;
  /** The path below which a mounted service has its own paths. */
  readonly basePath?: string;
}

/** Of a new operation: `npm run generate` starts a service that offers it, and records its example. */
const UNRECORDED: RecordedExample = { request: {}, answers: { 200: {} }, refusals: {} };

export function openApiDocument(
  offered: readonly OperationName[],
  schemas: Schemas,
  facts: ServiceFacts = {},
  examples: Examples = EXAMPLES,
): ApiDocument {
  const paths: Record<string, Record<string, ApiOperation>> = {};
  for (const name of offered) {
    const { method, path } = operations[name];
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: operationOf(name, schemas, facts, examples[name] ?? UNRECORDED),
    };
  }
  const tags = Object.entries(GROUPS)
    .filter(([tag]) => offered.some((name) => groupOf(name) === tag))
    .map(([name, [description]]) => ({ name, description }));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Governed capabilities for agents',
      version: PROTOCOL_VERSION,
      summary: 'Bounded delegation, human approval, verifiable audit',
      description:
        'Every answer outside 2xx is a failure that says whether and how to go on: `retry`, ' +
        '`resolution.action` and `resolution.recovery_class`. The examples are recorded at the travel ' +
        'desk; ids, times and signatures in them are stand-ins, and long lists are cut.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: facts.basePath || '/', description: 'The service that serves this document' }],
    tags,
    paths,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: {
        ...componentsOf([paths as Schema], schemas.components),
        ...capabilitySchemas(facts),
      },
    },
  };
}

/** For each capability: `<name>.parameters` and `<name>.result`, the two parts of an invocation that it defines. */
function capabilitySchemas({ capabilities = new Map() }: ServiceFacts): Record<string, Schema> {
  const named = (name: string, schema: JsonObject): [string, Schema] => [
    name,
    rebased(schema, `${COMPONENT}${name}`),
  ];
  return Object.fromEntries(
    [...capabilities].flatMap(([name, capability]) => [
      named(`${name}.parameters`, parametersSchema(capability)),
      named(`${name}.result`, resultSchema(capability)),
    ]),
  );
}

function groupOf(name: OperationName): string {
  const [first = ''] = name.split('.');
  const found = Object.entries(GROUPS).find(([, [, ...words]]) => words.includes(first));
  if (found) return found[0];
  throw new Error(`Cannot describe "${name}": it belongs to no group`);
}

function operationOf(
  name: OperationName,
  { requests }: Schemas,
  facts: ServiceFacts,
  example: RecordedExample,
): ApiOperation {
  const row: Operation = operations[name];
  const operation: Operation = facts.gated?.includes(name) ? { ...row, auth: 'bearer' } : row;
  const asked = { ...requests[name], ...(name === 'tokens.issue' && lifetimeRule(facts)) };
  const { parameters, body } = placedFields(operation, asked, example.request);
  return {
    operationId: name,
    summary: operation.summary,
    tags: [groupOf(name)],
    security: SECURITY[operation.auth],
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: (body.schema.required ?? []).length > 0,
        content: { [JSON_TYPE]: body },
      },
    }),
    responses: {
      ...answersOf(name, operation, example.answers),
      ...failuresOf(name, operation, example.refusals),
    },
  };
}

/** A root token lives at most so long. A child asks for any lifetime, and ends with its parent. */
function lifetimeRule({ ttlHoursMax = TTL_HOURS_MAX_DEFAULT }: ServiceFacts): Schema {
  return {
    if: partialSchema({ parent_token: { type: 'null' } }),
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, in an object that nothing awaits.
    then: partialSchema({ ttl_hours: { maximum: ttlHoursMax } }),
  };
}

/** Each field in the one location where HTTP carries it. */
function placedFields(
  { path, rest, headers = {}, method }: Operation,
  { properties = {}, required = [], ...schema }: Schema,
  example: RecordedExample['request'],
): { parameters: ApiParameter[]; body?: Content } {
  const locationOf = (field: string) => {
    if (path.includes(`{${field}}`)) return 'path';
    if (field in headers) return 'header';
    return rest === 'query' ? 'query' : 'body';
  };
  const parameters: ApiParameter[] = [];
  const inBody: Record<string, Schema> = {};
  for (const [field, property] of Object.entries(properties)) {
    const location = locationOf(field);
    if (location === 'body') inBody[field] = property;
    else {
      parameters.push({
        name: headers[field] ?? field,
        in: location,
        required: required.includes(field),
        schema: withoutNull(property),
        ...(field in example && { example: example[field] }),
      });
    }
  }
  if (method === 'GET' || rest === 'query') return { parameters };
  const needed = required.filter((field) => field in inBody);
  const sent = Object.entries(example).filter(([field]) => field in inBody);
  return {
    parameters,
    body: {
      schema: { ...schema, properties: inBody, ...(needed.length > 0 && { required: needed }) },
      example: Object.fromEntries(sent),
    },
  };
}

/** Leaving a field out is all that an address or a header can say of nothing. */
function withoutNull({ anyOf, ...schema }: Schema): Schema {
  if (!anyOf) return schema;
  const left = anyOf.filter(({ type }) => type !== 'null');
  const [only] = left;
  return left.length === 1 && only ? { ...schema, ...only } : { ...schema, anyOf: left };
}

/** Documents are fetched whole, cached and compared. */
const DOCUMENTS: readonly OperationName[] = ['discovery', 'jwks', 'manifest', 'graph', 'graph.get'];

function answersOf(
  name: OperationName,
  { response }: Operation,
  { 200: example, 202: pending }: RecordedExample['answers'],
): Record<string, ApiResponse> {
  if (name === 'invoke') return { '200': invoked(example) };
  if (name === 'approval_grants.issue') {
    return {
      '200': { description: 'The grant', content: json(refTo(Grant), example) },
      '202': {
        description: 'Taken, and below the quorum',
        content: json(refTo(QuorumAnswer), pending),
      },
    };
  }
  const answer = { description: 'The answer', content: json(refTo(response), example) };
  const headers = answerHeaders(name);
  if (!DOCUMENTS.includes(name)) return { '200': { ...answer, ...(headers && { headers }) } };
  return {
    '200': { ...answer, headers: documentHeaders(name) },
    '304': { description: 'The copy named by `If-None-Match` is still good' },
  };
}

function invoked(example: unknown): ApiResponse {
  return {
    description:
      'What the capability came to. With `stream`, events: `started`, any number of `progress`, then ' +
      '`completed` or `failed`, whose data is the answer with a `stream_summary`.',
    headers: { ...answerHeaders('invoke') },
    content: {
      ...json(refTo(InvokeSuccess), example),
      'text/event-stream': { schema: { type: 'string' } },
    },
  };
}

function failuresOf(
  name: OperationName,
  operation: Operation,
  refusals: RecordedExample['refusals'],
): Record<string, ApiResponse> {
  const headers = refusalHeaders(name, operation);
  const schema = refTo(name === 'invoke' || name === 'test' ? InvokeFailure : FailureAnswer);
  const content = (digit: 4 | 5): Record<string, Content> => {
    const found = Object.entries(refusals)
      .filter(([, { status }]) => Math.trunc(status / 100) === digit)
      .map(([type, { body }]) => [type, { value: body }]);
    const examples = found.length > 0 && { examples: Object.fromEntries(found) };
    return { [JSON_TYPE]: { schema, ...examples } };
  };
  return {
    '4XX': {
      description: 'Refused; the failure says what to do',
      headers: headers[4],
      content: content(4),
    },
    '5XX': {
      description: 'Not available, or the outcome is not known',
      headers: headers[5],
      content: content(5),
    },
  };
}

function json(schema: Schema, example: unknown): Record<string, Content> {
  return { [JSON_TYPE]: { schema, example } };
}
