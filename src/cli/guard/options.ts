/**
 * What `writ guard` is given on its command line: where the tools are, and how to serve them.
 *
 * A credential is never an argument, because arguments show in the list of processes: options name variables of the
 * environment.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { joinedValues } from '../shell/arguments.ts';

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
  readonly help: boolean;
}

const OPTIONS = {
  url: { type: 'string' },
  openapi: { type: 'string' },
  origin: { type: 'string' },
  inside: { type: 'boolean' },
  env: { type: 'string', multiple: true },
  header: { type: 'string' },
  policy: { type: 'string' },
  id: { type: 'string' },
  offer: { type: 'string' },
  tools: { type: 'string' },
  stdio: { type: 'boolean' },
  'token-file': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Values = ReturnType<typeof valuesIn>;

/** Throws with one line for options that cannot be used. */
export function readOptions(args: readonly string[]): GuardOptions {
  const end = args.indexOf('--');
  const command = end < 0 ? undefined : args.slice(end + 1);
  const values = valuesIn(end < 0 ? args : args.slice(0, end));
  const { policy, id, offer, help = false } = values;
  if (values['token-file'] !== undefined && !values.stdio) {
    throw new Error('--token-file belongs to --stdio');
  }
  return {
    policy,
    upstream: help ? undefined : upstreamIn(values, command),
    id,
    offer,
    tools: toolsIn(values.tools),
    isStdio: values.stdio ?? false,
    tokenFile: values['token-file'],
    help,
  };
}

function valuesIn(args: readonly string[]) {
  return parseArgs({ args: joinedValues(args, OPTIONS), options: OPTIONS }).values;
}

function toolsIn(text: string | undefined): 'all' | 'search' | undefined {
  if (text === undefined || text === 'all' || text === 'search') return text;
  throw new Error(`expected --tools all or --tools search, not "${text}"`);
}

/** Options that belong to one kind of upstream, and how the command line names that kind. */
const BELONGS: readonly (readonly [option: keyof Values, kinds: readonly Kind[], words: string])[] =
  [
    ['origin', ['openapi'], '--openapi'],
    ['env', ['command'], '-- <command>'],
    ['header', ['url', 'openapi'], '--url or --openapi'],
    ['inside', ['url', 'openapi'], '--url or --openapi'],
  ];

type Kind = 'command' | 'url' | 'openapi';

function upstreamIn(
  values: Values,
  command: readonly string[] | undefined,
): GivenUpstream | undefined {
  const { url, openapi, origin, inside, env, header } = values;
  const ways: Readonly<Record<Kind, unknown>> = { command, url, openapi };
  const kinds = (Object.keys(ways) as Kind[]).filter((kind) => ways[kind] !== undefined);
  if (kinds.length > 1) throw new Error('expected one of -- <command>, --url and --openapi');
  if (command?.length === 0) throw new Error('there is no command after --');
  for (const [option, fitting, words] of BELONGS) {
    if (values[option] === undefined || kinds.some((kind) => fitting.includes(kind))) continue;
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
