/**
 * `writ token inspect`: shows the claims of a JWT and whether it verifies, without sending it anywhere.
 *
 * A token is a secret. It comes from a file or from standard input, never from an argument, and its text is never
 * printed; only its claims are. A claim is printed so that it cannot
 * control the terminal or hide a character.
 *
 * @module
 */

import { printable } from '../../domain/wire/printable.ts';
import { type Group, type Io, leaf } from '../shell/command.ts';
import { EXIT_FAILED, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { bytesIn } from '../shell/files.ts';
import { value } from '../shell/options.ts';
import { JSON_OPTION, printJson } from '../shell/output.ts';
import { delegateLeaf, issueLeaf } from './issue.ts';
import { type HeldKeys, type Jwt, keysInFile, keysInFolder, readJwt, verifiedBy } from './jwt.ts';
import { revokeLeaf } from './revoke.ts';

const KEYS_DEFAULT = '.writ/keys';

export const inspectLeaf = leaf({
  name: 'inspect',
  summary: 'show the claims of a JWT, and whether it verifies',
  about:
    'Shows the header and claims of a JWT, whether it verifies, and by which key. Reads the token from a file or from standard input. Sends nothing over the network.',
  operands: { file: value('<file>', 'the token, or - for standard input (default)') },
  options: {
    keys: value(
      '<folder>',
      `the keys of the service (default: $WRIT_KEYS, else ${KEYS_DEFAULT}, unless --jwks is given)`,
    ),
    jwks: value('<file>', 'a saved key set, such as that of an identity provider'),
    ...JSON_OPTION,
  },
  examples: [
    ['writ token inspect --keys .writ/keys < token.txt', 'a token of your own service'],
    ['writ token inspect --jwks issuer.json < id-token.txt', 'a token of an identity provider'],
  ],
  exits: [
    [EXIT_OK, 'it verifies'],
    [EXIT_FOUND, 'it does not, or it has expired or is not valid yet'],
    [EXIT_FAILED, 'it could not be checked'],
  ],
  cannot: 'inspect the token',
  async run(given, io) {
    if (/^[a-z]+:\/\//i.test(given.jwks ?? '')) {
      throw new Error('expected a file after --jwks: nothing is fetched');
    }
    const jwt = readJwt(await presented(given.file, io));
    if ('fault' in jwt) throw new Error(jwt.fault);
    const found = verdictOf(jwt, keysAt(given.keys, given.jwks, io), new Date());
    if (given.json) printJson(io, found);
    else printVerdict(jwt, found, io);
    return EXITS[found.verdict];
  },
});

/** The token, without a leading "Bearer" and white space. */
async function presented(file: string | undefined, io: Io): Promise<string> {
  const isPiped = file === undefined || file === '-';
  const text = isPiped ? await io.input?.() : new TextDecoder().decode(bytesIn(file));
  return (text ?? '').trim().replace(/^Bearer /i, '');
}

function keysAt(folder: string | undefined, file: string | undefined, io: Io): HeldKeys {
  const own = folder ?? (file === undefined ? io.env.WRIT_KEYS || KEYS_DEFAULT : undefined);
  const held = [
    ...(own === undefined ? [] : [keysInFolder(own)]),
    ...(file === undefined ? [] : [keysInFile(file)]),
  ];
  return {
    keys: held.flatMap(({ keys }) => keys),
    faults: held.flatMap(({ faults }) => faults),
  };
}

interface Found {
  readonly header: Jwt['header'];
  readonly claims: Jwt['claims'];
  readonly verdict: 'verified' | 'not_verified' | 'not_checked';
  /** The key whose signature it has. */
  readonly verified_by: string | null;
  readonly reason: string | null;
  /** About keys that could not be used. */
  readonly notes: readonly string[];
  readonly not_checked: readonly string[];
}

const EXITS = {
  verified: EXIT_OK,
  not_verified: EXIT_FOUND,
  not_checked: EXIT_FAILED,
} as const satisfies Record<Found['verdict'], number>;

function verdictOf(jwt: Jwt, { keys, faults }: HeldKeys, now: Date): Found {
  const { header, claims } = jwt;
  const facts = { header, claims, notes: faults, not_checked: unchecked(jwt) };
  if (keys.length === 0) {
    const reason = 'there is no key to check with';
    return { ...facts, verdict: 'not_checked', verified_by: null, reason };
  }
  const result = verifiedBy(jwt, keys);
  const reason = ('why' in result ? result.why : wrongTime(jwt, now)) ?? null;
  const verified_by = 'by' in result ? result.by : null;
  const verdict = reason === null ? 'verified' : 'not_verified';
  return { ...facts, verdict, verified_by, reason };
}

function printVerdict(jwt: Jwt, found: Found, io: Io): void {
  const { verdict, verified_by, reason, notes, not_checked } = found;
  const now = new Date();
  io.out(`header\n${fieldLines(jwt.header, now)}claims\n${fieldLines(jwt.claims, now)}\n`);
  for (const note of notes) io.out(`Note: ${printable(note)}\n`);
  if (verdict === 'not_checked') {
    io.out(`Could not check: ${reason}\n`);
    return;
  }
  if (verified_by !== null) io.out(`Signature verifies by ${printable(verified_by)}\n`);
  io.out(reason === null ? 'Verified\n' : `Not verified: ${printable(reason)}\n`);
  for (const line of not_checked) io.out(`Not checked: ${line}\n`);
}

function fieldLines(fields: Readonly<Record<string, unknown>>, now: Date): string {
  const names = Object.keys(fields).map(printable);
  const width = Math.max(0, ...names.map((name) => name.length));
  return Object.entries(fields)
    .map(([name, value], index) => {
      const text = printable(JSON.stringify(value)) + timeNote(name, value, now);
      return `  ${(names[index] as string).padEnd(width)}  ${text}\n`;
    })
    .join('');
}

const TIME_CLAIMS = ['exp', 'nbf', 'iat', 'auth_time'];

function timeNote(name: string, value: unknown, now: Date): string {
  if (!TIME_CLAIMS.includes(name) || typeof value !== 'number') return '';
  const time = new Date(value * 1_000);
  if (Number.isNaN(time.getTime())) return '';
  return ` (${time.toISOString()}, ${time <= now ? 'past' : 'ahead'})`;
}

/** Allows no clock difference: the verdict is for the clock of this machine. */
function wrongTime({ claims: { exp, nbf } }: Jwt, now: Date): string | undefined {
  const seconds = now.getTime() / 1_000;
  if (exp !== undefined && !(typeof exp === 'number' && exp > seconds)) return 'it has expired';
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= seconds)) {
    return 'it is not valid yet';
  }
  return undefined;
}

function unchecked({ header }: Jwt): string[] {
  return String(header.typ).startsWith('svc-')
    ? ['whether the service has stored the token, or revoked it or one above it']
    : [
        'whether the issuer still publishes the key',
        'whether issuer, audience and party are those that a service is configured for',
      ];
}

export function tokenCommand(): Group {
  return {
    name: 'token',
    summary: 'issue, delegate, inspect and revoke tokens',
    commands: [issueLeaf, delegateLeaf(), inspectLeaf, revokeLeaf],
  };
}
