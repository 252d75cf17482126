/**
 * `writ people`: who signs in with a passkey, at the store of the configuration in the working folder.
 *
 * An invitation gives exactly what the options name, also the right to approve: it is given here only. The console of the
 * service invites people with less.
 *
 * @module
 */

import { pagesUrl } from '../../address/host.ts';
import type { Config } from '../../config/config.ts';
import { isApproving } from '../../domain/authority/entitlement.ts';
import { personOfAddress } from '../../domain/authority/person.ts';
import {
  InvitationId,
  type InvitationView,
  type InvitedPerson,
  PersonInvite,
  type PersonView,
} from '../../protocol/console/people.ts';
import type { Passkey } from '../../protocol/decision.ts';
import { removePasskey } from '../../service/passkey/keys.ts';
import {
  cancelInvitation,
  newInvitation,
  storeInvitation,
} from '../../service/people/invitations.ts';
import {
  devicesOf,
  invitationView,
  linkOf,
  listPeople,
  removePerson,
} from '../../service/people/people.ts';
import { type Group, type Io, leaf } from '../shell/command.ts';
import { CommandFault, EXIT_FOUND } from '../shell/exit.ts';
import { list, needed, value } from '../shell/options.ts';
import { type Column, JSON_OPTION, printFacts, printJson, printTable } from '../shell/output.ts';
import { atStore, changeStore, configAt, STORE_ACTOR, STORE_MAKER } from '../store/at-store.ts';

const OPTIONS = JSON_OPTION;

const WHO = needed('<person>', 'an address such as ann@example.com, or human:ann@example.com');

export function peopleCommand(): Group {
  return {
    name: 'people',
    summary: 'invite people who sign in with a passkey, and remove them and their devices',
    about: `People who sign in on the pages of the service without an identity provider. Each command changes the store of the
configuration in the working folder, with its row keys, and counts at once on every replica. The log has an entry of every
change.`,
    commands: [inviteLeaf, listLeaf, revokeLeaf, removeLeaf, removeDeviceLeaf],
  };
}

const inviteLeaf = leaf({
  name: 'invite',
  summary: 'make a link and a code for a person',
  about: `Prints a link and a code of six digits. Send the link, and give the code by another way. The person opens the link,
types the code, and makes a passkey. Opening the link changes nothing. An enrolment, a newer invitation or five wrong codes end
the invitation, and so do 24 hours.

A person who is here already keeps what the person has: name no scope, and the invitation brings a new passkey, after a lost
device. Where that person may approve, the new passkey cannot approve for 24 hours, and the person's other devices and the other
approvers can cancel it at the console.`,
  operands: { person: WHO },
  options: {
    scope: list('<scope>', 'a scope, "prefix.*" or "word:*" (may be repeated)'),
    subject: list('<principal>', 'whom the person may issue tokens to (may be repeated)'),
    'caller-class': value('<class>', 'the class of the person\'s tokens (default: "default")'),
    'other-class': list('<class>', 'another class that the person may assign (may be repeated)'),
    address: value('<url>', 'of the service (default: public_url, or this machine)'),
    ...OPTIONS,
  },
  examples: [
    [
      'writ people invite ann@example.com --scope "operator:*" --subject "human:*@example.com"',
      'the first operator, who may invite people of one domain',
    ],
    ['writ people invite bob@example.com --scope "approver:*"', 'a person who approves'],
    ['writ people invite bob@example.com', 'the same person, after a lost device'],
  ],
  cannot: 'invite the person',
  async run(given, io) {
    const request = requestIn({
      principal: personOfAddress(given.person),
      scopes: given.scope,
      subjects: given.subject,
      caller_class: given['caller-class'],
      caller_classes: given['other-class'],
    });
    const { invited, record } = await changeStore(io, async (parts, config) => {
      const made = await newInvitation(parts, request, STORE_MAKER);
      const link = linkOf(enrolmentPage(config, given.address), made.secret);
      await storeInvitation(parts, made.record, STORE_ACTOR);
      const view: InvitedPerson = { ...invitationView(made.record), link, code: made.code };
      return { invited: view, record: made.record };
    });
    if (given.json) printJson(io, invited);
    else printFacts(io, factsOf(invited, record.scopes));
    io.err('Send the link, and give the code by another way: both together are the person\n');
    if (record.identity_id !== undefined && record.scopes.some(isApproving)) {
      io.err('The new passkey cannot approve for 24 hours; other approvers are told now\n');
    }
  },
});

/** The same rules as at a service. */
function requestIn(given: object): PersonInvite {
  const read = PersonInvite.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new Error(`${issue?.path.join('.')}: ${issue?.message}`);
}

function enrolmentPage({ public_url, port }: Config, address: string | undefined): string {
  const base = address ?? public_url ?? `http://localhost:${port}`;
  if (!URL.canParse(base))
    throw new Error(`expected an address such as "https://desk.example", not "${base}"`);
  return `${pagesUrl(base.replace(/\/+$/, ''))}/enrol`;
}

function factsOf(
  invited: InvitedPerson,
  scopes: readonly string[],
): [name: string, value: string | null][] {
  return [
    ['invitation', invited.invitation_id],
    ['principal', invited.principal],
    ['scopes', scopes.join(' ') || 'none'],
    ['until', invited.expires_at],
    ['link', invited.link],
    ['code', invited.code],
  ];
}

/** A line of the list: a person, or somebody who is invited. */
interface Listed {
  readonly person: PersonView | InvitationView;
  readonly devices: readonly Passkey[];
}

const COLUMNS: readonly Column<Listed>[] = [
  { heading: 'principal', cell: ({ person }) => person.principal },
  { heading: 'state', cell: ({ person }) => ('expires_at' in person ? 'invited' : 'enrolled') },
  { heading: 'scopes', cell: ({ person }) => ('scopes' in person ? person.scopes.join(' ') : '') },
  { heading: 'devices', cell: ({ devices }) => devices.map(({ label }) => label).join(', ') },
  {
    heading: 'id',
    cell: ({ person }) => ('invitation_id' in person ? person.invitation_id : person.identity_id),
  },
];

const listLeaf = leaf({
  name: 'list',
  summary: 'list people, their devices and open invitations',
  options: OPTIONS,
  examples: [
    ['writ people list', 'as a table'],
    ['writ people list --json', 'as JSON, with the ids of devices'],
  ],
  cannot: 'list people',
  async run(given, io) {
    const listed = await atStore(await configAt(io), async (parts) => {
      const { people, invitations } = await listPeople(parts);
      const found: Listed[] = [];
      for (const person of people) {
        found.push({ person, ...(await devicesOf(parts, person.principal)) });
      }
      return [...found, ...invitations.map((person) => ({ person, devices: [] }))];
    });
    if (given.json) for (const { person, devices } of listed) printJson(io, { ...person, devices });
    else printTable(io, listed, COLUMNS, 'The store has no person and no open invitation.');
  },
});

const revokeLeaf = leaf({
  name: 'revoke',
  summary: 'end an invitation',
  about: `Ends an open invitation. Of one that enrolled a passkey which does not count yet, it removes that passkey.`,
  operands: { invitation_id: needed('<id>', 'as "writ people list" shows it') },
  options: OPTIONS,
  examples: [['writ people revoke pin_0123456789abcdef0123456789abcdef', 'at the store']],
  exits: [[EXIT_FOUND, 'there is no such invitation, or it has ended']],
  cannot: 'end the invitation',
  async run(given, io) {
    const id = given.invitation_id;
    if (!InvitationId.safeParse(id).success) {
      throw new Error(`expected an invitation id such as "pin_0123…", not "${id}"`);
    }
    const ended = await changeStore(io, (parts) => cancelInvitation(parts, id, STORE_ACTOR));
    printEnd({ invitation_id: id, ended }, given.json, io);
  },
});

const removeLeaf = leaf({
  name: 'remove',
  summary: 'remove a person with all devices',
  about: `Ends the open invitation, every passkey and every session of the person, then the identity that an enrolment made.
Credentials that the configuration or "writ identities" gave under the same name stay. What the person issued lives on: end it with
"writ agents end", or freeze the principal with "writ freeze principal". Of somebody who is only invited it ends the invitation.`,
  operands: { person: WHO },
  options: OPTIONS,
  examples: [['writ people remove bob@example.com', 'at the store']],
  exits: [[EXIT_FOUND, 'there is no such person, and no open invitation']],
  cannot: 'remove the person',
  async run(given, io) {
    const principal = personOfAddress(given.person);
    const ended = await changeStore(io, (parts) => removePerson(parts, principal, STORE_ACTOR));
    printEnd({ principal, ended }, given.json, io);
  },
});

const removeDeviceLeaf = leaf({
  name: 'remove-device',
  summary: 'remove one passkey of a person',
  about: 'Removes a lost device: its passkey signs nothing from now on, and its sessions end.',
  operands: {
    person: WHO,
    credential_id: needed('<id>', 'as "writ people list --json" shows it'),
  },
  options: OPTIONS,
  examples: [['writ people remove-device bob@example.com Zm9vYmFyYmF6', 'at the store']],
  exits: [[EXIT_FOUND, 'the person has no such device']],
  cannot: 'remove the device',
  async run(given, io) {
    const principal = personOfAddress(given.person);
    const passkey = { principal, credential_id: given.credential_id };
    const ended = await changeStore(io, (parts) =>
      removePasskey(parts, passkey, STORE_ACTOR.principal),
    );
    printEnd({ ...passkey, ended }, given.json, io);
  },
});

interface Ended {
  readonly ended: boolean;
  readonly [field: string]: unknown;
}

function printEnd(answer: Ended, isJson: boolean, io: Io): void {
  if (isJson) printJson(io, answer);
  if (!answer.ended) throw new CommandFault('there is nothing to end', { exit: EXIT_FOUND });
  if (!isJson) io.err('Done\n');
}
