/**
 * `writ keys`: creates the next key in a folder, or signs the successor of a key in the environment.
 *
 * Prints only public values: file names, thumbprints and signed statements.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { SUCCESSOR_USES, type SuccessorUse } from '../../domain/log/successor.ts';
import { printable } from '../../domain/wire/printable.ts';
import { ROTATION_LEAD_MS, rotateKey } from '../../keyring/key-folder.ts';
import { readFirstKey } from '../../keyring/key-list.ts';
import { rotateRowKey } from '../../keyring/row-keys.ts';
import { successorText, verifiedSuccessor } from '../../keyring/successors.ts';
import { joinedValues } from '../shell/arguments.ts';
import { EXIT_FAILED, EXIT_OK } from '../shell/exit.ts';
import { bytesIn } from '../shell/files.ts';
import type { Io } from '../shell/io.ts';

const KEYS_USAGE = `Usage: writ keys <what> <token|log|row> [options]

What
  rotate --folder <keys> [--at-once]     writes the next key of this use into a key
                                         folder; the old key signs it as its successor
                                         (a row key is secret and signs nothing)
  successor --from <file> --to <file>    prints the same statement for keys in the
                                         environment; add it to WRIT_SUCCESSORS

Options
  --folder <path>  the key folder (WRIT_KEYS)
  --at-once        sign with the new key now, for a key that is compromised: mark the
                   old one with "compromised": true in its file first
  --from <file>    the old private key, in a form that WRIT_TOKEN_KEYS takes
  --to <file>      the new private key, in the same form
  --help           this text

The service publishes a new key at once and signs with it after ${ROTATION_LEAD_MS / 60_000} minutes. Clients that
pinned the old key accept the new one by the statement.
`;

export async function keys(args: readonly string[], io: Io): Promise<number> {
  const [what = '', use = '', ...rest] = args;
  if (args.includes('--help') || args.includes('-h')) {
    io.out(KEYS_USAGE);
    return EXIT_OK;
  }
  try {
    const run = Object.hasOwn(KINDS, what) ? KINDS[what] : undefined;
    if (!run) throw new Error(`expected one of ${Object.keys(KINDS).join(', ')}`);
    const { values } = parseArgs({ args: joinedValues(rest, options), options });
    io.out(what === 'rotate' && use === 'row' ? rotateRows(values) : run(useOf(use), values));
    return EXIT_OK;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    io.err(`Cannot change keys: ${printable(why)}\n`);
    return EXIT_FAILED;
  }
}

const options = {
  folder: { type: 'string' },
  'at-once': { type: 'boolean' },
  from: { type: 'string' },
  to: { type: 'string' },
} as const;

interface Values {
  readonly folder?: string | undefined;
  readonly 'at-once'?: boolean | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const KINDS: Readonly<Record<string, (use: SuccessorUse, values: Values) => string>> = {
  rotate(use, values) {
    const { folder, ...when } = rotationOf(values);
    const { file, kid, signFrom } = rotateKey(folder, use, when);
    return `${file} "${kid}" signs from ${signFrom.toISOString()}\n`;
  },
  successor(use, { from, to }) {
    if (from === undefined || to === undefined) throw new Error('give --from and --to');
    const text = successorText(use, keyIn(from), keyIn(to).jwk);
    if (verifiedSuccessor(text)) return `${text}\n`;
    throw new Error('both files have the same key');
  },
};

function rotateRows(values: Values): string {
  const { folder, ...when } = rotationOf(values);
  const { file, kid, signFrom } = rotateRowKey(folder, when);
  return `${file} "${kid}" authenticates rows from ${signFrom.toISOString()}\n`;
}

function rotationOf({ folder, 'at-once': isAtOnce }: Values) {
  if (folder === undefined) throw new Error('no key folder is named; give --folder');
  return { folder, now: new Date(), leadMs: isAtOnce ? 0 : ROTATION_LEAD_MS };
}

function useOf(text: string): SuccessorUse {
  const use = SUCCESSOR_USES.find((known) => known === text);
  if (use) return use;
  throw new Error(`expected ${SUCCESSOR_USES.join(' or ')}, not "${text}"`);
}

function keyIn(file: string) {
  const reading = readFirstKey(new TextDecoder().decode(bytesIn(file)));
  if ('key' in reading) return reading.key;
  throw new Error(`"${file}": ${reading.fault}`);
}
