/**
 * `writ token inspect`: shows the claims of a JWT and whether it verifies, without sending it anywhere.
 *
 * A token is a secret. It can come from standard input, to keep it out of the history of the shell,
 * and its text is never printed; only its claims are. A claim is printed so that it cannot
 * control the terminal or hide a character.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { printable } from '../../domain/wire/printable.ts';
import { joinedValues } from '../shell/arguments.ts';
import { EXIT_FAILED, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';
import { type HeldKeys, type Jwt, keysInFile, keysInFolder, readJwt, verifiedBy } from './jwt.ts';

const KEYS_DEFAULT = '.writ/keys';

const TOKEN_USAGE = `Usage: writ token inspect [--keys <folder>] [--jwks <file>] [<jwt>|-]

Shows the header and claims of a JWT, whether it verifies, and by which key. Reads
the token from standard input when none is given, which keeps it out of the history
of the shell. Sends nothing over the network.

  --keys <folder>  the service's own keys (default: $WRIT_KEYS, else ${KEYS_DEFAULT},
                   unless --jwks is given)
  --jwks <file>    a saved key set, such as that of an identity provider
  --help           this text

Exit status: 0 it verifies, 1 it does not, or it is expired or not valid yet, 2 it
could not be checked.
`;

export async function token(args: readonly string[], io: Io): Promise<number> {
  try {
    const { keys, jwks, help, given } = optionsOf(args);
    if (help) {
      io.out(TOKEN_USAGE);
      return EXIT_OK;
    }
    const jwt = readJwt(await presented(given, io));
    if ('fault' in jwt) throw new Error(jwt.fault);
    return inspect(jwt, keysAt(keys, jwks, io), io);
  } catch (error) {
    io.err(`Cannot inspect the token: ${error instanceof Error ? error.message : String(error)}\n`);
    return EXIT_FAILED;
  }
}

interface Options {
  readonly keys?: string;
  readonly jwks?: string;
  readonly help?: boolean;
  readonly given?: string | undefined;
}

function optionsOf([verb, ...args]: readonly string[]): Options {
  const options = {
    keys: { type: 'string' },
    jwks: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  if (verb === '--help' || verb === '-h') return { help: true };
  if (verb !== 'inspect') throw new Error('expected "writ token inspect"');
  const { values, positionals } = parseArgs({
    args: joinedValues(args, options),
    options,
    allowPositionals: true,
  });
  if (positionals.length > 1) throw new Error(`expected one token, not ${positionals.length}`);
  if (/^[a-z]+:\/\//i.test(values.jwks ?? '')) {
    throw new Error('expected a file after --jwks: nothing is fetched');
  }
  return { ...values, given: positionals[0] };
}

/** The token, without a leading "Bearer" and white space. */
async function presented(given: string | undefined, io: Io): Promise<string> {
  const text = given === undefined || given === '-' ? await io.input?.() : given;
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

function inspect(jwt: Jwt, { keys, faults }: HeldKeys, io: Io): number {
  const now = new Date();
  io.out(`header\n${fieldLines(jwt.header, now)}claims\n${fieldLines(jwt.claims, now)}\n`);
  for (const fault of faults) io.out(`Note: ${printable(fault)}\n`);
  if (keys.length === 0) {
    io.out('Could not check: there is no key to check with\n');
    return EXIT_FAILED;
  }
  const result = verifiedBy(jwt, keys);
  const why = 'why' in result ? result.why : wrongTime(jwt, now);
  if ('by' in result) io.out(`Signature verifies by ${printable(result.by)}\n`);
  io.out(why === undefined ? 'Verified\n' : `Not verified: ${printable(why)}\n`);
  for (const line of unchecked(jwt)) io.out(`Not checked: ${line}\n`);
  return why === undefined ? EXIT_OK : EXIT_FOUND;
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
