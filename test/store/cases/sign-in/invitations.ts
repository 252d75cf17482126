/**
 * The contract of invitations: one open invitation for each person, a few wrong codes, one enrolment.
 *
 * @module
 */

import assert from 'node:assert/strict';
import {
  INVITATION_KEPT_MS,
  type InvitationRecord,
  type StoredInvitation,
} from '../../../../src/storage/port/invitation-store.ts';
import type { Store } from '../../../../src/storage/port/store.ts';
import { at, entry, HOUR, SECOND } from '../../../support/fixtures.ts';
import {
  added,
  enrolmentOf,
  identityEntry,
  invitation,
  invitationEntry,
  invited,
  passkey,
  personIdentity,
  removedIdentity,
} from '../../../support/sign-in.ts';
import type { Cases } from '../../cases.ts';
import { entriesSince, same } from '../../observe.ts';

const PERSON = 'human:ann@example.com';
const OTHER = 'human:bob@example.com';
const WRONG_MAX = 3;

function tried(store: Store, { secret_hash }: InvitationRecord, isRight = false, now = at(SECOND)) {
  return store.tryCode({
    secret_hash,
    now,
    wrongMax: WRONG_MAX,
    isRight: () => isRight,
    entry: () => entry({ entry_type: 'session' }),
  });
}

const idOf = ({ invitation_id }: InvitationRecord) => invitation_id;

async function idsOf(listed: Promise<readonly StoredInvitation[]>): Promise<string[]> {
  return (await listed).map(({ invitation: made }) => idOf(made));
}

async function outcomeOf(store: Store, { invitation_id }: InvitationRecord) {
  return (await store.findInvitation(invitation_id))?.outcome;
}

const cancelling = () => ({
  cancelled: () => entry({ entry_type: 'operator' }),
  removed: () => entry({ entry_type: 'session' }),
});

export const INVITATION_CASES: Cases = {
  'insertInvitation() stores the invitation with its entry': async (store) => {
    const { size } = await store.sequence();
    const made = invitation({ mac: 'kid.invitation', identity_id: 'idn_1' });
    const logged = invitationEntry(made);

    assert.equal(await store.insertInvitation(made, logged, 1), 'inserted');

    same(await store.findInvitation(made.invitation_id), { invitation: made, wrong: 0 });
    const entries = await entriesSince(store, size);
    same(
      entries.map(({ entry_id }) => entry_id),
      [logged.entry_id],
    );
  },

  'insertInvitation() deletes the open one of the same person alone': async (store) => {
    const first = await invited(store, invitation());
    const others = await invited(store, invitation({ principal: OTHER }));

    const next = await invited(store, invitation({ created_at: at(HOUR) }));

    assert.equal(await store.findInvitation(first.invitation_id), undefined);
    const open = await idsOf(store.openInvitations(at(HOUR), 9));
    same(open.toSorted(), [next, others].map(idOf).toSorted());
    assert.equal(await tried(store, first, true, at(2 * HOUR)), 'unknown');
  },

  'insertInvitation() leaves one open invitation of several concurrent ones': async (store) => {
    const made = Array.from({ length: 5 }, () => invitation());

    await Promise.all(made.map((each) => invited(store, each)));

    assert.equal((await store.openInvitations(at(0), 9)).length, 1);
  },

  'insertInvitation() deletes those that expired long ago': async (store) => {
    const old = await invited(store, invitation({ principal: OTHER }));
    const later = at(24 * HOUR + INVITATION_KEPT_MS);

    await invited(store, invitation({ created_at: later, expires_at: at(INVITATION_KEPT_MS * 2) }));

    assert.equal(await store.findInvitation(old.invitation_id), undefined);
  },

  'insertInvitation() is full at the most open ones of others, and changes nothing': async (
    store,
  ) => {
    const own = await invited(store, invitation());
    await invited(store, invitation({ principal: OTHER }));
    const { size } = await store.sequence();
    const insert = (made: InvitationRecord) =>
      store.insertInvitation(made, invitationEntry(made), 1);

    assert.equal(await insert(invitation()), 'full');
    same(await entriesSince(store, size), []);
    assert.equal(await outcomeOf(store, own), undefined);
    assert.equal(await insert(invitation({ principal: 'human:eve' })), 'full');
    const afterwards = { created_at: at(24 * HOUR), expires_at: at(25 * HOUR) };
    assert.equal(await insert(invitation(afterwards)), 'inserted', 'the others have expired');
  },

  'openInvitations() lists those that are open, the last to expire first': async (store) => {
    const late = await invited(store, invitation({ expires_at: at(3 * HOUR) }));
    const soon = await invited(store, invitation({ principal: OTHER, expires_at: at(2 * HOUR) }));
    await invited(store, invitation({ principal: 'human:eve', expires_at: at(HOUR) }));
    const ended = await invited(store, invitation({ principal: 'human:dan' }));
    await store.cancelInvitation(ended.invitation_id, at(SECOND), cancelling());

    same(await idsOf(store.openInvitations(at(HOUR), 9)), [late, soon].map(idOf));
    same(await idsOf(store.openInvitations(at(HOUR), 1)), [idOf(late)]);
  },

  'openInvitationOf() finds the one of the person while it is open': async (store) => {
    const made = await invited(store, invitation());
    await invited(store, invitation({ principal: OTHER }));

    same(await store.openInvitationOf(PERSON, at(0)), { invitation: made, wrong: 0 });
    assert.equal(await store.openInvitationOf(PERSON, made.expires_at), undefined);
    await store.cancelInvitation(made.invitation_id, at(SECOND), cancelling());
    assert.equal(await store.openInvitationOf(PERSON, at(SECOND)), undefined);
  },

  'waitingInvitations() lists those whose passkey does not count yet, the last to count first':
    async (store) => {
      const enrolled = async (principal: string, usable_from: Date) => {
        const made = await invited(store, invitation({ principal }));
        const enrolment = enrolmentOf(made);
        const waiting = { ...enrolment.passkey, usable_from };
        assert.equal(await store.enrol({ ...enrolment, passkey: waiting }), 'enrolled');
        return made;
      };
      const [soon, late] = [await enrolled(PERSON, at(HOUR)), await enrolled(OTHER, at(2 * HOUR))];
      await enrolled('human:eve', at(SECOND));
      await invited(store, invitation({ principal: 'human:dan' }));

      same(await idsOf(store.waitingInvitations(at(SECOND), 9)), [late, soon].map(idOf));
      same(await idsOf(store.waitingInvitations(at(SECOND), 1)), [idOf(late)]);
      same(await idsOf(store.waitingInvitations(at(HOUR), 9)), [idOf(late)]);
    },

  'tryCode() finds the open invitation of a secret, and counts no right code': async (store) => {
    const made = await invited(store, invitation());
    const unknown = invitation();

    same(await tried(store, made, true), made);

    assert.equal(await tried(store, unknown, true), 'unknown');
    assert.equal(await tried(store, made, true, made.expires_at), 'unknown');
    assert.equal((await store.findInvitation(made.invitation_id))?.wrong, 0);
  },

  'tryCode() ends the invitation with the last wrong code, with an entry': async (store) => {
    const made = await invited(store, invitation());
    const { size } = await store.sequence();

    same(
      [await tried(store, made), await tried(store, made), await tried(store, made)],
      ['wrong', 'wrong', 'guessed'],
    );

    assert.equal(await tried(store, made, true), 'unknown');
    assert.equal(await outcomeOf(store, made), 'guessed');
    assert.equal((await entriesSince(store, size)).length, 1);
  },

  'tryCode() judges no more wrong codes than the most, however many come at once': async (
    store,
  ) => {
    const made = await invited(store, invitation());

    const outcomes = await Promise.all(Array.from({ length: 9 }, () => tried(store, made)));

    same(outcomes.filter((outcome) => outcome !== 'unknown').toSorted(), [
      'guessed',
      'wrong',
      'wrong',
    ]);
  },

  'enrol() stores passkey and identity with their entries, and ends the invitation': async (
    store,
  ) => {
    const made = await invited(store, invitation());
    const { size } = await store.sequence();
    const enrolment = enrolmentOf(made);

    assert.equal(await store.enrol(enrolment), 'enrolled');

    same(await store.listPasskeys(PERSON, 9), [{ passkey: enrolment.passkey }]);
    same(await store.findPasskey(enrolment.passkey.credential_id), { passkey: enrolment.passkey });
    same(await store.identitiesOf(PERSON, 9), [enrolment.identity?.record]);
    const { ended_at, outcome, credential_id } =
      (await store.findInvitation(made.invitation_id)) ?? {};
    same(
      [ended_at, outcome, credential_id],
      [at(SECOND), 'enrolled', enrolment.passkey.credential_id],
    );
    const entries = await entriesSince(store, size);
    same(
      entries.map(({ entry_id }) => entry_id),
      [enrolment.identity?.entry.entry_id, enrolment.entry.entry_id],
    );
  },

  'enrol() happens once of several concurrent ones': async (store) => {
    const made = await invited(store, invitation());

    const outcomes = await Promise.all(
      Array.from({ length: 5 }, () => store.enrol(enrolmentOf(made))),
    );

    same(outcomes.toSorted(), ['ended', 'ended', 'ended', 'ended', 'enrolled']);
    assert.equal((await store.listPasskeys(PERSON, 9)).length, 1);
    assert.equal((await store.identitiesOf(PERSON, 9)).length, 1);
  },

  'enrol() changes nothing for an invitation that is not open, or of another person': async (
    store,
  ) => {
    const made = await invited(store, invitation());
    const gone = await invited(store, invitation({ principal: OTHER }));
    await store.cancelInvitation(gone.invitation_id, at(SECOND), cancelling());
    const { size } = await store.sequence();
    const others = { passkey: passkey({ principal: OTHER }) };

    assert.equal(await store.enrol(enrolmentOf(invitation())), 'ended');
    assert.equal(await store.enrol(enrolmentOf(gone)), 'ended');
    assert.equal(await store.enrol(enrolmentOf(made, { now: made.expires_at })), 'ended');
    assert.equal(await store.enrol(enrolmentOf(made, others)), 'ended');

    same(await entriesSince(store, size), []);
    same(await store.listPasskeys(PERSON, 9), []);
    same(await store.identitiesOf(PERSON, 9), []);
  },

  'enrol() keeps the identity that the invitation names, while it lives': async (store) => {
    const kept = personIdentity();
    await store.insertIdentity(kept, identityEntry(kept), 9);
    const { identity_id } = kept;
    const first = await invited(store, invitation({ identity_id }));
    assert.equal(await store.enrol(enrolmentOf(first)), 'enrolled');
    const [one] = await store.listPasskeys(PERSON, 9);
    const seen = [one?.passkey.credential_id ?? ''];
    const next = await invited(store, invitation({ identity_id }));
    await store.removeIdentity(identity_id, removedIdentity, identityEntry);

    assert.equal(await store.enrol(enrolmentOf(next, { seen })), 'ended');

    assert.equal((await store.listPasskeys(PERSON, 9)).length, 1);
  },

  'enrol() makes no second identity of a person': async (store) => {
    const made = await invited(store, invitation());
    const kept = personIdentity({ principal: OTHER });
    await store.insertIdentity(kept, identityEntry(kept), 9);
    const others = await invited(store, invitation({ principal: OTHER }));
    assert.equal(await store.enrol(enrolmentOf(made)), 'enrolled');
    const seen = (await store.listPasskeys(PERSON, 9)).map(({ passkey }) => passkey.credential_id);
    const again = await invited(store, invitation());
    const { size } = await store.sequence();

    assert.equal(await store.enrol(enrolmentOf(again, { seen })), 'ended');
    assert.equal(await store.enrol(enrolmentOf(others)), 'ended');

    same(await entriesSince(store, size), []);
    assert.equal((await store.identitiesOf(PERSON, 9)).length, 1);
    await store.removeIdentity(kept.identity_id, removedIdentity, identityEntry);
    assert.equal(await store.enrol(enrolmentOf(others)), 'enrolled');
  },

  'enrol() is stale, taken or full as a passkey and an identity are': async (store) => {
    const made = await invited(store, invitation());
    const others = await added(store, passkey({ principal: OTHER }));
    const enrolment = enrolmentOf(made);
    const taken = { ...enrolment.passkey, credential_id: others.credential_id };
    const { size } = await store.sequence();

    assert.equal(await store.enrol({ ...enrolment, passkey: taken }), 'taken');
    assert.equal(await store.enrol({ ...enrolment, seen: ['other'] }), 'stale');
    assert.equal(await store.enrol({ ...enrolment, livingMax: 0 }), 'full');

    same(await entriesSince(store, size), []);
    assert.equal(await store.enrol(enrolment), 'enrolled');
  },

  'cancelInvitation() ends an open invitation with its entry, once': async (store) => {
    const made = await invited(store, invitation());
    const { size } = await store.sequence();
    const cancel = () => store.cancelInvitation(made.invitation_id, at(SECOND), cancelling());

    same(await cancel(), { invitation: made, wrong: 0 });

    assert.equal(await cancel(), undefined);
    assert.equal(await outcomeOf(store, made), 'cancelled');
    assert.equal((await entriesSince(store, size)).length, 1);
    assert.equal(await store.cancelInvitation('pin_0', at(0), cancelling()), undefined);
  },

  'cancelInvitation() removes the passkey that was enrolled, while it does not count': async (
    store,
  ) => {
    const made = await invited(store, invitation());
    const enrolment = enrolmentOf(made);
    await store.enrol(enrolment);
    const { size } = await store.sequence();
    const { credential_id, usable_from } = enrolment.passkey;
    const cancel = (now: Date) => store.cancelInvitation(made.invitation_id, now, cancelling());

    assert.equal(await cancel(usable_from), undefined);
    assert.equal((await cancel(at(HOUR)))?.credential_id, credential_id);
    assert.equal(await cancel(at(HOUR)), undefined);

    same((await store.findPasskey(credential_id))?.removed_at, at(HOUR));
    assert.equal((await entriesSince(store, size)).length, 2);
  },

  'voidPromises() deletes invitations': async (store) => {
    const made = await invited(store, invitation());

    await store.voidPromises();

    assert.equal(await store.findInvitation(made.invitation_id), undefined);
  },
};
