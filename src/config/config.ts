/**
 * Configuration: every setting of a running service, in one schema.
 *
 * A setting comes from the environment, else from the configuration file, else from its default. An
 * unknown setting, or a value that cannot be used, stops the start; one error lists all such faults.
 * `variables.ts` decides about variables that are no setting.
 * The reference page is generated from the schema, so it cannot be out of date.
 *
 * @module
 */

import { join, resolve } from 'node:path';
import * as z from 'zod';
import { openHost } from '../address/host.ts';
import { sha256Hex } from '../domain/wire/hash.ts';
import { CallerClass } from '../protocol/primitives.ts';
import { TTL_HOURS_MAX_DEFAULT } from '../protocol/token.ts';
import { DisclosureLevel } from '../protocol/trust.ts';
import { APPROVAL_ENVIRONMENT, ApprovalSettings } from './approvals.ts';
import { readConfigFile } from './file.ts';
import * as http from './http.ts';
import * as log from './log.ts';
import { ISSUER_RULES } from './oidc.ts';
import {
  ActorPolicyRule,
  Count,
  EntitlementRule,
  Hours,
  Identity,
  OidcIssuer,
  PortNumber,
  Rate,
  Text,
  wholeNumber,
} from './parts.ts';
import { insecureSignIn, SignInSettings, withClientSecrets } from './sign-in.ts';
import { expectedBy, noSuchSetting, strayVariables } from './variables.ts';
import { OutsideUrl, Webhooks, type WebhookTarget, withTargetSecrets } from './webhook.ts';

export const Settings = z.strictObject({
  host: Text.default('127.0.0.1').describe('The address to listen on'),
  port: PortNumber.default(8420).describe('The port to listen on; 0 takes a free one'),
  workers: wholeNumber(1, 64)
    .default(1)
    .describe(
      'How many worker processes share the port; each has its own metrics; a `memory:` store allows one',
    ),
  public_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('The URL at which callers reach the service; by default the address it listens on'),
  data: Text.default('./.writ').describe('The folder for the embedded store and the keys'),
  store: z
    .string()
    .regex(
      /^(?:memory:|sqlite:.+|postgres(?:ql)?:\/\/.+)$/,
      'expected memory:, sqlite:<file> or postgres://…',
    )
    .optional()
    .describe('`memory:`, `sqlite:<file>` or `postgres://…`; by default a file in the data folder'),
  keys: Text.optional().describe(
    'The folder of the signing keys, shared by replicas; by default `keys` in the data folder',
  ),
  token_keys: Text.optional().describe(
    'Private keys for tokens (PEM blocks or a JSON array of JWKs) instead of the folder',
  ),
  log_keys: Text.optional().describe(
    'Private keys for the log, in the same forms, instead of the folder',
  ),
  successors: Text.optional().describe(
    'With keys in the environment: the statements that `writ keys successor` printed, separated by spaces',
  ),
  row_keys: Text.optional().describe(
    'Secret keys that authenticate stored rows, 32 bytes in base64 each, the newest first; set with `token_keys` and `log_keys`',
  ),
  ...log.LogSettings,
  log_level: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('The least severe level that the service logs, as JSON lines on standard error'),
  max_ttl_hours: Hours.default(TTL_HOURS_MAX_DEFAULT).describe(
    'The longest lifetime a root token may ask for',
  ),
  max_delegation_depth: wholeNumber(0, 32)
    .default(5)
    .describe('The greatest delegation depth of a token below its root token'),
  rate_limit: Rate.optional().describe(
    'How many invocations each root principal and its delegates may make over all replicas, such as `100/PT1M`; without it only `principal_rate` applies',
  ),
  ...ApprovalSettings,
  ...http.HttpSettings,
  otlp_endpoint: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'The OpenTelemetry collector that gets a span per invocation (OTLP over HTTP); needs the optional OpenTelemetry packages',
    ),
  stop_grace_seconds: Count.default(25).describe(
    'How long running requests may take when the service stops',
  ),
  oidc_issuer_url: OutsideUrl.optional().describe('The issuer whose identity tokens are accepted'),
  oidc_audience: Text.optional().describe('The audience that such a token must name'),
  oidc: z
    .array(OidcIssuer)
    .default([])
    .describe('Issuers whose identity tokens are accepted, with their mapping rules'),
  sign_in: SignInSettings.prefault({}).describe(
    'Sessions, clients and consent of people who sign in with a browser',
  ),
  manifest_access: z
    .enum(['public', 'authenticated'])
    .default('public')
    .describe(
      '`authenticated` hides the capabilities from callers without a credential: manifest, graph and handshake require one, and discovery lists no capability',
    ),
  disclosure: z
    .record(CallerClass, DisclosureLevel)
    .default({})
    .describe(
      'How much of a failure the service discloses to each caller class; overrides the defaults',
    ),
  entitlements: z
    .array(EntitlementRule)
    .default([])
    .describe(
      'What principals that authenticate in another way than by `identities` may put into tokens; the first rule that matches applies',
    ),
  actor_policies: z
    .array(ActorPolicyRule)
    .default([])
    .describe(
      'Values of inputs that the service derives from the acting principal; the first rule that matches applies',
    ),
  webhooks: Webhooks.default([]).describe(
    'Targets that the service notifies about approval requests',
  ),
  identities: z
    .array(Identity)
    .default([])
    .describe(
      'Credentials that the service accepts, with the principal and the entitlement of each',
    ),
});
export type Settings = z.output<typeof Settings>;
/** The settings as written: those with a default may be absent. */
export type GivenSettings = Partial<z.input<typeof Settings>>;
export type SettingName = keyof Settings;

/** Settings with an environment variable. Only the configuration file can set lists. */
export const ENVIRONMENT = {
  host: 'HOST',
  port: 'PORT',
  workers: 'WRIT_WORKERS',
  public_url: 'WRIT_PUBLIC_URL',
  data: 'WRIT_DATA',
  store: 'WRIT_STORE',
  keys: 'WRIT_KEYS',
  token_keys: 'WRIT_TOKEN_KEYS',
  log_keys: 'WRIT_LOG_KEYS',
  successors: 'WRIT_SUCCESSORS',
  row_keys: 'WRIT_ROW_KEYS',
  ...log.LOG_ENVIRONMENT,
  log_level: 'WRIT_LOG_LEVEL',
  max_ttl_hours: 'WRIT_MAX_TTL_HOURS',
  max_delegation_depth: 'WRIT_MAX_DELEGATION_DEPTH',
  rate_limit: 'WRIT_RATE_LIMIT',
  ...APPROVAL_ENVIRONMENT,
  ...http.HTTP_ENVIRONMENT,
  otlp_endpoint: 'OTEL_EXPORTER_OTLP_ENDPOINT',
  stop_grace_seconds: 'WRIT_STOP_GRACE_SECONDS',
  oidc_issuer_url: 'OIDC_ISSUER_URL',
  oidc_audience: 'OIDC_AUDIENCE',
  manifest_access: 'WRIT_MANIFEST_ACCESS',
} as const satisfies Partial<Record<SettingName, string>>;

/** Names the configuration file; the default is `writ.config.*` in the working folder. */
export const CONFIG_FILE_VARIABLE = 'WRIT_CONFIG';

const VARIABLE_OF: Readonly<Record<string, string | undefined>> = {
  ...Object.fromEntries(Object.keys(Settings.shape).map((setting) => [setting, undefined])),
  ...ENVIRONMENT,
  config: CONFIG_FILE_VARIABLE,
};

/** The disclosure of each caller class when nothing else is configured. */
export const DISCLOSURE_DEFAULTS: Readonly<Record<string, DisclosureLevel>> = {
  internal: 'full',
  partner: 'reduced',
  automated_agent: 'full',
  default: 'reduced',
};

/** The settings as the program uses them: defaults filled in, paths absolute. */
export interface Config extends Omit<Settings, 'store' | 'keys' | 'public_url' | 'webhooks'> {
  readonly store: string;
  readonly keys: string;
  readonly public_url?: string | undefined;
  readonly stop_delay_seconds: number;
  readonly webhooks: readonly WebhookTarget[];
}

/** All faults of a configuration, in one message. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(faults: readonly string[], options?: ErrorOptions) {
    const lines = ['Cannot start with this configuration:', ...faults.map((each) => `  ${each}`)];
    super(lines.join('\n'), options);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

export { MARK_FILE, unsafeMark } from './log.ts';

/** Variables of the user that runs the process, independent of the settings. */
export function stateFolder(): string {
  return log.stateFolderIn(process.env);
}

/** Reads environment and file. `given` are values of the program; environment and file override them. */
export async function loadConfig(
  folder: string,
  given: GivenSettings = {},
  environment: Environment = process.env,
): Promise<Config> {
  const { faults: unknown } = strayVariables(environment, VARIABLE_OF);
  const file = await readConfigFile(environment[CONFIG_FILE_VARIABLE], folder);
  if ('fault' in file) throw new ConfigError([file.fault, ...unknown], { cause: file.cause });
  const settings = { ...given, ...file.settings, ...fromEnvironment(environment) };
  const { config, faults } = checked(withDemoMarks(settings, given), folder);
  const secrets = withClientSecrets(config.oidc, environment);
  const targets = withTargetSecrets(config.webhooks, environment);
  const all = [...unknown, ...faults, ...secrets.faults, ...targets.faults];
  if (all.length > 0) throw new ConfigError(all);
  return { ...config, oidc: secrets.oidc, webhooks: targets.webhooks };
}

/** Variables that begin with `WRIT_`, are no setting, and do not resemble one. */
export function ignoredVariables(environment: Environment = process.env): string[] {
  return strayVariables(environment, VARIABLE_OF).ignored;
}

/** Variables of OpenTelemetry that its packages do not read themselves. */
export function samplingVariables(environment: Environment = process.env) {
  return { sampler: environment.OTEL_TRACES_SAMPLER, arg: environment.OTEL_TRACES_SAMPLER_ARG };
}

/** The unchecked contents of the configuration file; empty without a file. */
export async function fileSettings(
  folder: string,
  environment: Environment,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const file = await readConfigFile(environment[CONFIG_FILE_VARIABLE], folder);
  if ('fault' in file) throw new ConfigError([file.fault], { cause: file.cause });
  return Object.keys(file.settings).length === 0 ? undefined : { ...file.settings };
}

/** A demo credential stays a demo credential if a file gives it to another principal: it is public. */
function withDemoMarks(settings: GivenSettings, given: GivenSettings): GivenSettings {
  const demo = new Set(given.identities?.filter((each) => each.demo).map(credentialDigest));
  const { identities } = settings;
  if (!Array.isArray(identities)) return settings;
  const marked = identities.map((each) =>
    typeof each === 'object' && each !== null && demo.has(credentialDigest(each))
      ? { ...each, demo: true }
      : each,
  );
  return { ...settings, identities: marked };
}

function credentialDigest({ key, key_sha256 }: { key?: unknown; key_sha256?: unknown }): string {
  return typeof key_sha256 === 'string' ? key_sha256 : hexDigestOf(String(key ?? ''));
}

/** Checks settings and fills in values derived from others. */
export function configOf(settings: object, folder: string): Config {
  const { config, faults } = checked(settings, folder);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** All faults, and the configuration without the settings that cannot be used. */
function checked(settings: object, folder: string): { config: Config; faults: string[] } {
  const { error } = Settings.safeParse(settings);
  const issues = error?.issues ?? [];
  const unusable = new Set(
    issues.flatMap((issue) => [
      ...issue.path.slice(0, 1),
      ...(issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : []),
    ]),
  );
  const usable = Object.entries(settings).filter(([name]) => !unusable.has(name));
  const config = filledIn(Settings.parse(Object.fromEntries(usable)), folder);
  const contradictions = CONTRADICTIONS.flatMap(({ of, find }) =>
    of.some((name) => unusable.has(name)) ? [] : (find(config) ?? []),
  );
  return { config, faults: [...issues.flatMap(faultsOf), ...contradictions] };
}

/** Names the setting, never its value: a value may be a secret. */
function faultsOf(issue: z.core.$ZodIssue): string[] {
  const settingName = (...more: string[]) =>
    `Cannot use setting "${[...issue.path, ...more].join('.')}"`;
  if (issue.code !== 'unrecognized_keys') return [`${settingName()}: ${expectedBy(issue)}`];
  const known = issue.path.length === 0 ? Object.keys(Settings.shape) : [];
  return issue.keys.map((key) => `${settingName(key)}: ${noSuchSetting(key, known)}`);
}

function filledIn(settings: Settings, folder: string): Config {
  const data = resolve(folder, settings.data);
  const store = log.absoluteStore(settings.store ?? `sqlite:${join(data, 'writ.db')}`, folder);
  const keys = resolve(folder, settings.keys ?? join(data, 'keys'));
  return {
    ...settings,
    data,
    store,
    keys,
    mark: log.markAddress({ ...settings, store }, folder, stateFolder()),
    public_url: settings.public_url?.replace(/\/+$/, ''),
    stop_delay_seconds: http.stopDelayOf(settings),
    disclosure: { ...DISCLOSURE_DEFAULTS, ...settings.disclosure },
    oidc: [...fromShortForm(settings), ...settings.oidc],
  };
}

/** `OIDC_ISSUER_URL` and `OIDC_AUDIENCE` are one more issuer, with the default rules. */
function fromShortForm({ oidc_issuer_url: issuer, oidc_audience: audience }: Settings) {
  return issuer && audience ? [OidcIssuer.parse({ issuer, audience })] : [];
}

/** Finds settings that are valid each but not together. */
type Rule = (config: Config) => string | undefined;

const halfConfiguredOidc: Rule = ({ oidc_issuer_url, oidc_audience }) =>
  (oidc_issuer_url === undefined) === (oidc_audience === undefined)
    ? undefined
    : 'Cannot use OIDC: OIDC_ISSUER_URL and OIDC_AUDIENCE are set together or not at all';

const halfConfiguredKeys: Rule = ({ token_keys, log_keys, row_keys }) => {
  const given = [token_keys, log_keys, row_keys].filter((keys) => keys !== undefined);
  if (given.length === 0 || given.length === 3) return undefined;
  return 'Cannot use keys of the environment: WRIT_TOKEN_KEYS, WRIT_LOG_KEYS and WRIT_ROW_KEYS are set together or not at all';
};

const idleSuccessors: Rule = ({ successors, token_keys }) =>
  successors === undefined || token_keys !== undefined
    ? undefined
    : 'Cannot use WRIT_SUCCESSORS without WRIT_TOKEN_KEYS and WRIT_LOG_KEYS: a key folder keeps its own';

const publicDemo: Rule = ({ identities, ...config }) => {
  const demo = identities.filter((identity) => identity.demo).map(({ principal }) => principal);
  const open = openHost(config);
  if (demo.length === 0 || open === undefined) return undefined;
  return `Cannot listen on "${open}" with the demo credentials of ${demo.join(', ')}: they are public, and accepted on a loopback address only; leave out HOST, or give the identities keys of their own in the configuration file`;
};

/** Each process would have a store of its own. */
const dividedMemory: Rule = ({ workers, store }) => {
  if (workers === 1 || store !== 'memory:') return undefined;
  return `Cannot run ${workers} workers on "memory:": they share a file or a database, not memory`;
};

const repeatedCredential: Rule = ({ identities }) => {
  const keys = identities.map(({ key = '', key_sha256 }) => key_sha256 ?? hexDigestOf(key));
  const twice = identities.find((_, index) => keys.indexOf(keys[index] as string) !== index);
  return (
    twice && `Cannot distinguish the identities: the credential of ${twice.principal} appears twice`
  );
};

function hexDigestOf(text: string): string {
  return sha256Hex(text);
}

const ISSUERS = ['oidc', 'oidc_issuer_url', 'oidc_audience'] as const;

/** Each check with the settings it reads: it runs only if all of them are usable. */
const CONTRADICTIONS: readonly { of: readonly SettingName[]; find: Rule }[] = [
  ...ISSUER_RULES.map((find) => ({ of: ISSUERS, find })),
  { of: ['oidc_issuer_url', 'oidc_audience'], find: halfConfiguredOidc },
  { of: ['token_keys', 'log_keys', 'row_keys'], find: halfConfiguredKeys },
  { of: ['token_keys', 'successors'], find: idleSuccessors },
  { of: ['host', 'public_url', 'identities'], find: publicDemo },
  { of: ['host', 'public_url', 'rate_limits'], find: http.unlimitedFault },
  { of: ['host', 'public_url', 'oidc'], find: insecureSignIn },
  { of: ['identities'], find: repeatedCredential },
  { of: ['workers', 'store'], find: dividedMemory },
  { of: ['mark', 'store', 'witnesses'], find: log.markFault },
];

function fromEnvironment(environment: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(ENVIRONMENT).flatMap(([setting, variable]) => {
      const value = environment[variable];
      return value === undefined || value === '' ? [] : [[setting, value]];
    }),
  );
}
