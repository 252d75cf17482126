/**
 * The part of a policy that says where the tools are, and with which credential the guard asks.
 *
 * A policy is a file for people and for git, so it never has a secret: a credential names a variable of the
 * environment, and an address has no user and no password in it.
 *
 * @module
 */

import * as z from 'zod';
import { bareHost, isLoopback } from '../../address/host.ts';
import { parseDuration } from '../../domain/values/duration.ts';

/** Words of a command. */
const WORDS_MAX = 128;

/** Names in one list of the policy. */
const NAMES_MAX = 64;

/** A day: the longest that a handler may run. */
export const DEADLINE_MAX_MS = 86_400_000;

/** A name of the environment in a text: `$NAME` or `${NAME}`. */
const VARIABLE = /\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})/;

/** A text that is sent as a secret. */
const Secret = z
  .string()
  .max(2_000)
  .regex(
    VARIABLE,
    'a secret does not belong in this file; write $NAME, the name of a variable of the environment',
  );

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
const HeaderName = z.string().regex(HEADER_NAME, 'expected the name of a header');

/** Headers that belong to the connection or carry a credential. */
const RESERVED_HEADER =
  /^(?:authorization|cookie|host|connection|content-(?:length|type|encoding)|expect|forwarded|idempotency-key|keep-alive|origin|proxy-.*|referer|sec-.*|te|trailer|transfer-encoding|upgrade|x-forwarded-.*)$/i;

const Credential = z
  .strictObject({
    header: HeaderName.optional(),
    query: z.string().min(1).max(64).optional(),
    value: Secret.describe('What is sent. It names a variable: "Bearer $API_TOKEN".'),
  })
  .superRefine(({ header, query }, context) => {
    if ((header === undefined) === (query === undefined)) {
      addFault(context, 'expected either "header" or "query"');
    }
  });

const Address = z
  .string()
  .max(1_000)
  .superRefine((text, context) => {
    const wrong = addressFault(text);
    if (wrong !== undefined) addFault(context, wrong);
  });

const Account = z
  .strictObject({
    authorize: Address.describe('Where a person signs in.'),
    token: Address.describe('Where the guard gets tokens.'),
    revoke: Address.optional(),
    client_id: z.string().regex(/^\S{1,256}$/, 'expected the id of a client'),
    client_secret: Secret.optional(),
    client_authentication: z
      .enum(['basic', 'post'])
      .describe('How the secret is sent: as HTTP Basic, or in the form.')
      .optional(),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/, 'expected a scope'))
      .max(NAMES_MAX)
      .optional(),
    resource: Address.optional(),
    issuer: z
      .string()
      .regex(/^\S{1,1000}$/, 'expected the issuer as the upstream names itself')
      .optional(),
  })
  .describe('Each person signs in with an own account of the upstream.');

export const Upstream = z
  .strictObject({
    command: z
      .array(
        z
          .string()
          .max(4_096)
          .refine((word) => !word.includes('\0'), 'it has U+0000'),
      )
      .min(1)
      .max(WORDS_MAX)
      .refine(([program]) => program !== '', 'expected the name of a program first')
      .describe('An MCP server that the guard starts: program and arguments.')
      .optional(),
    url: Address.describe('The address of an MCP server.').optional(),
    openapi: z.string().min(1).max(4_096).describe('A file that describes an HTTP API.').optional(),
    origin: Address.describe('The origin of the HTTP API.').optional(),
    inside: z
      .boolean()
      .describe('The named address may be inside: this machine or a private network.')
      .optional(),
    env: z
      .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'expected the name of a variable'))
      .max(NAMES_MAX)
      .describe('Variables of the environment that the command gets.')
      .optional(),
    credential: Credential.optional(),
    account: Account.optional(),
    deadline: z
      .string()
      .refine(isDeadline, 'expected a duration of at most a day, such as "30s"')
      .describe('How long one call may take.')
      .optional(),
    headers: z
      .array(
        HeaderName.refine(
          (name) => !RESERVED_HEADER.test(name),
          'a parameter may not set this header',
        ),
      )
      .max(NAMES_MAX)
      .describe('Headers of a request that a parameter may set.')
      .optional(),
  })
  .superRefine((upstream, context) => {
    for (const [path, message] of upstreamFaults(upstream)) addFault(context, message, path);
  });

export type UpstreamPolicy = z.infer<typeof Upstream>;

/** Reports a fault, after which no rule about the holder of the value runs: it could not rely on the value. */
export function addFault(
  context: z.RefinementCtx,
  message: string,
  path: readonly PropertyKey[] = [],
): void {
  context.addIssue({ code: 'custom', message, path: [...path], continue: false });
}

type Found = readonly [path: readonly string[], why: string];
type Given = { readonly [Key in keyof UpstreamPolicy]?: UpstreamPolicy[Key] };

const KINDS = ['command', 'url', 'openapi'] as const;
type Kind = (typeof KINDS)[number];

/** With which kinds a key belongs. A key without a row belongs with each. */
const ONLY_WITH: Readonly<Record<string, readonly Kind[]>> = {
  origin: ['openapi'],
  headers: ['openapi'],
  env: ['command'],
  inside: ['url', 'openapi'],
  credential: ['url', 'openapi'],
  account: ['url', 'openapi'],
};

function upstreamFaults(upstream: Given): Found[] {
  const [kind, second] = KINDS.filter((each) => upstream[each] !== undefined);
  if (kind === undefined || second !== undefined) {
    const at = second === undefined ? [] : [second];
    return [[at, 'expected exactly one of "command", "url" and "openapi"']];
  }
  const misplaced = Object.entries(ONLY_WITH)
    .filter(([key, kinds]) => upstream[key as keyof Given] !== undefined && !kinds.includes(kind))
    .map(([key, kinds]): Found => [[key], `it belongs with ${quoted(kinds)}, not with "${kind}"`]);
  if (misplaced.length > 0) return misplaced;
  return [...addressFaults(upstream, kind), ...credentialFaults(upstream, kind)];
}

function addressFaults({ url, origin, inside, account }: Given, kind: Kind): Found[] {
  const { authorize, token, revoke } = account ?? {};
  const addresses: [path: string[], text: string | undefined][] = [
    [['url'], url],
    [['origin'], origin],
    [['account', 'authorize'], authorize],
    [['account', 'token'], token],
    [['account', 'revoke'], revoke],
  ];
  const clear = addresses
    .filter(([path, text]) => text !== undefined && !mayBeClear(path, text, inside))
    .map(
      ([path]): Found => [path, 'write https; http is for an address inside, with inside: true'],
    );
  if (kind !== 'openapi') return clear;
  if (origin === undefined) {
    return [...clear, [['openapi'], 'it needs "origin", such as https://api.example.com']];
  }
  // Many APIs have a prefix such as /v1, which every path of their document follows.
  const isBase = !origin.includes('?');
  return isBase ? clear : [...clear, [['origin'], 'expected an origin, without a query']];
}

/** A login carries secrets of people, so it is in the clear on this machine only. */
function mayBeClear([part]: readonly string[], text: string, inside = false): boolean {
  if (!URL.canParse(text) || new URL(text).protocol !== 'http:') return true;
  return inside && (part !== 'account' || isLoopback(bareHost(new URL(text))));
}

function credentialFaults({ credential, account, headers = [] }: Given, kind: Kind): Found[] {
  const name = credential?.header?.toLowerCase();
  return [
    ...(credential?.query !== undefined && kind !== 'openapi'
      ? [[['credential', 'query'], 'it belongs with "openapi"; write "header"'] as const]
      : []),
    ...(name === 'authorization' && account !== undefined
      ? [[['credential', 'header'], 'the account of each person uses this header'] as const]
      : []),
    ...(credential !== undefined && account !== undefined && kind === 'openapi'
      ? [
          [
            ['credential'],
            'an HTTP API gets the account of each person, and no other credential',
          ] as const,
        ]
      : []),
    ...headers
      .map((header, index) => [header.toLowerCase(), index] as const)
      .filter(([header]) => header === name)
      .map(([, index]): Found => [['headers', String(index)], 'the credential uses this header']),
  ];
}

/** Never repeats the address, which may contain a secret. */
function addressFault(text: string): string | undefined {
  if (!URL.canParse(text)) return 'expected an address such as https://api.example.com';
  const { protocol, username, password, hash } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') return 'expected an address with https';
  if (username !== '' || password !== '') {
    return 'a secret does not belong in this file; write a credential with $NAME';
  }
  return hash === '' ? undefined : 'expected an address without "#"';
}

/** In milliseconds, where the policy names no deadline. */
const DEADLINE_MS = 30_000;

/** How long one call of the upstream may take, in milliseconds. */
export function deadlineMsOf({ deadline = '' }: Pick<UpstreamPolicy, 'deadline'>): number {
  return parseDuration(deadline) ?? DEADLINE_MS;
}

function isDeadline(text: string): boolean {
  const length = parseDuration(text) ?? 0;
  return length > 0 && length <= DEADLINE_MAX_MS;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(' or ');
}
