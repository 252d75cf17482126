/**
 * What a fuzzed service is asked: every operation of the API description, and every other path that it
 * answers (pages, forms, the console, OAuth, MCP), each with a request of the right form.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import type { ApiDocument, ApiOperation } from '../../src/openapi/openapi.ts';
import { referred, type Schema } from '../../src/openapi/schemas.ts';
import { consoleMethods } from '../../src/protocol/console/methods.ts';
import { mutantsOf } from '../surfaces/schema-mutants.ts';

export const DOCUMENT: ApiDocument = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));

export interface Field {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  /** What an honest caller sends; left out where it is undefined. */
  readonly example?: string | undefined;
  readonly values: readonly string[];
}

export interface Target {
  readonly name: string;
  readonly method: string;
  /** With `{field}` for fields of the path. */
  readonly path: string;
  readonly fields: readonly Field[];
  readonly body?:
    | { readonly kind: 'json'; readonly example: unknown; readonly mutants: readonly unknown[] }
    | { readonly kind: 'form'; readonly fields: readonly (readonly [string, string])[] }
    | undefined;
  /** How the caller is known. */
  readonly by: 'bearer' | 'session' | 'nothing';
  /** The operation that the API description has, where there is one. */
  readonly operation?: ApiOperation | undefined;
}

function resolve(schema: Schema): Schema {
  const name = referred(schema);
  return name === undefined ? schema : resolve(DOCUMENT.components.schemas[name] as Schema);
}

function operationTargets(): Target[] {
  return Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const json = operation.requestBody?.content['application/json'];
      return {
        name: operation.operationId,
        method: method.toUpperCase(),
        path,
        by: 'bearer' as const,
        operation,
        fields: (operation.parameters ?? []).map(({ name, in: place, schema, example }) => ({
          name,
          in: place,
          example: example === undefined ? undefined : String(example),
          values: mutantsOf(schema, example, resolve)
            .map(({ value }) => value)
            .filter((value) => typeof value !== 'object')
            .map(String),
        })),
        body: json && {
          kind: 'json' as const,
          example: json.example ?? {},
          mutants: mutantsOf(json.schema, json.example, resolve).map(({ value }) => value),
        },
      };
    }),
  );
}

const query = (name: string, example?: string): Field => ({
  name,
  in: 'query',
  example,
  values: [],
});
const segment = (name: string, example: string): Field => ({
  name,
  in: 'path',
  example,
  values: [],
});

function page(path: string, by: Target['by'], ...fields: Field[]): Target {
  return { name: `GET ${path}`, method: 'GET', path, by, fields };
}

function form(path: string, by: Target['by'], ...fields: (readonly [string, string])[]): Target {
  return {
    name: `POST ${path}`,
    method: 'POST',
    path,
    by,
    fields: [],
    body: { kind: 'form', fields },
  };
}

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

/** A request of the client that every service knows. */
const AUTHORIZE: readonly (readonly [string, string])[] = [
  ['response_type', 'code'],
  ['client_id', 'writ-cli'],
  ['redirect_uri', 'http://127.0.0.1:53187/callback'],
  ['code_challenge', CHALLENGE],
  ['code_challenge_method', 'S256'],
  ['state', 'the state'],
  ['scope', 'travel.search'],
];

const CONSENT: readonly (readonly [string, string])[] = [
  [
    'request',
    new URLSearchParams(
      AUTHORIZE.map(([name, value]): [string, string] => [name, value]),
    ).toString(),
  ],
  ['c', 'search_flights'],
  ['limit', '0'],
  ['currency', 'USD'],
  ['until', '1h'],
  ['for', 'a trip'],
  ['pass', '0'],
  ['answer', 'allow'],
];

const PAGES: readonly Target[] = [
  ...['/', '/docs', '/openapi.json', '/healthz', '/readyz', '/metrics', '/console'].map((path) =>
    page(path, 'nothing'),
  ),
  ...['', '/mcp', '/svc'].map((place) =>
    page(`/.well-known/oauth-protected-resource${place}`, 'nothing'),
  ),
  page('/.well-known/oauth-authorization-server', 'nothing'),
  page('/sign-in', 'nothing', query('return_to', '/agents')),
  page('/sign-in/start', 'nothing', query('provider', 'none'), query('return_to', '/agents')),
  page('/sign-in/callback', 'nothing', query('code', 'a'), query('state', 'b'), query('error')),
  page('/sign-in/callback/{provider}', 'nothing', segment('provider', 'none'), query('state', 'b')),
  page('/authorize', 'session', ...AUTHORIZE.map(([name, value]) => query(name, value))),
  page('/agents', 'session'),
  page('/agents/end', 'session', query('agent', 'con_0')),
  page('/agents/stop', 'session'),
  page('/console/', 'session'),
  page('/console/approvals/{id}', 'session', segment('id', 'apr_0')),
  page('/console/assets/{file}', 'session', segment('file', 'index.js')),
  form('/sign-in', 'nothing', ['key', 'wrong'], ['return_to', '/agents']),
  form('/authorize', 'session', ...CONSENT),
  form('/agents/end', 'session', ['agent', 'con_0']),
  form('/sign-out', 'session', ['session', 'ses_0']),
  form('/token', 'nothing', ['grant_type', 'authorization_code'], ['code', 'a'], ...AUTHORIZE),
  form('/token', 'nothing', ['grant_type', 'refresh_token'], ['refresh_token', 'a']),
  form(
    '/token',
    'nothing',
    ['grant_type', 'urn:ietf:params:oauth:grant-type:token-exchange'],
    ['subject_token', 'a'],
    ['subject_token_type', 'urn:ietf:params:oauth:token-type:access_token'],
    ['client_id', 'writ-cli'],
  ),
  form('/revoke', 'nothing', ['token', 'a'], ['client_id', 'writ-cli']),
  form('/sign-in/logout', 'nothing', ['logout_token', 'a.b.c']),
];

function json(path: string, by: Target['by'], name: string, example: object): Target {
  return {
    name,
    method: 'POST',
    path,
    by,
    fields: [],
    body: { kind: 'json', example, mutants: [] },
  };
}

const rpc = (method: string, params?: object) =>
  json('/mcp', 'bearer', `mcp ${method}`, { jsonrpc: '2.0', id: 1, method, params });

const CALL = { name: 'search_flights', arguments: { origin: 'SEA', destination: 'SFO' } };

const PROGRAMS: readonly Target[] = [
  json('/register', 'nothing', 'POST /register', {
    client_name: 'A client',
    redirect_uris: ['http://127.0.0.1:9/callback'],
    token_endpoint_auth_method: 'none',
  }),
  rpc('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: { elicitation: {} },
    clientInfo: { name: 'a', version: '1' },
  }),
  rpc('ping'),
  rpc('tools/list', { cursor: 'a' }),
  rpc('tools/call', { ...CALL, _meta: { progressToken: 1, 'svc/task_id': 'a' } }),
  rpc('tools/call', { name: 'charter_jet', arguments: { route: 'SEA-SFO', date: '2026-12-02' } }),
  rpc('resources/list', {}),
  rpc('notifications/cancelled', { requestId: 1 }),
  rpc('completion/complete', { ref: { type: 'ref/prompt', name: 'a' } }),
];

/** Examples for the methods of the console that need fields. */
const CONSOLE: Readonly<Record<string, object>> = {
  inbox: { limit: 5 },
  decision: { approval_request_id: 'apr_0' },
  'decision.challenge': { approval_request_id: 'apr_0', decision: 'deny' },
  'passkeys.add': { label: 'a', challenge: 'a', client_data: 'a', authenticator_data: 'a' },
  'passkeys.remove': { credential_id: 'a' },
  agents: { limit: 5, ended: true },
  'agents.children': { token_id: 'tok_0' },
  'agents.ends': { token_id: 'tok_0' },
  'activity.entries': { token_id: 'tok_0', limit: '5' },
  'activity.days': { capability: 'search_flights' },
  'activity.invocation': { invocation_id: 'inv-0' },
  try: { capability: 'search_flights', parameters: CALL.arguments },
  'operations.end_session': { session_id: 'a' },
  'tokens.get': { token_id: 'tok_0' },
  'approval_requests.get': { approval_request_id: 'apr_0' },
  'audit.query': { limit: '5' },
  'checkpoints.get': { checkpoint_id: 'ckpt-0' },
};

function consoleTargets(): Target[] {
  const names = new Set([...Object.keys(consoleMethods), ...Object.keys(CONSOLE)]);
  return [...names].map((name) =>
    json(`/console/api/${name}`, 'session', `console ${name}`, CONSOLE[name] ?? {}),
  );
}

export const OPERATIONS: readonly Target[] = operationTargets();
export const OTHERS: readonly Target[] = [...PAGES, ...PROGRAMS, ...consoleTargets()];
