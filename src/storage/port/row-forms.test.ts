import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import {
  approval,
  at,
  binding,
  cents,
  childToken,
  freezeOf,
  grantFor,
  HOUR,
  rootToken,
  usd,
} from '../../../test/support/fixtures.ts';
import {
  accountOf,
  connected,
  consentBeside,
  identity,
  invitation,
  passkey,
  removedIdentity,
  rotated,
  session,
} from '../../../test/support/sign-in.ts';
import { listedRowKeys } from '../../keyring/row-keys.ts';
import { type RowKind, type RowOf, rowText, votesOf } from './row-forms.ts';

const rows = listedRowKeys(Buffer.alloc(32, 7).toString('base64'), () => new Date(0));

/** What a step of the store changes, or what is not of the row: nothing else may be left out. */
const UNCOVERED: Readonly<Record<RowKind, readonly string[]>> = {
  token: ['mac'],
  revocation: [],
  freeze: ['mac'],
  binding: ['mac'],
  // The delegate and the bytes follow from fields that are covered.
  approval: [
    ...['mac', 'approvals', 'status', 'decided_at', 'decided_by', 'reason', 'grant_id'],
    ...['delegate', 'kept_bytes'],
  ],
  vote: ['mac'],
  grant: ['mac', 'uses'],
  session: ['mac'],
  account: ['mac'],
  consent: ['mac'],
  passkey: ['mac'],
  connected_account: ['mac'],
  identity: ['mac'],
  invitation: ['mac'],
};

const token = childToken(rootToken(), {
  budget: cents(500),
  capability: 'book_flight',
  session_id: 's-1',
  purpose: { task_id: 'x' },
  mac: 'kid.mac',
});
const terms = { grant_type: 'one_time', session_id: null, expires_in_seconds: 9, max_uses: 1 };
const request = approval({
  session_id: 's-1',
  preview: { a: 1 },
  preview_digest: 'sha256:00',
  chain: 'sha256:01',
  approvals: [
    {
      approver: 'human:a',
      approved_at: at(1),
      terms: terms as never,
      credential_id: 'AQID',
      mac: 'kid.mac',
    },
  ],
  decided_at: at(2),
  decided_by: 'human:a',
  reason: 'yes',
  grant_id: 'gnt_1',
  mac: 'kid.mac',
});

const signedIn = session({ mac: 'kid.mac' });

/** One of each kind, with every field that a record can have. */
const RECORDS: { readonly [Kind in RowKind]: RowOf<Kind> } = {
  token,
  revocation: { token_id: token.token_id, revoked_at: at(HOUR) },
  freeze: freezeOf({ until: at(HOUR), mac: 'kid.mac' }),
  binding: binding(token, { price: usd(100n), mac: 'kid.mac' }),
  approval: request,
  vote: votesOf(request)[0] as RowOf<'vote'>,
  grant: grantFor(request, { session_id: 's-1', preview_digest: 'sha256:00', mac: 'kid.mac' }),
  session: signedIn,
  account: accountOf(signedIn, { ended_at: at(HOUR), mac: 'kid.mac' }),
  consent: rotated(consentBeside(token, { mac: 'kid.mac' })),
  passkey: passkey({ invitation_id: 'pin_0', identity_id: 'idn_0', mac: 'kid.mac' }),
  connected_account: connected({ mac: 'kid.mac' }),
  identity: removedIdentity(identity({ mac: 'kid.mac' })),
  invitation: invitation({ identity_id: 'idn_0', mac: 'kid.mac' }),
};

/** Another value of the same type, or none. */
function otherThan(value: unknown): fc.Arbitrary<unknown> {
  const changed =
    value instanceof Date
      ? fc.integer({ min: 1, max: 1e12 }).map((more) => new Date(value.getTime() + more))
      : typeof value === 'number'
        ? fc.integer({ min: 1, max: 1e6 }).map((more) => value + more)
        : typeof value === 'string'
          ? fc.string({ minLength: 1 }).map((more) => `${value}${more}`)
          : Array.isArray(value)
            ? fc.string().map((more) => [...value, more])
            : fc.string().map((more) => ({ ...(value as object), currency: 'EUR', more }));
  return fc.oneof(changed, fc.constant(undefined));
}

for (const kind of Object.keys(RECORDS) as RowKind[]) {
  const record = RECORDS[kind] as RowOf<typeof kind> & Record<string, unknown>;
  const covered = Object.keys(record).filter((field) => !UNCOVERED[kind].includes(field));

  test(`rowText() of a ${kind} whose field was changed does not match its MAC`, () => {
    const mac = rows.macOf(rowText(kind, record));
    assert.ok(rows.isMacOf(rowText(kind, record), mac));

    const edit = fc
      .constantFrom(...covered)
      .chain((field) => otherThan(record[field]).map((value) => ({ field, value })));
    fc.assert(
      fc.property(edit, ({ field, value }) => {
        let text: string;
        try {
          text = rowText(kind, { ...record, [field]: value });
        } catch {
          return; // What has no text has no MAC.
        }
        assert.ok(!rows.isMacOf(text, mac), `${field} = ${String(value)}`);
      }),
    );
  });
}

test('rowText() names the passkey of a vote only where it has one', () => {
  assert.doesNotMatch(rowText('vote', { ...RECORDS.vote, credential_id: undefined }), /credential/);
  assert.match(rowText('vote', RECORDS.vote), /"credential_id":"AQID"/);
});

test('rowText() keeps the kinds apart', () => {
  const facts = { token_id: 'x', revoked_at: at(0) };

  const texts = (Object.keys(RECORDS) as RowKind[]).map((kind) => rowText(kind, RECORDS[kind]));

  assert.equal(new Set(texts.map((text) => text.split('\n')[0])).size, texts.length);
  assert.match(rowText('revocation', facts), /^writ row revocation\n/);
});
