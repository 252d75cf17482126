/**
 * `writ keys`: lists the keys of a folder, creates the next one, marks a stolen one, or signs the successor of a key in
 * the environment.
 *
 * Prints only public values: file names, thumbprints and signed statements.
 *
 * @module
 */

import { SUCCESSOR_USES } from '../../domain/log/successor.ts';
import { ROTATION_LEAD_MS, rotateKey } from '../../keyring/key-folder.ts';
import { readFirstKey } from '../../keyring/key-list.ts';
import { type FolderKey, folderKeys } from '../../keyring/key-states.ts';
import { rotateRowKey } from '../../keyring/row-keys.ts';
import { successorText, verifiedSuccessor } from '../../keyring/successors.ts';
import { type Group, leaf } from '../shell/command.ts';
import { EXIT_OK } from '../shell/exit.ts';
import { secretIn } from '../shell/files.ts';
import type { Io } from '../shell/io.ts';
import { flag, needed, neededChoice } from '../shell/options.ts';
import { JSON_OPTION, printJson, printLine } from '../shell/output.ts';
import { FOLDER_OPTION, keyFolderAt } from './at-store.ts';
import { compromiseKeyLeaf, listKeysLeaf } from './keys-list.ts';

const CANNOT = 'change keys';

export function keysCommand(): Group {
  return {
    name: 'keys',
    summary: 'list, rotate and withdraw the keys of a service',
    commands: [listKeysLeaf(), rotateCommand(), successorCommand(), compromiseKeyLeaf()],
  };
}

function rotateCommand() {
  return leaf({
    name: 'rotate',
    summary: 'write the next key of a key folder',
    about: `Writes the next key of this use into a key folder; the old key signs it as its successor (a row key is secret and signs nothing). The service publishes a new key at once and signs with it after ${ROTATION_LEAD_MS / 60_000} minutes. Clients that pinned the old key accept the new one by the statement.`,
    operands: { use: neededChoice([...SUCCESSOR_USES, 'row'], 'what the key is for') },
    options: {
      ...FOLDER_OPTION,
      'at-once': flag(
        'sign with the new key now, for a key that is compromised: mark the old one with "writ keys compromise" next',
      ),
      ...JSON_OPTION,
    },
    examples: [
      ['writ keys rotate token', 'the next key that signs tokens'],
      ['writ keys rotate row --folder .writ/keys', 'the next key that authenticates rows'],
    ],
    cannot: CANNOT,
    async run({ use, folder: named, json, ...given }, io) {
      const folder = await keyFolderAt(io, named);
      const when = { now: new Date(), leadMs: given['at-once'] ? 0 : ROTATION_LEAD_MS };
      const isRow = use === 'row';
      const made = isRow ? rotateRowKey(folder, when) : rotateKey(folder, use, when);
      const { file, kid } = made;
      const from = made.signFrom.toISOString();
      if (json) printJson(io, { use, file, kid, from });
      else printLine(io, `${file} "${kid}" ${isRow ? 'authenticates rows' : 'signs'} from ${from}`);
      if (given['at-once']) warnOfNext(folder, use, io);
      return EXIT_OK;
    },
  });
}

/** A key that was made before takes over from the one that signs at once. */
function warnOfNext(folder: string, use: FolderKey['use'], io: Io): void {
  const keys = folderKeys(folder, new Date()).filter((key) => key.use === use);
  for (const { file, since } of keys.filter(({ state }) => state === 'next')) {
    const later = `${file} was made before and signs from ${since?.toISOString()}`;
    io.err(`${later}: "writ keys compromise" asks whether to drop it\n`);
  }
}

function successorCommand() {
  return leaf({
    name: 'successor',
    summary: 'sign the successor of a key that is kept in the environment',
    about:
      'Prints the statement with which an old key names its successor, for keys in the environment. Add it to WRIT_SUCCESSORS.',
    operands: { use: neededChoice(SUCCESSOR_USES, 'what the key is for') },
    options: {
      from: needed('<file>', 'the old private key, in a form that WRIT_TOKEN_KEYS takes'),
      to: needed('<file>', 'the new private key, in the same form'),
      ...JSON_OPTION,
    },
    examples: [
      ['writ keys successor token --from old.pem --to new.pem', 'a line for WRIT_SUCCESSORS'],
    ],
    cannot: CANNOT,
    async run({ use, from, to, json }, io) {
      const text = successorText(use, keyIn(from), keyIn(to).jwk);
      if (!verifiedSuccessor(text)) throw new Error('both files have the same key');
      if (json) printJson(io, { use, successor: text });
      else printLine(io, text);
      return EXIT_OK;
    },
  });
}

function keyIn(file: string) {
  const reading = readFirstKey(secretIn(file));
  if ('key' in reading) return reading.key;
  throw new Error(`"${file}": ${reading.fault}`);
}
