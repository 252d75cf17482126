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
import {
  type DecideOnNext,
  type FolderKey,
  folderKeys,
  markCompromised,
} from '../../keyring/key-states.ts';
import { rotateRowKey } from '../../keyring/row-keys.ts';
import { successorText, verifiedSuccessor } from '../../keyring/successors.ts';
import {
  answerOrExit,
  openClientFor,
  SERVICE_OPTIONS,
  type ServiceGiven,
} from '../login/session.ts';
import { type Group, type Io, leaf } from '../shell/command.ts';
import { secretIn } from '../shell/files.ts';
import { flag, needed, neededChoice, value } from '../shell/options.ts';
import { type Column, JSON_OPTION, printJson, printLine, printTable } from '../shell/output.ts';
import { FOLDER_OPTION, keyFolderAt } from './at-store.ts';

const CANNOT = 'change keys';

export function keysCommand(): Group {
  return {
    name: 'keys',
    summary: 'list, rotate and withdraw the keys of a service',
    commands: [listKeysLeaf, rotateCommand, successorCommand, compromiseKeyLeaf],
  };
}

const rotateCommand = leaf({
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
  },
});

/** A key that was made before takes over from the one that signs at once. */
function warnOfNext(folder: string, use: FolderKey['use'], io: Io): void {
  const keys = folderKeys(folder, new Date()).filter((key) => key.use === use);
  for (const { file, since } of keys.filter(({ state }) => state === 'next')) {
    const later = `${file} was made before and signs from ${since?.toISOString()}`;
    io.err(`${later}: "writ keys compromise" asks whether to drop it\n`);
  }
}

const successorCommand = leaf({
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
  },
});

function keyIn(file: string) {
  const reading = readFirstKey(secretIn(file));
  if ('key' in reading) return reading.key;
  throw new Error(`"${file}": ${reading.fault}`);
}

/** One key as `--json` prints it. */
interface ListedKey {
  /** Null for a key that a service publishes and the folder does not have. */
  readonly use: FolderKey['use'] | null;
  readonly kid: string;
  readonly state: FolderKey['state'] | null;
  readonly since: string | null;
  readonly until: string | null;
  readonly file: string | null;
  /** Whether the service publishes it; null where no service was asked. */
  readonly published: boolean | null;
}

const STYLES = { current: 'green', next: 'yellow', compromised: 'red' } as const;

const COLUMNS: readonly Column<ListedKey>[] = [
  { heading: 'use', cell: ({ use }) => use },
  {
    heading: 'state',
    cell: ({ state }) => state ?? 'not in the folder',
    style: ({ state }) => (state && state in STYLES ? STYLES[state as never] : undefined),
  },
  { heading: 'since', cell: ({ since }) => since },
  { heading: 'until', cell: ({ until }) => until },
  { heading: 'kid', cell: ({ kid }) => kid },
  { heading: 'file', cell: ({ file }) => file },
];

const PUBLISHED: Column<ListedKey> = {
  heading: 'published',
  cell: ({ published, use }) => (use === 'row' ? 'never' : published ? 'yes' : 'no'),
};

const listKeysLeaf = leaf({
  name: 'list',
  summary: 'list the keys of a folder, and what a service publishes',
  about: `Lists every key of a key folder: "current" signs now, "next" will, "old" still verifies, "retired" no longer does, and
"compromised" counts for nothing. With --service it compares them with the keys that the service publishes.`,
  options: {
    ...FOLDER_OPTION,
    ...SERVICE_OPTIONS,
    service: value('<url>', 'a running service to compare with'),
  },
  examples: [
    ['writ keys list --folder .writ/keys', 'the keys of a folder'],
    [
      'writ keys list --service http://127.0.0.1:8420',
      'those of the configuration, and whether the service has read them',
    ],
  ],
  cannot: 'list keys',
  async run(given, io) {
    const keys = folderKeys(await keyFolderAt(io, given.folder), new Date());
    const published = given.service === undefined ? undefined : await publishedBy(given, io);
    const own = keys.map((key) => listed(key, published));
    const known = new Set(keys.map(({ kid }) => kid));
    const foreign = [...(published ?? [])].filter((kid) => !known.has(kid)).map(unknownKey);
    const all = [...own, ...foreign];
    if (given.json) for (const each of all) printJson(io, each);
    else printTable(io, all, published ? [...COLUMNS, PUBLISHED] : COLUMNS, 'There is no key.');
  },
});

async function publishedBy(given: ServiceGiven, io: Io): Promise<ReadonlySet<string>> {
  const reply = await openClientFor(given, io).ask('jwks', {});
  return new Set(answerOrExit(reply, given, io).keys.map(({ kid }) => kid));
}

function listed(key: FolderKey, published: ReadonlySet<string> | undefined): ListedKey {
  const { use, kid, state, file, since, until } = key;
  return {
    use,
    kid,
    state,
    since: since?.toISOString() ?? null,
    until: until?.toISOString() ?? null,
    file,
    published: published ? published.has(kid) : null,
  };
}

function unknownKey(kid: string): ListedKey {
  const unknown = { use: null, state: null, since: null, until: null, file: null };
  return { ...unknown, kid, published: true };
}

const compromiseKeyLeaf = leaf({
  name: 'compromise',
  summary: 'mark a key as compromised, so that it counts for nothing',
  about: `Marks a key in its file. Services read the folder again within seconds: the key neither signs nor verifies from
then on, and is not published. What it alone signed or authenticated is void. Refuses the key that signs now: rotate it
with --at-once first. Keys of the same use that wait for their turn may be stolen too, and would sign later: the command
asks about them, or takes --drop-next or --keep-next. docs/keys.md says what to do in which order.`,
  operands: {
    key: needed(
      '<kid|file>',
      'the id of the key or the name of its file, as "writ keys list" shows it',
    ),
  },
  options: {
    ...FOLDER_OPTION,
    'drop-next': flag('mark the keys of the same use that wait for their turn too'),
    'keep-next': flag('let them sign at their time: the thief cannot have read them'),
    ...JSON_OPTION,
  },
  examples: [['writ keys compromise token-0001.json', 'a key that was stolen']],
  cannot: 'mark the key',
  async run({ key, folder: named, json, ...given }, io) {
    const folder = await keyFolderAt(io, named);
    const { 'drop-next': drop, 'keep-next': keep } = given;
    if (drop && keep) throw new Error('expected one of --drop-next and --keep-next');
    const decide: DecideOnNext = async (next) =>
      drop || keep ? (drop ? 'drop' : 'keep') : askAboutNext(next, io);
    for (const marked of await markCompromised(folder, key, new Date(), decide)) {
      const { file, kid } = marked;
      if (json) printJson(io, listed(marked, undefined));
      else printLine(io, `${file} "${kid}" is compromised: services ignore it in seconds`);
    }
  },
});

async function askAboutNext(next: readonly FolderKey[], io: Io): Promise<'drop' | 'keep'> {
  const files = next.map(({ file, since }) => `${file} (signs from ${since?.toISOString()})`);
  const waiting = `keys that may be stolen too wait for their turn: ${files.join(', ')}`;
  const flags = '--drop-next marks them as compromised, --keep-next lets them sign';
  const answer = await io.ask?.(
    `${waiting}\nType drop to mark them too, or keep to let them sign: `,
  );
  const word = answer?.trim();
  if (word === 'drop' || word === 'keep') return word;
  throw new Error(`nothing is marked: ${waiting}; ${flags}`);
}
