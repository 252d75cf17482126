/**
 * Issuance, field by field: what is wrong in type, form, size or meaning is refused by name, and
 * nothing is issued.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ALICE, type Reply } from '../support/world.ts';
import {
  ALICE_PRINCIPAL,
  askToken,
  assertRefusalEntry,
  assertRefused,
  onInspectedStores,
  type Refused,
  rowCounts,
  SECRETS,
  watched,
} from './support.ts';

type Row = readonly [what: string, value: unknown, type?: Refused];

/** Spec, "POST /svc/tokens", and the three fields that the decisions add. */
const WRONG: Readonly<Record<string, readonly Row[]>> = {
  scope: [
    ['left out', undefined],
    ['null', null],
    ['a text', 'travel.search'],
    ['an object', { 0: 'travel.search' }],
    ['empty', []],
    ['of a number', [7]],
    ['of null', [null]],
    ['of a list', [['travel.search']]],
    ['of an empty text', ['']],
    ['with a space', ['travel.search travel.book']],
    ['with a space before it', [' travel.search']],
    ['with a quote', ['travel."x"']],
    ['with a backslash', ['travel.\\x']],
    ['with a letter beyond ASCII', ['trävel.search']],
    ['with a line break', ['travel.search\n']],
    ['of 129 characters', [`travel.${'x'.repeat(122)}`]],
    ['named twice', ['travel.search', 'travel.search']],
    ['of 65 names', Array.from({ length: 65 }, (_, index) => `travel.s${index}`)],
    ['nobody granted', ['travel.search', 'operator:*'], 'not_entitled'],
    ['of an approver', ['approver:charter_jet'], 'not_entitled'],
    ['that is the pattern itself', ['travel.*'], 'not_entitled'],
    ['that is a star', ['*'], 'not_entitled'],
    ['that is the prefix alone', ['travel'], 'not_entitled'],
    ['in other letters', ['Travel.search'], 'not_entitled'],
  ],
  capability: [
    ['a number', 7],
    ['empty', ''],
    ['a list', ['search_flights']],
    ['with a space', 'search flights'],
    ['of 129 characters', `a${'b'.repeat(128)}`],
    ['a prototype', '__proto__'],
    ['unknown', 'fly_to_the_moon', 'unknown_capability'],
    ['in other letters', 'Search_Flights', 'unknown_capability'],
    ['what every object has', 'constructor', 'unknown_capability'],
  ],
  subject: [
    ['a number', 7],
    ['empty', ''],
    ['a list', ['agent:x']],
    ['without a class', 'x'],
    ['of an unknown class', 'robot:x'],
    ['of a class in other letters', 'Agent:x'],
    ['without a name', 'agent:'],
    ['with a space', 'agent:a b'],
    ['with what nobody sees', 'agent:x\u200b'],
    ['with text that turns round', 'agent:\u202ex'],
    ['with a second class', 'agent:human:alice'],
    ['with a star', 'agent:*'],
    ['not in normal form', 'agent:e\u0301'],
    ['of 257 characters', `agent:${'x'.repeat(257)}`],
    ['nobody granted', 'service:partner-portal', 'not_entitled'],
    ['another human', 'human:bob@example.com', 'not_entitled'],
    ['nearly the caller', 'human:Alice@example.com', 'not_entitled'],
  ],
  parent_token: [
    ['a number', 7],
    ['empty', ''],
    ['a list', [`tok_${'0'.repeat(32)}`]],
    ['too short', 'tok_1234'],
    ['in capitals', `tok_${'A'.repeat(32)}`],
    ['with a line break', `tok_${'0'.repeat(32)}\n`],
    ['a credential', ALICE],
    ['a JWT', `${'a'.repeat(90)}.${'b'.repeat(400)}.${'c'.repeat(86)}`],
    ['unknown', `tok_${'0'.repeat(32)}`, 'not_entitled'],
  ],
  purpose_parameters: [
    ['a text', 'task-1'],
    ['a list', ['task-1']],
    ['a number', 7],
    ['with a task that is a number', { task_id: 7 }],
    ['with an empty task', { task_id: '' }],
    ['with a task of 257 characters', { task_id: 'x'.repeat(257) }],
    ['with a session that is an object', { session_id: {} }],
    ['with an empty session', { session_id: '' }],
    ['of more than 2,048 characters', { note: 'x'.repeat(2_048) }],
    ['of eight levels', nested(8)],
    ['of thirty levels', nested(30)],
  ],
  budget: [
    ['a number', 300],
    ['a text', '300 USD'],
    ['a list', [{ currency: 'USD', max_amount: 300 }]],
    ['empty', {}],
    ['without a currency', { max_amount: 300 }],
    ['without an amount', { currency: 'USD' }],
    ['with a null amount', { currency: 'USD', max_amount: null }],
    ['with a null currency', { currency: null, max_amount: 300 }],
    ['with an amount in text', { currency: 'USD', max_amount: '300' }],
    ['with a negative amount', { currency: 'USD', max_amount: -0.01 }],
    ['with a tenth of a cent', { currency: 'USD', max_amount: 1.001 }],
    ['with half a yen', { currency: 'JPY', max_amount: 1.5 }],
    ['beyond exactness', { currency: 'USD', max_amount: 9_007_199_254_740_991 }],
    ['with a currency in small letters', { currency: 'usd', max_amount: 1 }],
    ['with a currency of two letters', { currency: 'US', max_amount: 1 }],
    ['with a currency that does not exist', { currency: 'QQQ', max_amount: 1 }],
    ['with a word more', { currency: 'USD', max_amount: 1, per: 'day' }],
  ],
  caller_class: [
    ['a number', 7],
    ['empty', ''],
    ['in capitals', 'Internal'],
    ['with a space', 'automated agent'],
    ['of 65 characters', 'a'.repeat(65)],
    ['nobody granted', 'quiet', 'not_entitled'],
    ['what every object has', 'constructor', 'not_entitled'],
  ],
  concurrent_branches: [
    ['a number', 1],
    ['a boolean', true],
    ['empty', ''],
    ['in capitals', 'Exclusive'],
    ['unknown', 'shared'],
    ['a list', ['allowed']],
  ],
  ttl_hours: [
    ['a text', '2'],
    ['zero', 0],
    ['negative', -1],
    ['a list', [2]],
    ['a boolean', true],
    ['more than the service admits', 720.01],
    ['of a century', 876_000],
  ],
  max_delegation_depth: [
    ['a text', '2'],
    ['negative', -1],
    ['a fraction', 1.5],
    ['deeper than the service admits', 6, 'delegation_depth_exceeded'],
    ['without end', 9_007_199_254_740_991, 'delegation_depth_exceeded'],
  ],
  session_id: [
    ['a number', 7],
    ['empty', ''],
    ['a list', ['s-1']],
    ['of 257 characters', 'x'.repeat(257)],
  ],
  // A misspelt constraint must never be dropped.
  scopes: [['which is not a field', ['travel.search']]],
  ttl: [['which is not a field', 1]],
  Budget: [['which is not a field', { currency: 'USD', max_amount: 1 }]],
  token: [['which is not a field', 'x']],
  issued: [['which is not a field', true]],
};

/** The words by which a refusal of meaning names its field, where they are not the field's own. */
const WORDS: Readonly<Record<string, RegExp>> = {
  parent_token: /parent_token|not the caller's token/,
  caller_class: /caller.class/,
};

onInspectedStores((rig) => {
  for (const [field, rows] of Object.entries(WRONG)) {
    test(`tokens.issue refuses every wrong ${field} by name, and issues nothing`, async () => {
      const { store } = rig();
      const before = await rowCounts(rig());

      const { result: replies, entries } = await watched(store, async () => {
        const answers: Reply[] = [];
        for (const [, value] of rows) {
          answers.push(await askToken(rig(), ALICE, { scope: ['travel.search'], [field]: value }));
        }
        return answers;
      });

      assert.deepEqual(await rowCounts(rig()), before);
      assert.equal(entries.length, rows.length);
      for (const [index, [what, , type = 'invalid_parameters']] of rows.entries()) {
        const reply = replies[index] as Reply;
        assertRefused(reply, type);
        assert.match(reply.body.failure.detail, WORDS[field] ?? new RegExp(field), what);
        assertRefusalEntry(entries.slice(index, index + 1), {
          entry_type: 'issuance',
          actor_key: ALICE_PRINCIPAL,
          root_principal: ALICE_PRINCIPAL,
          failure_type: type,
          token_id: null,
          detail: null,
        });
      }
      assert.ok(SECRETS.every((secret) => !JSON.stringify(entries).includes(secret)));
    });
  }

  const BODIES = [
    ['an amount without end', '{"scope":["travel.search"],"budget":{"max_amount":1e999}}'],
    ['an amount that is not a number', '{"scope":["travel.search"],"budget":{"max_amount":NaN}}'],
    ['a scope given twice', '{"scope":["travel.search"],"scope":["travel.book"]}'],
    ['a prototype', '{"scope":["travel.search"],"__proto__":{"budget":null}}'],
    ['half a document', '{"scope":["travel.search"'],
    ['a list', '[{"scope":["travel.search"]}]'],
    ['a lifetime beyond exactness', '{"scope":["travel.search"],"ttl_hours":1e300}'],
    ['nothing', ''],
  ] as const;
  for (const [what, body] of BODIES) {
    test(`tokens.issue refuses a body with ${what}, and records an entry`, async () => {
      const { result, entries } = await watched(rig().store, () => askToken(rig(), ALICE, body));

      assertRefused(result, 'invalid_parameters');
      assertRefusalEntry(entries, {
        actor_key: ALICE_PRINCIPAL,
        failure_type: 'invalid_parameters',
      });
    });
  }

  test('tokens.issue refuses unknown fields of any length with a short message', async () => {
    const long = Object.fromEntries([['\u{1f9ed}'.repeat(50_000), 1]]);
    const many = Object.fromEntries(Array.from({ length: 9_000 }, (_, each) => [`f${each}`, 1]));

    for (const fields of [long, many]) {
      const { result, entries } = await watched(rig().store, () =>
        askToken(rig(), ALICE, { scope: ['travel.search'], ...fields }),
      );

      assertRefused(result, 'invalid_parameters');
      assert.ok(result.body.failure.detail.length < 2_000);
      assertRefusalEntry(entries, { failure_type: 'invalid_parameters' });
    }
  });

  test('tokens.issue names every wrong field', async () => {
    const { body } = await askToken(rig(), ALICE, { scope: [], ttl_hours: 0, subject: 7 });

    for (const field of ['scope', 'ttl_hours', 'subject']) {
      assert.match(body.failure.detail, new RegExp(field));
    }
  });

  for (const [what, bearer] of [
    ['nothing', undefined],
    ['a credential nobody knows', 'demo-human-key2'],
    ['an empty credential', ''],
    ['a text that looks like a token', 'a.b.c'],
  ] as const) {
    test(`tokens.issue records no entry for an unknown caller who presents ${what}`, async () => {
      const { result, entries } = await watched(rig().store, () =>
        rig().ask('POST', '/svc/tokens', { bearer, body: { scope: 'anything' } }),
      );

      assertRefused(result, bearer === 'a.b.c' ? 'invalid_token' : 'authentication_required');
      assert.deepEqual(entries, []);
    });
  }
});

function nested(levels: number): object {
  return levels === 1 ? { end: true } : { more: nested(levels - 1) };
}
