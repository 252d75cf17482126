import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import type pg from 'pg';
import { test } from 'vitest';
import { money } from '../../../test/store/observe.ts';
import { closedAtEnd } from '../../../test/support/ends.ts';
import {
  admission,
  admitCall,
  at,
  cents,
  childToken,
  entry,
  insert,
  rootToken,
  settlement,
  usd,
} from '../../../test/support/fixtures.ts';
import { connectedTo, freshDatabase } from '../../../test/support/postgres.ts';
import {
  accessToken,
  accountOf,
  begin,
  consented,
  enrolmentOf,
  invitation,
  invited,
  rotated,
  session,
} from '../../../test/support/sign-in.ts';
import type { Admission } from '../port/invocation-store.ts';
import type { TokenRecord } from '../port/records.ts';
import type { SessionSelector } from '../port/sign-in-store.ts';
import type { Store } from '../port/store.ts';
import { GATE } from './schema/functions.ts';
import { openPostgres } from './store.ts';

const ROUNDS = 40;

/** A circle is found before the waiting in it ends otherwise. */
const ATTENTIVE = '-c deadlock_timeout=20ms';

test('admit() and settle() of crossing sets of tokens never wait in a circle', async () => {
  const { one, other, deadlocks } = await attentiveStores();
  const tokens = await forest(one);
  const reversed = [...tokens].reverse();

  await Promise.all([
    callOften(one, tokens),
    callOften(one, reversed),
    callOften(other, tokens),
    callOften(other, reversed),
  ]);

  const kept = await money(one, tokens);
  assert.deepEqual(
    kept.map(([reserved]) => reserved),
    kept.map(() => 0n),
  );
  assert.deepEqual(await deadlocks(), [{ deadlocks: 0 }]);
});

test('sign-ins, sign-outs and renewals that cross never wait in a circle', async () => {
  const { one, other, deadlocks } = await attentiveStores();
  const { token, consent } = await consented(one);
  const selectors = [{ principal: SIGNED_IN.principal }, { issuer: ISSUER, sub: 'ann' }];

  for (let round = 0; round < ROUNDS; round++) {
    const stores = [one, other, one, other];
    for (const store of stores) await begin(store, session(SIGNED_IN));
    await Promise.all(
      stores.flatMap((store, place) => [
        begin(store, session({ ...SIGNED_IN, created_at: at(round) }), 2),
        store.endSessions(selectors[place % 2] as SessionSelector, at(1), () => entry()),
        store.renewConsent(consent, consent, accessToken(token), entry(), RENEWAL_BOUNDS),
      ]),
    );
  }
  await one.revokeToken(token.token_id, at(0), () => entry());

  assert.deepEqual(await deadlocks(), [{ deadlocks: 0 }]);
});

test('invitations, enrolments, sign-ins and removals of one person that cross never wait in a circle', async () => {
  const { one, other, deadlocks } = await attentiveStores();
  const cancelling = { cancelled: () => entry(), removed: () => entry() };

  for (let round = 0; round < ROUNDS; round++) {
    const made = await invited(one, invitation());
    const { principal, invitation_id } = made;
    const { passkey } = enrolmentOf(made);
    const signedIn = session({ principal, created_at: at(round) });
    const seen = (await one.listPasskeys(principal, 99)).map((each) => each.passkey.credential_id);
    await Promise.all([
      one.enrol(enrolmentOf(made, { passkey, seen })),
      other.enrol(enrolmentOf(made, { seen })),
      invited(other, invitation()),
      one.cancelInvitation(invitation_id, at(1), cancelling),
      one.removePasskey(passkey, at(2), entry()),
      other.beginSession(signedIn, accountOf(signedIn), entry(), 2, passkey.credential_id),
    ]);
  }

  assert.deepEqual(await deadlocks(), [{ deadlocks: 0 }]);
});

const ISSUER = 'https://id.example.com';
const SIGNED_IN = { principal: 'human:ann@example.com', issuer: ISSUER, sub: 'ann' };
const RENEWAL_BOUNDS = { now: at(0), childrenMax: 10_000 };

/** Two stores on one database that finds circles soon. `deadlocks` closes them and says what it found. */
async function attentiveStores() {
  const server = await freshDatabase();
  const url = new URL(server.url);
  url.searchParams.set('options', ATTENTIVE);
  const [one, other] = [await openPostgres(url.href), await openPostgres(url.href)];
  const deadlocks = async (): Promise<unknown[]> => {
    // Connections tell what they counted when they end.
    await Promise.all([one.close(), other.close()]);
    const observer = await connectedTo(server.url);
    while ((await observer.query(OTHERS)).rows.length > 0) await turn();
    return (await observer.query(DEADLOCKS)).rows;
  };
  return { one, other, deadlocks };
}

const OTHERS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'writ'`;

const DEADLOCKS = `SELECT deadlocks::integer FROM pg_stat_database
  WHERE datname = current_database()`;

/** What two tokens have each that others may hold: how to hold one, and to see that another is free. */
const LOCKS = {
  gate: {
    hold: `SELECT pg_advisory_xact_lock(${GATE}, hashtext($1))`,
    try: `SELECT pg_try_advisory_xact_lock(${GATE}, hashtext($1)) AS free`,
  },
  budget: {
    hold: 'SELECT FROM budgets WHERE token_id = $1 FOR UPDATE',
    try: 'SELECT true AS free FROM budgets WHERE token_id = $1 FOR UPDATE SKIP LOCKED',
  },
  lease: {
    hold: 'SELECT FROM leases WHERE token_id = $1 FOR UPDATE',
    try: 'SELECT true AS free FROM leases WHERE token_id = $1 FOR UPDATE SKIP LOCKED',
  },
} as const;

const WAITED_FOR = [
  ['admit', 'gate'],
  ['admit', 'budget'],
  ['admit', 'lease'],
  ['settle', 'budget'],
  ['settle', 'lease'],
] as const;

for (const [step, lock] of WAITED_FOR) {
  test(`${step}() that waits for a ${lock} holds none that comes after it`, async () => {
    const server = await freshDatabase();
    const store = closedAtEnd(await openPostgres(server.url));
    const [holder, observer] = [await connectedTo(server.url), await connectedTo(server.url)];
    const tokens = await pairOf(store, observer, lock);
    const [first, second] = tokens;
    const calls = tokens.map((token) => admission(token, { charge: usd(1n) }));
    if (step === 'settle') await Promise.all(calls.map((call) => store.admit(call)));
    await holder.query('BEGIN');
    await holder.query(LOCKS[lock].hold, [first.token_id]);

    const done = [...calls].reverse().map((call) => {
      return step === 'settle' ? store.settle(settlement(call)) : store.admit(call);
    });
    while ((await observer.query(WAITING)).rows.length === 0) await turn();
    const { rows } = await observer.query(LOCKS[lock].try, [second.token_id]);
    await holder.query('ROLLBACK');

    assert.deepEqual(rows, [{ free: true }]);
    await Promise.all(done);
  });
}

/** What a renewal waits for, and what comes after that in the order of locks. */
const RENEWAL_WAITS: [lock: string, hold: string, after: string][] = [
  [
    'gate',
    LOCKS.gate.hold,
    'SELECT true AS free FROM consents WHERE token_id = $1 FOR UPDATE SKIP LOCKED',
  ],
  [
    'consent',
    'SELECT FROM consents WHERE token_id = $1 FOR UPDATE',
    'SELECT true AS free FROM tokens WHERE token_id = $1 FOR UPDATE SKIP LOCKED',
  ],
];

for (const [lock, hold, after] of RENEWAL_WAITS) {
  test(`renewConsent() that waits for a ${lock} holds nothing that comes after it`, async () => {
    const server = await freshDatabase();
    const store = closedAtEnd(await openPostgres(server.url));
    const [holder, observer] = [await connectedTo(server.url), await connectedTo(server.url)];
    const { token, consent } = await consented(store);
    await holder.query('BEGIN');
    await holder.query(hold, [token.token_id]);

    const child = accessToken(token);
    const done = store.renewConsent(rotated(consent), consent, child, entry(), RENEWAL_BOUNDS);
    while ((await observer.query(WAITING)).rows.length === 0) await turn();
    const { rows } = await observer.query(after, [token.token_id]);
    await holder.query('ROLLBACK');

    assert.deepEqual(rows, [{ free: true }]);
    assert.equal(await done, 'inserted');
  });
}

/** Two tokens in the order in which this lock is taken. Each was used before, and so has a lease. */
async function pairOf(
  store: Store,
  observer: pg.Client,
  lock: keyof typeof LOCKS,
): Promise<[TokenRecord, TokenRecord]> {
  const fields = { budget: cents(100), concurrent_branches: 'exclusive' } as const;
  const tokens = [await insert(store, rootToken(fields)), await insert(store, rootToken(fields))];
  for (const token of tokens) {
    const call = await admitCall(store, token);
    await store.settle(settlement(call));
  }
  const place = lock === 'gate' ? 'hashtext(token_id)' : 'lineage';
  const { rows } = await observer.query(`SELECT token_id FROM tokens ORDER BY ${place}`);
  const inOrder = rows.map(({ token_id }) => tokens.find((token) => token.token_id === token_id));
  return inOrder as [TokenRecord, TokenRecord];
}

const WAITING = `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
  AND wait_event_type = 'Lock' AND application_name = 'writ'`;

/** Trees whose branches have budgets and turns of their own, in places that differ. */
async function forest(store: Store): Promise<TokenRecord[]> {
  const tokens: TokenRecord[] = [];
  for (let tree = 0; tree < 3; tree++) {
    const root = await insert(store, rootToken(tree === 2 ? {} : { budget: cents(100_000) }));
    tokens.push(root);
    for (let branch = 0; branch < 3; branch++) {
      const turns = branch === 0 ? { concurrent_branches: 'exclusive' as const } : {};
      const child = await insert(store, childToken(root, { budget: cents(50_000), ...turns }));
      tokens.push(child, await insert(store, childToken(child, { budget: cents(20_000) })));
    }
  }
  return tokens;
}

async function callOften(store: Store, tokens: readonly TokenRecord[]): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const admitted = await admitAll(store, tokens);
    await Promise.all(admitted.map((call) => store.settle(settlement(call))));
  }
}

/** Those that were admitted. Some cost nothing, and hold no budget. */
async function admitAll(store: Store, tokens: readonly TokenRecord[]): Promise<Admission[]> {
  const calls = tokens.map((token, place) =>
    admission(token, place % 4 === 3 ? {} : { charge: usd(1n) }),
  );
  const results = await Promise.all(calls.map((call) => store.admit(call)));
  return calls.filter((_, place) => results[place]?.admitted);
}
