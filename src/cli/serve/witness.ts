/**
 * `writ witness`: runs a witness that cosigns checkpoints of logs that only grow.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { type NoteKey, readVkey, vkeyText } from '../../domain/log/note-key.ts';
import { printable } from '../../domain/wire/printable.ts';
import { openWitnessKey } from '../../witness/key.ts';
import { serveWitness } from '../../witness/server.ts';
import { joinedValues } from '../shell/arguments.ts';
import { EXIT_FAILED, EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';

const FOLDER_DEFAULT = '.writ-witness';
const HOST_DEFAULT = '127.0.0.1';
const PORT_DEFAULT = 8_421;

const WITNESS_USAGE = `Usage: writ witness --name <name> --log <vkey> [options]

Runs a witness (C2SP tlog-witness): it cosigns a checkpoint only if the checkpoint
extends the last one it saw of that log. Run it on a machine that the operators of
the log cannot change. Prints its key: add the key and the address to the setting
"witnesses" of the service.

  --name <name>      its name in notes, such as witness.example.com/w1
  --log <vkey>       a key of a log to watch (may be repeated); the service logs
                     its own when witnesses are configured
  --folder <folder>  its key and the last checkpoints (default: ${FOLDER_DEFAULT}); a
                     witness without it, or with an old copy, may cosign a fork
  --host <address>   default ${HOST_DEFAULT}
  --port <number>    default ${PORT_DEFAULT}
  --help             this text

Exit status: 0 it was stopped, 2 it could not run.
`;

export async function witness(args: readonly string[], io: Io): Promise<number> {
  try {
    const asked = optionsOf(args);
    if ('help' in asked) {
      io.out(WITNESS_USAGE);
      return EXIT_OK;
    }
    const { folder, name, logKeys, host, port } = asked;
    const key = openWitnessKey(folder, name);
    const server = await serveWitness(
      { folder, key, logKeys },
      {
        host,
        port,
        now: () => new Date(),
        onError: ({ message }) => io.err(`${printable(message)}\n`),
      },
    );
    io.out(`witness ${vkeyText(key.noteKey)}\nlistening on ${server.url}\n`);
    await io.untilStopped?.();
    await server.close();
    return EXIT_OK;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    io.err(`Cannot run the witness: ${printable(why)}\n`);
    return EXIT_FAILED;
  }
}

interface Options {
  readonly folder: string;
  readonly name: string;
  readonly logKeys: readonly NoteKey[];
  readonly host: string;
  readonly port: number;
}

function optionsOf(args: readonly string[]): Options | { help: true } {
  const { values } = parseArgs({ args: joinedValues(args, options), options });
  if (values.help) return { help: true };
  const { name, log = [], folder = FOLDER_DEFAULT, host = HOST_DEFAULT } = values;
  const { port = String(PORT_DEFAULT) } = values;
  if (name === undefined) throw new Error('the witness has no name; give --name');
  if (log.length === 0) throw new Error('no log is named; give --log');
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new Error(`"${port}" is not a port`);
  return { folder, name, logKeys: log.map(logKey), host, port: Number(port) };
}

const options = {
  name: { type: 'string' },
  log: { type: 'string', multiple: true },
  folder: { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

function logKey(text: string): NoteKey {
  const key = readVkey(text);
  if (key && key.type !== 'cosignature') return key;
  throw new Error(`"${text}" is not a key of a log (--log)`);
}
