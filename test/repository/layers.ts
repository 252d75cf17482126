/**
 * What may import what in src: layers, the rooms of a layer, and the packages we depend on.
 *
 * Tables only; tidy.test.ts reads them. A new layer, room or dependency begins with a row here. The
 * linter could state them too, as one override for each folder; a table is shorter and is read as one.
 *
 * @module
 */

const SERVICE_SEES = [
  'protocol',
  'address',
  'domain',
  'platform',
  'steps',
  'storage',
  'keyring',
  'log',
];
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
  'guard',
];

/**
 * For each layer, the other layers it may import; `type x` allows only imports that vanish when
 * compiled. Transports do not know each other, and what a browser runs sees nothing of the service.
 */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  // Reads names and addresses, without a lookup.
  address: [],
  // How the work of a call waits.
  steps: [],
  domain: ['protocol', 'address'],
  folder: [],
  package: [],
  platform: [],
  'oldest-node': ['package'],
  storage: ['protocol', 'domain', 'platform', 'folder', 'steps'],
  keyring: ['protocol', 'domain', 'platform', 'folder'],
  log: ['domain', 'platform'],
  config: ['protocol', 'address', 'domain'],
  openapi: ['protocol', 'domain'],
  telemetry: ['service', 'log', 'platform'],
  verify: ['protocol', 'domain'],
  witness: ['protocol', 'domain', 'keyring', 'folder'],
  // It verifies passkeys by the same code as an offline verifier.
  service: [...SERVICE_SEES, 'verify', 'type config', 'package'],
  open: OPENING_SEES,
  http: [...TRANSPORT_SEES, 'openapi'],
  stdio: TRANSPORT_SEES,
  mcp: TRANSPORT_SEES,
  // Turns tools of others into capabilities, as an author would.
  guard: ['protocol', 'address', 'domain', 'platform', 'log', 'service', 'package'],
  client: ['protocol', 'domain', 'verify'],
  // A stranger to the service: it knows the protocol, and what anyone can verify.
  attack: ['domain', 'verify', 'package'],
  console: ['protocol', 'domain', 'client', 'verify'],
  index: [...AUTHORS_SEE, 'testing', 'oldest-node'],
  testing: [...AUTHORS_SEE, 'index'],
  conformance: ['protocol', 'domain', 'verify'],
  cli: [...AUTHORS_SEE, 'index', 'testing', 'console', 'folder', 'attack'],
};

/**
 * The rooms of the layers that have some, each with the rooms it may import. Files beside the rooms tell
 * the story of the layer and import all of them; no room imports such a file unless `.` stands in its row.
 */
export const ROOMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  domain: {
    wire: [],
    values: [],
    conditions: ['wire', 'values'],
    authority: ['.', 'wire', 'values', 'conditions'],
    log: ['wire', 'values', 'authority'],
    invocation: ['.', 'wire', 'values', 'conditions', 'authority'],
    composition: ['.', 'wire', 'values', 'invocation'],
    catalog: ['.', 'wire', 'values', 'conditions', 'authority', 'invocation', 'composition'],
    'sign-in': ['.', 'wire', 'values', 'authority', 'invocation', 'composition', 'catalog'],
    passkey: ['wire', 'values', 'log'],
    decision: ['wire', 'values', 'authority', 'invocation', 'catalog', 'sign-in'],
  },
  storage: {
    port: [],
    tables: ['port'],
    sql: ['port', 'tables'],
    stories: ['port', 'tables', 'sql', 'log'],
    log: ['port', 'tables', 'sql'],
    fsck: ['port', 'log'],
    backup: ['port', 'tables', 'log'],
    sqlite: ['port', 'tables', 'sql', 'stories', 'log', 'fsck', 'backup'],
    postgres: ['port', 'tables', 'sql', 'stories', 'log', 'fsck', 'backup'],
  },
  service: {
    pace: [],
    outbound: [],
    author: ['outbound'],
    'http-api': ['outbound', 'author'],
    foreign: ['pace'],
    operations: ['pace', 'outbound', 'author'],
    caller: ['operations', 'pace'],
    call: ['operations', 'caller', 'author'],
    authority: ['foreign', 'operations', 'caller', 'call', 'pace', 'outbound', 'author'],
    'sign-in': ['operations', 'caller', 'call', 'outbound', 'authority'],
    agents: ['operations', 'caller', 'pace', 'authority', 'sign-in'],
    accounts: ['operations', 'caller', 'pace', 'outbound', 'author', 'sign-in'],
    log: ['operations', 'caller', 'pace', 'outbound', 'authority'],
    rows: ['operations', 'log'],
    passkey: ['operations', 'caller'],
    people: ['operations', 'caller', 'authority', 'sign-in', 'passkey'],
    approval: [
      'foreign',
      'operations',
      'caller',
      'call',
      'pace',
      'outbound',
      'author',
      'authority',
      'passkey',
    ],
    invoke: ['foreign', 'operations', 'caller', 'call', 'pace', 'author', 'authority', 'approval'],
    compose: ['operations', 'caller', 'call', 'pace', 'author', 'authority', 'invoke'],
    console: [
      'foreign',
      'operations',
      'caller',
      'pace',
      'author',
      'authority',
      'sign-in',
      'agents',
      'log',
      'passkey',
      'people',
      'approval',
      'invoke',
    ],
  },
  attack: {
    target: [],
    cases: ['.', 'target'],
  },
  http: {
    bounds: [],
    page: [],
    'sign-in': ['.', 'bounds', 'page'],
    console: ['.', 'bounds', 'sign-in'],
    mounted: ['.', 'bounds', 'sign-in', 'console'],
  },
};

/** Where Node is asked for time and chance: the port, and what is no part of a running service. */
export const ASKS_NODE: readonly string[] = [
  'src/platform.ts', // The port itself.
  'src/open.ts', // Gives it to a service that starts.
  'src/log.ts', // The default of a log that a program opens alone.
  'src/telemetry.ts', // Bounds how long a stop waits for a collector, when no call runs any more.
  'src/storage/sqlite/connection.ts', // The default of a store that a program opens alone.
  'src/storage/postgres/options.ts', // The default of a store that a program opens alone.
  'src/keyring/', // Secrets of keys, names of temporary files, the default of a program alone.
  'src/http/workers.ts', // Starts and stops processes, answers no request.
  'src/http/bounds/shed.ts', // Measures the delay of the event loop of Node itself.
  'src/client/', // Runs in programs that ask a service.
  'src/console/', // Runs in a browser.
  'src/witness/', // A program of its own.
  'src/attack/', // A program of its own.
  'src/cli/', // Programs.
  'src/testing/', // Tests.
  'src/conformance/', // Tests of other implementations.
];

/**
 * Every runtime dependency that src imports: why we have it, and the paths that may import it. What a
 * path may import of Node is a rule of the linter.
 */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  // SQLite with its binaries in the package: Node 20 has no finished one, and nothing compiles.
  '@photostructure/sqlite': ['src/storage/'],
  // External identity tokens come in many shapes. Our own tokens never pass through it.
  jose: ['src/service/authority/issuers.ts'],
  // The protocol of MCP in all its versions. What the tools are is ours.
  '@modelcontextprotocol/server': ['src/mcp/'],
  // The other side of it, for guarded servers. Loaded by the guard alone.
  '@modelcontextprotocol/client': ['src/guard/', 'src/testing/'],
  // Spans: their common names, their resource, how they are made and how they travel. Optional.
  '@opentelemetry/api': ['src/telemetry.ts'],
  '@opentelemetry/exporter-trace-otlp-http': ['src/telemetry.ts'],
  '@opentelemetry/resources': ['src/telemetry.ts'],
  '@opentelemetry/sdk-trace': ['src/telemetry.ts'],
  // The pages of the console: what is shown, and what it depends on. Built into the package.
  preact: ['src/console/'],
  '@preact/signals': ['src/console/'],
  // The PostgreSQL protocol. The SQL is written by hand.
  pg: ['src/storage/'],
  // Structured log lines that do not slow down the calls they report.
  pino: ['src/log.ts'],
  // Configuration files that people write by hand.
  yaml: ['src/config/file.ts', 'src/guard/', 'src/cli/token/where.ts'],
  // The library is known to one file; commands are data.
  commander: ['src/cli/shell/program.ts'],
  // One schema gives the type, the parser and the JSON Schema of what travels or is configured.
  zod: [
    'src/protocol/',
    'src/config/',
    'src/openapi/schemas.ts',
    'src/service/operations/sent-fields.ts',
    'src/guard/',
  ],
  // SHA-256 of Node or of the browser, by the `imports` of package.json.
  '#sha256': ['src/domain/'],
};

/** The framework of each example that mounts a service in an app. */
export const EXAMPLE_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'examples/demo': ['@modelcontextprotocol/server', '@modelcontextprotocol/server/stdio'],
  'examples/express': ['express'],
  'examples/hono': ['hono', '@hono/node-server'],
};
