/**
 * The contract of consents and of their renewal.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { ConsentRecord } from '../../../../src/storage/port/sign-in-store.ts';
import type { ChildBounds, Store } from '../../../../src/storage/port/store.ts';
import { issuanceEntry } from '../../../support/entries.ts';
import { at, cents, entry, HOUR, insert, rootToken, SECOND } from '../../../support/fixtures.ts';
import { accessToken, consentBeside, consented, rotated } from '../../../support/sign-in.ts';
import type { Cases } from '../../cases.ts';
import { entriesSince, observe, same } from '../../observe.ts';

const BOUNDS: ChildBounds = { now: at(SECOND), childrenMax: 10 };

/** Fails when the act changes the consent, its token, the log or anything else that can be observed. */
async function unmoved<Result>(
  store: Store,
  { consent_id, token_id }: ConsentRecord,
  act: () => Promise<Result>,
): Promise<Result> {
  const seen = async () => [
    await observe(store, { tokens: [token_id] }),
    await store.findConsent({ consent_id }),
  ];
  const before = await seen();
  const result = await act();
  assert.deepEqual(await seen(), before);
  return result;
}

export const CONSENT_CASES: Cases = {
  'insertConsent() stores the consent, its root token with the budget, and the entry': async (
    store,
  ) => {
    const { size } = await store.sequence();
    const token = rootToken({ budget: cents(30_000), mac: 'kid.token' });
    const consent = consentBeside(token, { mac: 'kid.consent' });
    const logged = issuanceEntry(token);

    await store.insertConsent(consent, token, logged);

    same(await store.findConsent({ consent_id: consent.consent_id }), consent);
    same(await store.findConsent({ code_hash: consent.code_hash }), consent);
    const described = await store.describeToken(token.token_id, 0);
    same(described?.token, token);
    assert.equal(described?.lineage[0]?.budget?.max, 30_000n);
    const entries = await entriesSince(store, size);
    assert.deepEqual(
      entries.map(({ entry_id }) => entry_id),
      [logged.entry_id],
    );
    same(await store.findConsent({ token_id: token.token_id }), consent);
    assert.equal(await store.findConsent({ token_id: consent.consent_id }), undefined);
    assert.equal(await store.findConsent({ consent_id: consent.code_hash }), undefined);
    assert.equal(await store.findConsent({ code_hash: consent.consent_id }), undefined);
  },

  'insertConsent() with the code or the token of another consent stores nothing': async (store) => {
    const { token, consent } = await consented(store);
    const other = rootToken();
    const { code_hash } = consent;
    const { size } = await store.sequence();

    const sameCode = consentBeside(other, { code_hash });
    await assert.rejects(store.insertConsent(sameCode, other, issuanceEntry(other)));
    const sameToken = { ...consentBeside(other), token_id: token.token_id };
    await assert.rejects(store.insertConsent(sameToken, other, issuanceEntry(other)));

    assert.equal(await store.describeToken(other.token_id, 0), undefined);
    same(await store.findConsent({ code_hash }), consent);
    assert.equal((await store.sequence()).size, size);
  },

  'listConsents() has the consents of one person, newest first, page by page': async (store) => {
    const root_principal = 'human:ann@example.com';
    const given: ConsentRecord[] = [];
    for (const second of [1, 3, 2, 2, 2, 4]) {
      const created_at = at(second * SECOND);
      given.push((await consented(store, { created_at, token: { root_principal } })).consent);
    }
    await consented(store);

    const found: ConsentRecord[] = [];
    for (let page = await store.listConsents(root_principal, 2); page.length > 0; ) {
      assert.equal(page.length, 2);
      found.push(...page);
      page = await store.listConsents(root_principal, 2, page.at(-1));
    }

    assert.deepEqual(
      found.map(({ created_at }) => created_at),
      [4, 3, 2, 2, 2, 1].map((second) => at(second * SECOND)),
    );
    const ordered = (list: ConsentRecord[]) =>
      list.sort((one, other) => (one.consent_id < other.consent_id ? -1 : 1));
    same(ordered(found), ordered(given));
    same(await store.listConsents(root_principal, 99), await store.listConsents(root_principal, 6));
    assert.deepEqual(await store.listConsents('human:nobody', 9), []);
  },
};

/** What ends a renewal, each with the answer that `insertChild` would give. */
const REFUSALS: readonly [
  answer: string,
  bounds: Partial<ChildBounds>,
  before?: (store: Store, tokenId: string) => Promise<unknown>,
][] = [
  ['parent_revoked', {}, (store, id) => store.revokeToken(id, at(0), () => entry())],
  ['parent_expired', { now: at(24 * HOUR) }],
  ['too_many', { childrenMax: 0 }],
  ['parent_altered', { judged: [] }],
];

export const RENEWAL_CASES: Cases = {
  'renewConsent() replaces the whole consent and inserts the child': async (store) => {
    const { token, consent } = await consented(store, { token: { budget: cents(100) } });
    const child = accessToken(token, { budget: cents(50) });
    const next = { ...rotated(consent), client_name: 'Another', resource: undefined, mac: 'kid.n' };
    const logged = issuanceEntry(child);
    const { size } = await store.sequence();

    assert.equal(await store.renewConsent(next, consent, child, logged, BOUNDS), 'inserted');

    same(await store.findConsent({ consent_id: consent.consent_id }), next);
    same(await store.findConsent({ code_hash: consent.code_hash }), next);
    const described = await store.describeToken(child.token_id, 0);
    same(described?.token, child);
    assert.equal(described?.lineage.at(-1)?.budget?.max, 50n);
    assert.equal((await store.describeToken(token.token_id, 9))?.childrenCount, 1);
    const entries = await entriesSince(store, size);
    assert.deepEqual(
      entries.map(({ entry_id }) => entry_id),
      [logged.entry_id],
    );
  },

  'renewConsent() is stale where the row has another generation': async (store) => {
    const { token, consent } = await consented(store);
    const first = rotated(consent);
    const renew = (next: ConsentRecord, seen: ConsentRecord) => {
      const child = accessToken(token);
      return store.renewConsent(next, seen, child, issuanceEntry(child), BOUNDS);
    };
    assert.equal(await renew(first, consent), 'inserted');
    const second = rotated(first);

    assert.equal(await unmoved(store, first, () => renew(second, consent)), 'stale');
    assert.equal(await unmoved(store, first, () => renew(second, second)), 'stale');
    assert.equal(await renew(second, first), 'inserted');
    same(await store.findConsent({ consent_id: consent.consent_id }), second);
  },

  'renewConsent() is stale where the use of the code is another': async (store) => {
    const { token, consent } = await consented(store);
    const used = { ...consent, code_used_at: at(SECOND) };
    const child = accessToken(token);
    const renew = (seen: Pick<ConsentRecord, 'generation' | 'code_used_at'>) =>
      store.renewConsent(used, seen, child, issuanceEntry(child), BOUNDS);

    assert.equal(await unmoved(store, consent, () => renew(used)), 'stale');
    assert.equal(await renew(consent), 'inserted');
    assert.equal(await unmoved(store, used, () => renew(consent)), 'stale');
    const other = { generation: 0, code_used_at: at(SECOND + 1) };
    assert.equal(await unmoved(store, used, () => renew(other)), 'stale');
  },

  'renewConsent() of an unknown consent is stale, whatever became of the parent': async (store) => {
    const token = await insert(store, rootToken());
    await store.revokeToken(token.token_id, at(0), () => entry());
    const consent = consentBeside(token);
    const child = accessToken(token);
    const renewed = () =>
      store.renewConsent(rotated(consent), consent, child, issuanceEntry(child), BOUNDS);

    assert.equal(await unmoved(store, consent, renewed), 'stale');
  },

  'renewConsent() changes nothing where the child cannot be inserted': async (store) => {
    for (const [answer, bounds, before] of REFUSALS) {
      const { token, consent } = await consented(store);
      await before?.(store, token.token_id);
      const child = accessToken(token);
      const renewed = () =>
        store.renewConsent(rotated(consent), consent, child, issuanceEntry(child), {
          ...BOUNDS,
          ...bounds,
        });

      assert.equal(await unmoved(store, consent, renewed), answer);
    }
  },

  'renewConsent() changes nothing when the parent is unknown or the child exists': async (
    store,
  ) => {
    const { token, consent } = await consented(store);
    const orphan = accessToken(rootToken());
    const orphaned = () =>
      store.renewConsent(rotated(consent), consent, orphan, issuanceEntry(orphan), BOUNDS);
    assert.equal(await unmoved(store, consent, orphaned), 'parent_unknown');

    const child = await insert(store, accessToken(token));
    const repeated = () =>
      store.renewConsent(rotated(consent), consent, child, issuanceEntry(child), BOUNDS);
    await unmoved(store, consent, () => assert.rejects(repeated()));
  },
};
