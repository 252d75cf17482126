import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { AuditEntry } from '../../protocol/audit.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { sha256, toHex } from '../wire/hash.ts';
import {
  type EntryFields,
  type EntryRecord,
  entryOf,
  entryView,
  LEAF_BYTES_MAX,
  LEAF_VERSION,
  personalDigest,
  SALT_BYTES,
} from './entry.ts';
import { hashLeaf } from './merkle.ts';

const SALT = Uint8Array.from({ length: SALT_BYTES }, (_, index) => index);

const REQUIRED: EntryFields = {
  entry_id: `ent_${'0a'.repeat(16)}`,
  entry_type: 'issuance',
  actor_key: 'human:ada@example.com',
  root_principal: 'human:ada@example.com',
  event_class: 'high_risk_success',
  success: true,
  state: 'completed',
  timestamp: '2030-01-01T00:00:00.123Z',
};

const FULL: EntryFields = {
  ...REQUIRED,
  entry_type: 'invocation',
  event_class: 'high_risk_failure',
  success: false,
  state: 'failed',
  invocation_id: 'inv-0123456789ab',
  capability: 'book_flight',
  failure_type: 'internal_error',
  client_reference_id: 'ref "ü" 🛫',
  task_id: 'task-7',
  parent_invocation_id: 'inv-ba9876543210',
  upstream_service: 'airline',
  approval_request_id: `apr_${'0b'.repeat(16)}`,
  approval_grant_id: `gnt_${'0c'.repeat(16)}`,
  token_id: `tok_${'0d'.repeat(16)}`,
  parameters_digest: `sha256:${'0e'.repeat(32)}`,
  cost_actual: { currency: 'USD', amount: 12.5 },
  detail: { why: 'test', list: [1, null] },
};

function textOf({ leaf }: EntryRecord): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(leaf);
}

function stored(record: EntryRecord, sequence = 7) {
  return { ...record, sequence };
}

test('entryOf() makes a leaf with every field, the version and the salt', () => {
  const record = entryOf(FULL, SALT);

  const leafFields = JSON.parse(textOf(record));
  const personal = JSON.parse(new TextDecoder().decode(record.personal));
  const { v, salt, personal: _digest, ...facts } = leafFields;
  const { salt: other, ...fields } = personal;
  assert.deepEqual({ ...facts, ...fields }, FULL);
  assert.equal(v, LEAF_VERSION);
  assert.equal(salt, '000102030405060708090a0b0c0d0e0f');
  assert.equal(other, '101112131415161718191a1b1c1d1e1f');
});

const PERSONAL_FIELDS = [
  'actor_key',
  'root_principal',
  'client_reference_id',
  'task_id',
  'upstream_service',
  'parameters_digest',
  'detail',
];

test('entryOf() keeps personal fields out of the leaf, and puts their digest in it', () => {
  const { leaf, personal } = entryOf(FULL, SALT);

  const text = new TextDecoder().decode(leaf);
  for (const field of PERSONAL_FIELDS) assert.equal(text.includes(`"${field}"`), false, field);
  assert.equal(text.includes('ada@example.com'), false);
  assert.equal(JSON.parse(text).personal, `sha256:${toHex(sha256(personal))}`);
});

test('entryOf() computes the end of a declared retention', () => {
  const { retain_until } = entryOf({ ...REQUIRED, retention: 'P1D' }, SALT);

  assert.deepEqual(retain_until, new Date('2030-01-02T00:00:00.123Z'));
  assert.equal(entryOf(REQUIRED, SALT).retain_until, undefined);
  assert.throws(
    () => entryOf({ ...REQUIRED, retention: 'P1M' }, SALT),
    /"P1M": it is not a duration/,
  );
});

test('entryOf() omits fields that do not apply', () => {
  const { leaf } = entryOf({ ...REQUIRED, capability: undefined }, SALT);

  const leafFields = JSON.parse(new TextDecoder().decode(leaf));
  const facts = Object.keys(REQUIRED).filter((name) => !/^(actor_key|root_principal)$/.test(name));
  assert.deepEqual(Object.keys(leafFields).sort(), [...facts, 'personal', 'salt', 'v'].sort());
});

test('entryOf() hashes exactly the bytes it returns', () => {
  const record = entryOf(FULL, SALT);

  assert.deepEqual(record.leaf_hash, hashLeaf(record.leaf));
});

test('entryOf() repeats the content of the leaf in its columns', () => {
  const {
    leaf: _leaf,
    personal: _personal,
    leaf_hash: _hash,
    timestamp,
    ...rest
  } = entryOf(FULL, SALT);
  const { retain_until: _until, ...columns } = rest;

  assert.equal(timestamp.toISOString(), FULL.timestamp);
  for (const [column, value] of Object.entries(columns)) {
    assert.equal(value, FULL[column as keyof EntryFields], column);
  }
});

test('entryOf() writes canonical bytes for any order of the fields', () => {
  const reversed = Object.fromEntries(Object.entries(FULL).reverse()) as unknown as EntryFields;

  const text = textOf(entryOf(FULL, SALT));

  assert.equal(text, canonicalJson(JSON.parse(text)));
  assert.equal(textOf(entryOf(reversed, SALT)), text);
});

test('entryOf() writes for any entry what the canonical writer makes of its fields', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 });
  const optional = fc.option(text, { nil: undefined });
  const names = Object.keys(FULL).filter((name) => !(name in REQUIRED)) as (keyof EntryFields)[];
  const entries = fc
    .record({
      ...Object.fromEntries(names.map((name) => [name, optional])),
      actor_key: text,
      root_principal: text,
      retention: fc.constantFrom('P7D', 'PT1H', undefined),
      stream_summary: fc.option(fc.record({ events: fc.nat(), note: text }), { nil: undefined }),
      cost_actual: fc.option(fc.record({ currency: text, amount: fc.double({ noNaN: true }) }), {
        nil: undefined,
      }),
      detail: fc.option(fc.dictionary(text, fc.jsonValue(), { maxKeys: 5 }), { nil: undefined }),
      success: fc.boolean(),
    })
    .map((fields) => ({ ...REQUIRED, ...fields }) as unknown as EntryFields)
    .filter(({ cost_actual }) => Number.isFinite(cost_actual?.amount ?? 0));
  const salts = fc.uint8Array({ minLength: SALT_BYTES, maxLength: SALT_BYTES });

  fc.assert(
    fc.property(entries, salts, (fields, salt) => {
      const given = Object.entries(fields).filter(([, value]) => value !== undefined);
      const isPersonal = ([name]: [string, unknown]) => PERSONAL_FIELDS.includes(name);
      const personal = canonicalJson({
        ...Object.fromEntries(given.filter(isPersonal)),
        salt: toHex(salt.subarray(SALT_BYTES / 2)),
      });
      const leaf = canonicalJson({
        ...Object.fromEntries(given.filter((each) => !isPersonal(each))),
        personal: personalDigest(personal),
        salt: toHex(salt.subarray(0, SALT_BYTES / 2)),
        v: LEAF_VERSION,
      });

      const made = entryOf(fields, salt);

      assert.equal(textOf(made), leaf);
      assert.equal(new TextDecoder().decode(made.personal), personal);
    }),
  );
});

test('entryOf() writes the bytes of version 1, so that old proofs still verify', () => {
  const personal =
    '{"actor_key":"human:ada@example.com","root_principal":"human:ada@example.com",' +
    '"salt":"101112131415161718191a1b1c1d1e1f"}';
  const digest = toHex(sha256(new TextEncoder().encode(personal)));
  const expected =
    '{"entry_id":"ent_0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a","entry_type":"issuance",' +
    `"event_class":"high_risk_success","personal":"sha256:${digest}",` +
    '"salt":"000102030405060708090a0b0c0d0e0f","state":"completed","success":true,' +
    '"timestamp":"2030-01-01T00:00:00.123Z","v":1}';

  const record = entryOf(REQUIRED, SALT);

  assert.equal(textOf(record), expected);
  assert.equal(new TextDecoder().decode(record.personal), personal);
});

test('entryOf() gives another hash for another salt', () => {
  const salt = fc.uint8Array({ minLength: SALT_BYTES, maxLength: SALT_BYTES });
  fc.assert(
    fc.property(salt, salt, (one, other) => {
      fc.pre(toHex(one) !== toHex(other));
      const hashes = [entryOf(REQUIRED, one), entryOf(REQUIRED, other)].map(({ leaf_hash }) =>
        toHex(leaf_hash),
      );
      assert.notEqual(hashes[0], hashes[1]);
    }),
  );
});

test('entryOf() gives another hash when any field changes', () => {
  const { leaf_hash } = entryOf(FULL, SALT);
  for (const field of Object.keys(FULL) as (keyof EntryFields)[]) {
    const changed = { ...FULL, [field]: field === 'timestamp' ? '2031-01-01T00:00:00Z' : 'other' };
    assert.notDeepEqual(entryOf(changed as EntryFields, SALT).leaf_hash, leaf_hash, field);
  }
});

for (const length of [0, SALT_BYTES - 1, SALT_BYTES + 1]) {
  test(`entryOf() refuses a salt of ${length} bytes`, () => {
    assert.throws(() => entryOf(REQUIRED, new Uint8Array(length)), /Cannot salt a leaf/);
  });
}

test('entryOf() accepts a leaf of the maximum size, and refuses one byte more', () => {
  const sized = (length: number) => ({ ...REQUIRED, detail: { text: 'x'.repeat(length) } });
  const bare = entryOf(sized(0), SALT).personal.length;
  const room = LEAF_BYTES_MAX - bare;

  assert.equal(entryOf(sized(room), SALT).personal.length, LEAF_BYTES_MAX);
  assert.throws(() => entryOf(sized(room + 1), SALT), /Cannot store entry "ent_0a.*65536 bytes/);
});

test('entryOf() counts the leaf in bytes, not in characters', () => {
  const text = 'ü'.repeat(LEAF_BYTES_MAX / 2);

  assert.throws(() => entryOf({ ...REQUIRED, detail: { text } }, SALT), /Cannot store entry/);
});

test('entryView() returns every field that entryOf() was given', () => {
  const record = entryOf(FULL, SALT);

  const view = entryView(stored(record));

  const { sequence, leaf_hash, stream_summary, retention, ...rest } = view;
  assert.deepEqual(rest, FULL);
  assert.equal(sequence, 7);
  assert.equal(leaf_hash, toHex(record.leaf_hash));
  assert.equal(stream_summary, null);
  assert.equal(retention, null);
});

test('entryView() matches the wire schema, with many fields or few', () => {
  for (const fields of [REQUIRED, FULL]) {
    const view = entryView(stored(entryOf(fields, SALT)));
    assert.deepEqual(AuditEntry.parse(view), view);
  }
});

test('entryView() of an erased entry keeps its place and hash, with null for erased fields', () => {
  const record = entryOf(FULL, SALT);

  const columns = { actor_key: '', root_principal: '' };
  const view = entryView({ ...stored(record), ...columns, leaf: undefined, personal: undefined });

  assert.equal(view.leaf_hash, toHex(record.leaf_hash));
  assert.equal(view.sequence, 7);
  assert.equal(view.entry_id, FULL.entry_id);
  assert.equal(view.detail, null);
  assert.equal(view.cost_actual, null);
  assert.equal(view.actor_key, null);
  assert.equal(view.erased, 'contents');
  assert.deepEqual(AuditEntry.parse(view), view);
});

test('entryView() of an entry without personal fields has the rest', () => {
  const view = entryView({ ...stored(entryOf(FULL, SALT)), actor_key: '', personal: undefined });

  assert.equal(view.erased, 'personal');
  assert.deepEqual([view.actor_key, view.detail, view.task_id], [null, null, null]);
  assert.deepEqual(view.cost_actual, FULL.cost_actual);
});

for (const event_class of ['low_risk_success', 'high_risk_failure'] as const) {
  test(`entryView() derives success from ${event_class}`, () => {
    const success = event_class === 'low_risk_success';
    const record = entryOf({ ...REQUIRED, event_class, success }, SALT);

    assert.equal(entryView(stored(record)).success, success);
  });
}
