/**
 * `writ keys list` and `writ keys compromise`: which keys a folder has, which a service publishes, and the mark of a key
 * that was stolen.
 *
 * Prints ids, times and file names; nothing of a key.
 *
 * @module
 */

import {
  type DecideOnNext,
  type FolderKey,
  folderKeys,
  markCompromised,
} from '../../keyring/key-states.ts';
import {
  answerOrExit,
  openClientFor,
  SERVICE_OPTIONS,
  type ServiceGiven,
} from '../login/session.ts';
import { type Leaf, leaf } from '../shell/command.ts';
import { EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';
import { flag, needed, value } from '../shell/options.ts';
import { type Column, JSON_OPTION, printJson, printLine, printTable } from '../shell/output.ts';
import { FOLDER_OPTION, keyFolderAt } from './at-store.ts';

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

export function listKeysLeaf(): Leaf {
  return leaf({
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
      return EXIT_OK;
    },
  });
}

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

export function compromiseKeyLeaf(): Leaf {
  return leaf({
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
      return EXIT_OK;
    },
  });
}

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
