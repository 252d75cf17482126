/**
 * What may import what: the layers of src, and the one place of each runtime dependency.
 *
 * Tables only; tidy.ts reads them. A new layer or dependency begins with a row here.
 *
 * @module
 */

/** The folders of src. */
export const FOLDERS: readonly string[] = [
  'protocol',
  'domain',
  'storage',
  'keyring',
  'service',
  'config',
  'openapi',
  'http',
  'stdio',
  'mcp',
  'verify',
  'witness',
  'client',
  'cli',
  'console',
  'testing',
];

/** The files that stand at the root of src. */
export const ROOT_FILES: readonly string[] = [
  'index.ts',
  'folder.ts',
  'keyring.ts',
  'log.ts',
  'oldest-node.ts',
  'open.ts',
  'package.ts',
  'platform.ts',
  'telemetry.ts',
];

const SERVICE_SEES = ['protocol', 'domain', 'platform', 'storage', 'keyring', 'log'];
const OPENING_SEES = [...SERVICE_SEES, 'config', 'service', 'telemetry', 'package'];
const TRANSPORT_SEES = [...OPENING_SEES, 'open'];
const AUTHORS_SEE = [
  ...TRANSPORT_SEES,
  'openapi',
  'http',
  'stdio',
  'mcp',
  'verify',
  'witness',
  'client',
];

/**
 * For each layer, the other layers it may import; `type x` allows only imports that vanish when
 * compiled. Transports do not know each other, and what a browser runs sees nothing of the service.
 */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  domain: ['protocol'],
  folder: [],
  package: [],
  platform: [],
  'oldest-node': ['package'],
  storage: ['protocol', 'domain', 'platform', 'folder'],
  keyring: ['protocol', 'domain', 'platform', 'folder'],
  log: ['domain', 'platform'],
  config: ['protocol', 'domain'],
  openapi: ['protocol', 'domain'],
  telemetry: ['service'],
  verify: ['protocol', 'domain'],
  witness: ['protocol', 'domain', 'keyring', 'folder'],
  service: [...SERVICE_SEES, 'type config'],
  open: OPENING_SEES,
  http: [...TRANSPORT_SEES, 'openapi'],
  stdio: TRANSPORT_SEES,
  mcp: TRANSPORT_SEES,
  client: ['protocol', 'domain', 'verify'],
  console: ['protocol', 'domain', 'client', 'verify'],
  index: [...AUTHORS_SEE, 'testing', 'oldest-node'],
  testing: [...AUTHORS_SEE, 'index'],
  cli: [...AUTHORS_SEE, 'index', 'testing', 'console'],
};

/**
 * The rooms of the layers that have some, each with the rooms it may import. Files beside the rooms tell
 * the story of the layer and import all of them; no room imports such a file unless `.` stands in its row.
 */
export const ROOMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  domain: {
    wire: [],
    values: [],
    authority: ['.', 'wire', 'values'],
    log: ['wire', 'values', 'authority'],
    invocation: ['.', 'wire', 'values', 'authority'],
    composition: ['.', 'wire', 'values', 'invocation'],
    catalog: ['.', 'wire', 'values', 'authority', 'invocation', 'composition'],
  },
  storage: {
    port: [],
    tables: ['port'],
    fsck: ['port'],
    sqlite: ['port', 'tables', 'fsck'],
    postgres: ['port', 'tables', 'fsck'],
  },
  service: {
    pace: [],
    author: [],
    core: ['pace', 'author'],
    authority: ['core', 'pace', 'author'],
    log: ['core', 'pace', 'authority'],
    rows: ['core', 'log'],
    approval: ['core', 'pace', 'author', 'authority'],
    invoke: ['core', 'pace', 'author', 'authority', 'approval'],
    compose: ['core', 'pace', 'author', 'authority', 'invoke'],
  },
  http: {
    bounds: [],
  },
};

/** A configuration file is named by its user, so its import cannot be written down. */
export const COMPUTED_IMPORTS_IN: readonly string[] = ['src/config/file.ts'];

/** Where Node is asked for time and chance: the port, and what is no part of a running service. */
export const ASKS_NODE: readonly string[] = [
  'src/platform.ts', // The port itself.
  'src/open.ts', // Gives it to a service that starts.
  'src/log.ts', // The default of a log that a program opens alone.
  'src/storage/sqlite/connection.ts', // The default of a store that a program opens alone.
  'src/storage/postgres/options.ts', // The default of a store that a program opens alone.
  'src/keyring/', // Secrets of keys, names of temporary files, the default of a program alone.
  'src/http/workers.ts', // Starts and stops processes, answers no request.
  'src/http/bounds/tick.ts', // Keeps an object of Node alive.
  'src/http/bounds/shed.ts', // Measures the delay of the event loop of Node itself.
  'src/client/', // Runs in programs that ask a service.
  'src/witness/', // A program of its own.
  'src/cli/', // Programs.
  'src/testing/', // Tests.
];

interface Place {
  /** Path prefixes. */
  readonly in: readonly string[];
  readonly why: string;
}

/** Every runtime dependency, optional ones too, where it may be imported, and why we have it. */
export const DEPENDENCIES: Readonly<Record<string, Place>> = {
  '@photostructure/sqlite': {
    in: ['src/storage/'],
    why: 'SQLite with its binaries in the package: Node 20 has no finished one, and nothing compiles',
  },
  fastify: {
    in: ['src/http/'],
    why: 'routing, limits and orderly shutdown of HTTP, and requests without a socket in tests',
  },
  jose: {
    in: ['src/service/authority/oidc.ts'],
    why: 'external identity tokens come in many shapes; our own tokens never pass through it',
  },
  '@modelcontextprotocol/node': {
    in: ['src/mcp/'],
    why: 'carries the requests of MCP between Node and the web-standard handler',
  },
  '@modelcontextprotocol/server': {
    in: ['src/mcp/'],
    why: 'the protocol of MCP in all its versions; what the tools are is ours',
  },
  'light-my-request': {
    in: [],
    why: 'fastify brings it; this version needs no package that asks for a later Node',
  },
  '@opentelemetry/api': {
    in: ['src/telemetry.ts'],
    why: 'the common names of spans and their context',
  },
  '@opentelemetry/exporter-trace-otlp-http': {
    in: ['src/telemetry.ts'],
    why: 'how spans travel to a collector; loaded only where one is configured',
  },
  '@opentelemetry/resources': {
    in: ['src/telemetry.ts'],
    why: 'names the service on its spans',
  },
  '@opentelemetry/sdk-trace': {
    in: ['src/telemetry.ts'],
    why: 'makes, samples and batches spans',
  },
  pg: {
    in: ['src/storage/'],
    why: 'the PostgreSQL protocol; the SQL is written by hand',
  },
  pino: {
    in: ['src/log.ts'],
    why: 'structured lines that do not slow down the calls they tell of',
  },
  yaml: {
    in: ['src/config/file.ts'],
    why: 'configuration files that people write by hand',
  },
  zod: {
    in: [
      'src/protocol/',
      'src/openapi/schemas.ts',
      'src/config/config.ts',
      'src/config/http.ts',
      'src/config/log.ts',
      'src/config/parts.ts',
      'src/config/webhook.ts',
      'src/config/words.ts',
    ],
    why: 'one schema gives the type, the parser and the JSON Schema of what travels or is configured',
  },
};
