/**
 * `writ witness`: runs a witness that cosigns checkpoints of logs that only grow.
 *
 * @module
 */

import { type NoteKey, readVkey, vkeyText } from '../../domain/log/note-key.ts';
import { printable } from '../../domain/wire/printable.ts';
import { openWitnessKey } from '../../witness/key.ts';
import { serveWitness } from '../../witness/server.ts';
import { leaf } from '../shell/command.ts';
import { EXIT_OK } from '../shell/exit.ts';
import { list, needed, value } from '../shell/options.ts';
import { JSON_OPTION, printJson, printLine } from '../shell/output.ts';

const FOLDER_DEFAULT = '.writ-witness';
const HOST_DEFAULT = '127.0.0.1';
const PORT_DEFAULT = 8_421;

export const witnessCommand = leaf({
  name: 'witness',
  summary: 'run a witness that cosigns checkpoints of logs',
  about:
    'Runs a witness (C2SP tlog-witness): it cosigns a checkpoint only if the checkpoint extends the last one it saw of that log. Run it on a machine that the operators of the log cannot change. Prints its key: add the key and the address to the setting "witnesses" of the service.',
  options: {
    name: needed('<name>', 'its name in notes, such as witness.example.com/w1'),
    log: list(
      '<vkey>',
      'a key of a log to watch (may be repeated); the service logs its own when witnesses are configured',
    ),
    folder: value(
      '<folder>',
      `its key and the last checkpoints (default: ${FOLDER_DEFAULT}); a witness without it, or with an old copy, may cosign a fork`,
    ),
    host: value('<address>', `where it listens (default: ${HOST_DEFAULT})`),
    port: value('<number>', `where it listens (default: ${PORT_DEFAULT}; 0: a free port)`),
    ...JSON_OPTION,
  },
  examples: [
    [
      'writ witness --name witness.example.com/w1 --log "desk+0f7a1c2e+AQ…"',
      'watch one log, with the key that its service logs',
    ],
  ],
  exits: [[EXIT_OK, 'it was stopped']],
  cannot: 'run the witness',
  async run({ name, log, folder = FOLDER_DEFAULT, host = HOST_DEFAULT, ...given }, io) {
    if (log.length === 0) throw new Error('no log is named; give --log');
    const port = portOf(given.port ?? String(PORT_DEFAULT));
    const logKeys = log.map(logKey);
    const key = openWitnessKey(folder, name);
    // Before anything is printed: who reads the address may stop the witness at once.
    const stopped = io.untilStopped?.();
    const server = await serveWitness(
      { folder, key, logKeys },
      {
        host,
        port,
        now: () => new Date(),
        onError: ({ message }) => io.err(`${printable(message)}\n`),
      },
    );
    const vkey = vkeyText(key.noteKey);
    if (given.json) {
      printJson(io, { vkey, url: server.url });
    } else {
      printLine(io, `witness ${vkey}`);
      printLine(io, `listening on ${server.url}`);
    }
    await stopped;
    await server.close();
  },
});

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new Error(`"${text}" is not a port`);
}

function logKey(text: string): NoteKey {
  const key = readVkey(text);
  if (key && key.type !== 'cosignature') return key;
  throw new Error(`"${text}" is not a key of a log (--log)`);
}
