/**
 * The limits of the specification and the decisions, on both sides of each boundary.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type * as z from 'zod';
import { ApprovalListRequest, GrantRequest } from '../../src/protocol/approval.ts';
import { AuditQuery, CheckpointListRequest } from '../../src/protocol/audit.ts';
import { Composition } from '../../src/protocol/composition.ts';
import { InvokeRequest } from '../../src/protocol/invocation.ts';
import { FrozenRequest } from '../../src/protocol/operator.ts';
import {
  ApprovalRequestId,
  Budget,
  CheckpointId,
  DetachedJws,
  GrantId,
  InvocationId,
  Scope,
  TokenId,
} from '../../src/protocol/primitives.ts';
import { IssueRequest, TTL_HOURS_DEFAULT } from '../../src/protocol/token.ts';

type Document = Readonly<Record<string, unknown>>;

const REQUEST_ID = `apr_${'0'.repeat(32)}`;

/** Outside the first plane: one code point, two UTF-16 units, four bytes. */
const ASTRAL = '\u{1f9ed}';

const call = { capability: 'book_flight', parameters: {} };
const issue = { scope: ['travel.book'] };
const grant = { approval_request_id: REQUEST_ID, grant_type: 'one_time' };

/** Spec, Limits, and Decisions 9: ids of callers, counted in code points. */
const IDS: readonly [name: string, schema: z.ZodType, base: Document][] = [
  ['client_reference_id', InvokeRequest, call],
  ['task_id', InvokeRequest, call],
  ['upstream_service', InvokeRequest, call],
  ['client_reference_id', AuditQuery, {}],
  ['task_id', AuditQuery, {}],
  ['session_id', IssueRequest, issue],
  ['session_id', GrantRequest, grant],
];
for (const [name, schema, base] of IDS) {
  for (const [kind, letter] of [
    ['letters', 'a'],
    ['astral characters', ASTRAL],
  ] as const) {
    test(`Spec, Limits: ${name} accepts at most 256 ${kind}, beside ${keys(base)}`, () => {
      assert.equal(accepts(schema, { ...base, [name]: letter.repeat(256) }), true);
      assert.equal(accepts(schema, { ...base, [name]: letter.repeat(257) }), false);
    });
  }
}

test('Spec, Limits: a task in the purpose has the same limit as a task of an invocation', () => {
  const task = (length: number) => ({
    ...issue,
    purpose_parameters: { task_id: 'a'.repeat(length) },
  });

  assert.equal(accepts(IssueRequest, task(256)), true);
  assert.equal(accepts(IssueRequest, task(257)), false);
});

type Form = [name: string, schema: z.ZodType, accepted: unknown[], refused: unknown[]];

const HEX_12 = '0123456789ab';
const HEX_32 = '0123456789abcdef'.repeat(2);

const FORMS: readonly Form[] = [
  [
    'Spec, Invocation: an id is inv- and twelve hex digits',
    InvocationId,
    [`inv-${HEX_12}`],
    [HEX_12, `inv_${HEX_12}`, 'inv-0123456789a', `inv-${HEX_12}c`, 'inv-0123456789ag', ''],
  ],
  [
    'Spec, Invocation: an id has nothing before or after it',
    InvocationId,
    [],
    [` inv-${HEX_12}`, `inv-${HEX_12}\n`, `x inv-${HEX_12}`],
  ],
  [
    'Decisions 1.8: a token id has 128 bits',
    TokenId,
    [`tok_${HEX_32}`],
    [`tok-${HEX_32}`, `tok_${HEX_12}`],
  ],
  [
    'Decisions 1.8: an approval request id has 128 bits',
    ApprovalRequestId,
    [`apr_${HEX_32}`],
    [`apr-${HEX_32}`, `apr_${HEX_12}`],
  ],
  [
    'Decisions 1.8: a grant id has 128 bits',
    GrantId,
    [`gnt_${HEX_32}`],
    [`gnt-${HEX_32}`, `gnt_${HEX_12}`],
  ],
  [
    'Decisions 1.8: a checkpoint id has 128 bits',
    CheckpointId,
    [`ckpt-${HEX_32}`],
    [`ckpt_${HEX_32}`, `ckpt-${HEX_12}`],
  ],
  [
    'Decisions 5: a signature is a detached compact JWS',
    DetachedJws,
    [`eyJhIjoxfQ..${'A'.repeat(86)}`],
    [`eyJhIjoxfQ.e30.${'A'.repeat(86)}`, `eyJhIjoxfQ..${'A'.repeat(85)}`, `..${'A'.repeat(86)}`],
  ],
  [
    'Decisions 1.5: a scope has the characters of RFC 6749, at most 128',
    Scope,
    ['travel.book', 'approver:*', 'a', '!', '~', 'a'.repeat(128)],
    ['', 'a b', 'a"b', 'a\\b', 'é', 'a\n', 'a'.repeat(129)],
  ],
  [
    'Spec, Budget: an amount is a number, not negative',
    Budget,
    [
      { currency: 'USD', max_amount: 0 },
      { currency: 'JPY', max_amount: 10.5 },
    ],
    [
      { currency: 'USD', max_amount: -1 },
      { currency: 'USD', max_amount: '10' },
      { currency: 'USD', max_amount: Number.POSITIVE_INFINITY },
      { currency: 'usd', max_amount: 1 },
      { currency: 'US', max_amount: 1 },
      { currency: 'DOLLAR', max_amount: 1 },
    ],
  ],
];
for (const [name, schema, accepted, refused] of FORMS) {
  test(name, () => {
    for (const value of accepted) assert.equal(accepts(schema, value), true, JSON.stringify(value));
    for (const value of refused) assert.equal(accepts(schema, value), false, JSON.stringify(value));
  });
}

/** Decisions 1.5: at most 64 in a token. */
test('Decisions 1.5: a token accepts at most 64 scopes', () => {
  const scope = (count: number) => ({ scope: Array.from({ length: count }, (_, i) => `s.${i}`) });

  assert.equal(accepts(IssueRequest, scope(64)), true);
  assert.equal(accepts(IssueRequest, scope(65)), false);
});

/** Spec, POST /svc/invoke: validated syntactically only. */
test('Spec, POST /svc/invoke: a parent invocation id has the form of an invocation id', () => {
  assert.equal(accepts(InvokeRequest, { ...call, parent_invocation_id: `inv-${HEX_12}` }), true);
  assert.equal(accepts(InvokeRequest, { ...call, parent_invocation_id: 'inv-1' }), false);
});

/** Decisions 4: 1 to 255 visible ASCII. */
test('Decisions 4: an idempotency key has 1 to 255 visible ASCII characters', () => {
  for (const key of ['a', '~!', 'a'.repeat(255)]) {
    assert.equal(accepts(InvokeRequest, { ...call, idempotency_key: key }), true, key);
  }
  for (const key of ['', 'a b', 'é', 'a\n', 'a'.repeat(256)]) {
    assert.equal(accepts(InvokeRequest, { ...call, idempotency_key: key }), false, key);
  }
});

/** Spec, Limits; the other bounds of a lifetime are configured. */
test('Spec, Limits: a token lives 2 hours by default', () => {
  assert.equal(TTL_HOURS_DEFAULT, 2);
});

test('Decisions 1.7: a lifetime may be fractional and must be positive', () => {
  for (const ttl_hours of [0.25, 1, 720, 1_000]) {
    assert.equal(accepts(IssueRequest, { ...issue, ttl_hours }), true, `${ttl_hours}`);
  }
  for (const ttl_hours of [0, -1, '2', Number.POSITIVE_INFINITY]) {
    assert.equal(accepts(IssueRequest, { ...issue, ttl_hours }), false, `${ttl_hours}`);
  }
});

test('Decisions 1.6: a depth is a whole number, not negative', () => {
  for (const max_delegation_depth of [0, 5]) {
    assert.equal(accepts(IssueRequest, { ...issue, max_delegation_depth }), true);
  }
  for (const max_delegation_depth of [-1, 1.5, '1']) {
    assert.equal(accepts(IssueRequest, { ...issue, max_delegation_depth }), false);
  }
});

test('Decisions 9: a composition takes 16 steps and no more', () => {
  const steps = (count: number) => ({
    authority_boundary: 'same_service',
    input_mapping: {},
    output_mapping: {},
    failure_policy: 'propagate',
    audit_policy: { record_child_invocations: true, parent_task_lineage: true },
    steps: Array.from({ length: count }, (_, i) => ({ id: `s${i}`, capability: 'search' })),
  });

  assert.equal(accepts(Composition, steps(16)), true);
  assert.equal(accepts(Composition, steps(17)), false);
  assert.equal(accepts(Composition, steps(0)), false);
});

/** Spec, Limits, and Decisions 8; a page of approval requests is of no page, and ours. */
const PAGES = [
  ['Spec, GET /svc/checkpoints', CheckpointListRequest, 20, 100],
  ['Decisions 8, POST /svc/audit', AuditQuery, 50, 1_000],
  ['GET /svc/approval_requests', ApprovalListRequest, 50, 100],
  ['GET /svc/operator/frozen', FrozenRequest, 1_000, 1_000],
] as const;
for (const [name, schema, fallback, most] of PAGES) {
  const limitOf = (limit: unknown) => schema.parse({ limit }).limit;

  test(`${name}: limit is ${fallback} when absent or null`, () => {
    assert.equal(schema.parse({}).limit, fallback);
    assert.equal(limitOf(null), fallback);
  });

  test(`${name}: a limit above ${most} is ${most}`, () => {
    assert.equal(limitOf(most - 1), most - 1);
    assert.equal(limitOf(most), most);
    assert.equal(limitOf(most + 1), most);
    assert.equal(limitOf(10_000_000_000), most);
  });

  test(`${name}: a limit in a query is text with the same meaning`, () => {
    assert.equal(limitOf('1'), 1);
    assert.equal(limitOf(`${most}`), most);
    assert.equal(limitOf(`${most + 1}`), most);
    assert.equal(limitOf('10000000000'), most);
  });

  test(`${name}: a limit that is zero, negative, fractional or no number is refused`, () => {
    for (const limit of [
      0,
      -1,
      1.5,
      '0',
      '-1',
      '1.5',
      'all',
      '',
      ' 7',
      '7 ',
      '1e2',
      '0x7',
      true,
      [],
    ]) {
      assert.equal(accepts(schema, { limit }), false, JSON.stringify(limit));
    }
  });
}

/** Spec, POST /svc/approval_grants: capped by the policy, so syntax asks for positive numbers only. */
test('Spec, POST /svc/approval_grants: lifetime and uses are positive', () => {
  for (const fields of [{ expires_in_seconds: 1 }, { max_uses: 1 }]) {
    assert.equal(accepts(GrantRequest, { ...grant, ...fields }), true, JSON.stringify(fields));
  }
  for (const fields of [
    { expires_in_seconds: 0 },
    { expires_in_seconds: -1 },
    { max_uses: 0 },
    { max_uses: -1 },
    { max_uses: 1.5 },
  ]) {
    assert.equal(accepts(GrantRequest, { ...grant, ...fields }), false, JSON.stringify(fields));
  }
});

test('Decisions 8: since is compared in one form, for any precision', () => {
  assert.equal(
    AuditQuery.parse({ since: '2026-03-04T05:06:07Z' }).since,
    '2026-03-04T05:06:07.000Z',
  );
  assert.equal(accepts(AuditQuery, { since: 'yesterday' }), false);
});

function accepts(schema: z.ZodType, value: unknown): boolean {
  return schema.safeParse(value).success;
}

function keys(base: Document): string {
  return Object.keys(base).join(' and ') || 'nothing';
}
