/**
 * `writ identities`: the credentials that a service keeps in its store.
 *
 * With --service the service is asked. Without it the command changes the store of the configuration in the working
 * folder, so that the first operator can be made. The command makes the key, writes it to a new file and passes on
 * only its SHA-256.
 *
 * @module
 */

import { createHash, randomBytes } from 'node:crypto';
import { IDENTITY_KEY_BYTES, IDENTITY_KEY_PREFIX } from '../../domain/authority/identity-key.ts';
import { refuse } from '../../domain/failure.ts';
import {
  IdentityAddRequest,
  IdentityId,
  type IdentityRemoveAnswer,
  type StoredIdentity,
} from '../../protocol/identity.ts';
import {
  endKey,
  identityView,
  newIdentity,
  storeIdentity,
  unusableIdentity,
} from '../../service/authority/stored-identities.ts';
import { acted } from '../../service/caller/caller.ts';
import {
  answered,
  answerOrExit,
  clientFor,
  SERVICE_OPTIONS,
  type ServiceGiven,
} from '../login/session.ts';
import { writeSecret } from '../shell/atomic-file.ts';
import { type Group, type Io, leaf } from '../shell/command.ts';
import { CommandFault, EXIT_FOUND, EXIT_UNAVAILABLE } from '../shell/exit.ts';
import { flag, list, needed, value } from '../shell/options.ts';
import { type Column, printFacts, printJson, printLine, printTable } from '../shell/output.ts';
import { atStore, changeStore, configAt, STORE_ACTOR, STORE_MAKER } from '../store/at-store.ts';

const OPTIONS = {
  ...SERVICE_OPTIONS,
  service: value(
    '<url>',
    'ask this service (default: change the store of the configuration in the working folder)',
  ),
} as const;

export function identitiesCommand(): Group {
  return {
    name: 'identities',
    summary: 'add, list and remove credentials that the store keeps',
    about: `Credentials beside those of the configuration: a change counts at once on every replica. With --service the
service is asked, which needs the scope operator:identities. Without it the store of the configuration in the working
folder is changed, with its row keys: so the first operator is made. The log has an entry of every change.`,
    commands: [addLeaf, listLeaf, removeLeaf],
  };
}

const addLeaf = leaf({
  name: 'add',
  summary: 'make a key and add its identity',
  about: `Makes a key, writes it to a new file that only you can read, and adds an identity for it. Only the SHA-256 of the
key leaves this command. A service gives no more than the credential of the command has, and never the right to
approve. It refuses every other name from a person who may approve, and refuses the name of an approver from anyone else. Without
--service the command gives exactly the scopes, subjects and classes that the options name.`,
  operands: { principal: needed('<principal>', 'such as human:ann@example.com') },
  options: {
    scope: list('<scope>', 'a scope, "prefix.*" or "word:*" (may be repeated)'),
    subject: list('<principal>', 'whom it may issue tokens to, with one "*" (may be repeated)'),
    'caller-class': value('<class>', 'the class of its tokens (default: "default"; yours)'),
    'other-class': list('<class>', 'another class that it may assign (may be repeated)'),
    out: needed('<file>', 'a new file for the key'),
    ...OPTIONS,
  },
  examples: [
    [
      'writ identities add human:ann@example.com --scope "operator:*" --out ann.key',
      'the first operator, at the store',
    ],
    [
      'writ identities add agent:planner --scope "travel.*" --out planner.key --service https://desk.example',
      'at a running service',
    ],
  ],
  cannot: 'add the identity',
  async run(given, io) {
    let added: StoredIdentity | undefined;
    await writeSecret(given.out, async () => {
      const key = newKey();
      const request = requestIn({
        principal: given.principal,
        key_sha256: createHash('sha256').update(key).digest('hex'),
        scopes: given.scope,
        subjects: given.subject,
        caller_class: given['caller-class'],
        caller_classes: given['other-class'],
      });
      added = await (given.service === undefined
        ? addAtStore(request, io)
        : addAtService(request, given, io));
      return key;
    });
    if (!added) throw new Error('the service sent no identity');
    if (given.json) printJson(io, added);
    else printFacts(io, [...factsOf(added), ['key', given.out]]);
  },
});

function newKey(): string {
  return `${IDENTITY_KEY_PREFIX}${randomBytes(IDENTITY_KEY_BYTES).toString('base64url')}`;
}

/** The same rules as at a service, before a key is made for nothing. */
function requestIn(given: object): IdentityAddRequest {
  const read = IdentityAddRequest.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Error(`${issue?.path.join('.')}: ${issue?.message}`);
}

async function addAtService(
  request: IdentityAddRequest,
  given: ServiceGiven,
  io: Io,
): Promise<StoredIdentity> {
  const client = await clientFor(given, io);
  const reply = await client.ask('identities.add', request);
  try {
    return answerOrExit(reply, given, io);
  } catch (error) {
    if (!(error instanceof CommandFault) || error.exit !== EXIT_UNAVAILABLE) throw error;
    const hint = 'it may have been added, and its key is gone: look with "writ identities list"';
    throw new CommandFault(`${error.message}; ${hint}`, { exit: error.exit, cause: error });
  }
}

function addAtStore(request: IdentityAddRequest, io: Io): Promise<StoredIdentity> {
  return changeStore(io, async (parts) => {
    const identity = newIdentity(parts, request, STORE_MAKER);
    refuse(unusableIdentity(identity));
    refuse(await storeIdentity(parts, identity, STORE_ACTOR));
    return identityView(identity);
  });
}

const COLUMNS: readonly Column<StoredIdentity>[] = [
  { heading: 'id', cell: ({ identity_id }) => identity_id },
  { heading: 'principal', cell: ({ principal }) => principal },
  { heading: 'class', cell: ({ caller_class }) => caller_class },
  { heading: 'scopes', cell: ({ scopes }) => scopes.join(' ') },
  { heading: 'subjects', cell: ({ subjects }) => subjects.join(' ') },
  { heading: 'added', cell: ({ created_at }) => created_at },
  { heading: 'by', cell: ({ created_by }) => created_by },
];

const REMOVED: readonly Column<StoredIdentity>[] = [
  ...COLUMNS,
  { heading: 'removed', cell: ({ removed_at }) => removed_at },
  { heading: 'by', cell: ({ removed_by }) => removed_by },
];

const listLeaf = leaf({
  name: 'list',
  summary: 'list the identities in the store',
  about:
    'Lists the identities in the store, the oldest first. Those of the configuration are in its file.',
  options: { removed: flag('removed ones, too'), ...OPTIONS },
  examples: [
    ['writ identities list', 'in the store of the working folder'],
    ['writ identities list --removed --json --service https://desk.example', 'every one, as JSON'],
  ],
  cannot: 'list identities',
  async run(given, io) {
    const found = await (given.service === undefined
      ? listAtStore(given.removed, io)
      : listAtService(given, io));
    found.sort((one, other) => one.created_at.localeCompare(other.created_at));
    const columns = given.removed ? REMOVED : COLUMNS;
    if (given.json) for (const each of found) printJson(io, each);
    else printTable(io, found, columns, 'The store has no identity.');
  },
});

async function listAtService(
  given: ServiceGiven & { readonly removed: boolean },
  io: Io,
): Promise<StoredIdentity[]> {
  const client = await clientFor(given, io);
  const found: StoredIdentity[] = [];
  let cursor: string | null = null;
  do {
    const asked: { removed: boolean; cursor: string | null } = { removed: given.removed, cursor };
    const answer = answerOrExit(await client.ask('identities.list', asked), given, io);
    found.push(...answer.identities);
    cursor = answer.next_cursor;
  } while (cursor !== null);
  return found;
}

/** Identities in one read. */
const PAGE = 500;

async function listAtStore(removed: boolean, io: Io): Promise<StoredIdentity[]> {
  const config = await configAt(io);
  return atStore(config, async ({ store }) => {
    const found: StoredIdentity[] = [];
    let after: string | undefined;
    do {
      const page = await store.listIdentities(PAGE, after);
      const shown = page.identities.filter((each) => removed || each.removed_at === undefined);
      found.push(...shown.map(identityView));
      after = page.next;
    } while (after !== undefined);
    return found;
  });
}

const removeLeaf = leaf({
  name: 'remove',
  summary: 'remove an identity',
  about: `Removes an identity at once, on every replica: its key, its sessions and its approvals that are not used yet. What
it issued lives on: end it with "writ agents end", or freeze the principal with "writ freeze principal". A person who signs in with a passkey ends with "writ people remove".`,
  operands: { identity_id: needed('<id>', 'as "writ identities list" shows it') },
  options: OPTIONS,
  examples: [['writ identities remove idn_0123456789abcdef0123456789abcdef', 'at the store']],
  exits: [[1, 'there is no such identity, it was removed before, or the service refused']],
  cannot: 'remove the identity',
  async run(given, io) {
    const identity_id = idIn(given.identity_id);
    const answer = await (given.service === undefined
      ? removeAtStore(identity_id, io)
      : answered('identities.remove', { identity_id }, given, io));
    if (given.json) printJson(io, answer);
    if (!answer.removed) {
      const why = 'there is no such identity, or it was removed before';
      throw new CommandFault(why, { exit: EXIT_FOUND });
    }
    if (!given.json) printRemoval(answer, io);
  },
});

function idIn(text: string): string {
  if (IdentityId.safeParse(text).success) return text;
  throw new Error(`expected an identity id such as "idn_0123…", not "${text}"`);
}

function removeAtStore(identityId: string, io: Io): Promise<IdentityRemoveAnswer> {
  return changeStore(io, async (parts) => {
    const removed = acted(await endKey(parts, identityId, STORE_ACTOR));
    const isShown = removed?.mac !== undefined;
    return { removed: removed !== undefined, identity: isShown ? identityView(removed) : null };
  });
}

function printRemoval({ identity }: IdentityRemoveAnswer, io: Io): void {
  if (identity) printFacts(io, factsOf(identity));
  else printLine(io, 'Removed. Its row was altered outside the service: run "writ fsck"');
  const who = identity ? ` --root-principal ${identity.principal}` : '';
  io.err(`What it issued lives on: see "writ agents list${who}" and "writ agents end"\n`);
}

function factsOf(identity: StoredIdentity): [name: string, value: string | null][] {
  const { scopes, subjects, caller_classes } = identity;
  return [
    ['identity', identity.identity_id],
    ['principal', identity.principal],
    ['scopes', scopes.join(' ') || 'none'],
    ['subjects', subjects.join(' ') || 'only itself'],
    ['class', [identity.caller_class, ...caller_classes].join(' ')],
    ['added', `${identity.created_at} by ${identity.created_by}`],
    ['removed', identity.removed_at && `${identity.removed_at} by ${identity.removed_by}`],
  ];
}
