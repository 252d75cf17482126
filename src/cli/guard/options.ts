/**
 * What `writ guard` is given on its command line: where the tools are, and how to serve them.
 *
 * A credential is never an argument, because arguments show in the list of processes: options name variables of the
 * environment.
 *
 * @module
 */

import { CREDENTIAL_VARIABLE } from '../login/session.ts';
import { choice, flag, type Given, list, rest, value } from '../shell/options.ts';

/** Where the tools are, as the command line says it; the policy says the same afterwards. */
export interface GivenUpstream {
  readonly command?: readonly string[];
  readonly url?: string;
  readonly openapi?: string;
  readonly origin?: string;
  readonly inside?: boolean;
  readonly env?: readonly string[];
  readonly credential?: { readonly header: string; readonly value: string };
}

export interface GuardOptions {
  readonly policy?: string | undefined;
  readonly upstream?: GivenUpstream | undefined;
  readonly id?: string | undefined;
  readonly offer?: string | undefined;
  readonly tools?: 'all' | 'search' | undefined;
  readonly isStdio: boolean;
  readonly tokenFile?: string | undefined;
}

export const GUARD_OPERANDS = {
  command: rest('<command> [arguments]', 'an MCP server that the guard starts'),
} as const;

export const POLICY_OPTION = {
  policy: value('<file>', 'the policy (default: writ-guard.yaml); the lock is beside it'),
} as const;

export const GUARD_OPTIONS = {
  url: value('<address>', 'upstream: an MCP server that is reached over HTTP'),
  openapi: value('<file>', 'upstream: an OpenAPI document of an HTTP API'),
  origin: value('<origin>', 'where that API is (default: the server that the document names)'),
  inside: flag('the address may be this machine or a private network'),
  env: list(
    '<name>',
    'a variable that the command gets (may be repeated); it gets PATH, HOME and the like, and no other',
  ),
  header: value(
    '<text>',
    "a credential, such as 'Authorization: Bearer $API_TOKEN': in single quotes, with the name of a variable",
  ),
  offer: value(
    '<tools>',
    'first run: which tools to offer: names with commas, reads, all or none (default: a question on a terminal, else reads; for --openapi there is no default)',
  ),
  id: value('<name>', 'first run: the id of the service (default: from the upstream)'),
  ...POLICY_OPTION,
  tools: choice(['all', 'search'], 'search: offer agents a search-and-call pair, not all tools'),
  stdio: flag(
    'also serve MCP on standard input and output, for an agent that starts this command; ends with the input',
  ),
  'token-file': value(
    '<file>',
    `with --stdio: the delegation token of the agent (default: $${CREDENTIAL_VARIABLE}, else the owner gives one with the budget of the policy)`,
  ),
} as const;

type Values = Given<typeof GUARD_OPTIONS>;

/** Throws with one line for options that cannot be used. */
export function readOptions(given: Values & Given<typeof GUARD_OPERANDS>): GuardOptions {
  const { policy, id, offer, tools, stdio: isStdio, 'token-file': tokenFile } = given;
  if (tokenFile !== undefined && !isStdio) throw new Error('--token-file belongs to --stdio');
  const upstream = upstreamIn(given, given.command);
  return { policy, upstream, id, offer, tools, isStdio, tokenFile };
}

/** Options that belong to one kind of upstream, and how the command line names that kind. */
const BELONGS: readonly (readonly [option: Belonging, kinds: readonly Kind[], words: string])[] = [
  ['origin', ['openapi'], '--openapi'],
  ['env', ['command'], '-- <command>'],
  ['header', ['url', 'openapi'], '--url or --openapi'],
  ['inside', ['url', 'openapi'], '--url or --openapi'],
];

type Belonging = 'origin' | 'env' | 'header' | 'inside';

type Kind = 'command' | 'url' | 'openapi';

function upstreamIn(
  values: Values,
  command: readonly string[] | undefined,
): GivenUpstream | undefined {
  const { url, openapi, origin, header } = values;
  const inside = values.inside || undefined;
  const env = values.env.length > 0 ? values.env : undefined;
  const ways: Readonly<Record<Kind, unknown>> = { command, url, openapi };
  const kinds = (Object.keys(ways) as Kind[]).filter((kind) => ways[kind] !== undefined);
  if (kinds.length > 1) throw new Error('expected one of -- <command>, --url and --openapi');
  if (command?.length === 0) throw new Error('there is no command after --');
  for (const [option, fitting, words] of BELONGS) {
    const isGiven = { origin, env, header, inside }[option] !== undefined;
    if (!isGiven || kinds.some((kind) => fitting.includes(kind))) continue;
    throw new Error(`--${option} belongs to ${words}`);
  }
  if (kinds.length === 0) return undefined;
  // The text itself may contain a secret.
  if (url !== undefined && !URL.canParse(url)) {
    throw new Error('expected --url with an address such as https://mcp.example.com/mcp');
  }
  const credential = header === undefined ? undefined : credentialIn(header);
  const given = { command, url, openapi, origin, inside, env, credential };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** `Authorization: Bearer $API_TOKEN`. Never repeats the value: it may be a secret. */
function credentialIn(header: string): { header: string; value: string } {
  const [, name, value] = /^([A-Za-z0-9-]+):\s*(.+)$/.exec(header) ?? [];
  if (name === undefined || value === undefined || !/\$\{?[A-Za-z_]/.test(value)) {
    const form = "--header 'Authorization: Bearer $API_TOKEN'";
    throw new Error(
      `expected --header with the name of a variable and no secret, such as ${form} in single quotes`,
    );
  }
  return { header: name, value };
}
