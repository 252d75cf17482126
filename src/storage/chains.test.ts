/**
 * A store that an older version filled, which knew requesters by name, brought to chains.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { closedAtEnd } from '../../test/ends.ts';
import { connectedTo, freshDatabase } from '../../test/postgres.ts';
import { chainOf } from '../domain/authority/chain.ts';
import { admission, at, entry, FAR } from '../testing/fixtures.ts';
import type { Store } from './port/store.ts';
import { MIGRATIONS as POSTGRES_MIGRATIONS } from './postgres/schema/migrations.ts';
import { openPostgres } from './postgres/store.ts';
import { IN_MEMORY, openConnection } from './sqlite/connection.ts';
import { MIGRATIONS, migrate } from './sqlite/schema/migrations.ts';
import { createSqliteStore } from './sqlite/store.ts';

/** How many steps there were before chains. */
const SQLITE_BEFORE = 4;
const POSTGRES_BEFORE = 3;

const ALICE = 'human:alice';
/** A name with everything that JSON and UTF-8 could spell otherwise. */
const AGENT = 'agent:"ü\\/<東>';

/** Each token under its parent, with the names of its chain below the root principal. */
const TOKENS: [id: string, lineage: string[], subject: string, names: string[]][] = [
  ['tok_root', [], ALICE, []],
  ['tok_own', ['tok_root'], AGENT, [AGENT]],
  ['tok_renewed', ['tok_root', 'tok_own'], AGENT, [AGENT]],
  ['tok_evil', ['tok_root'], 'agent:evil', ['agent:evil']],
  ['tok_namesake', ['tok_root', 'tok_evil'], AGENT, ['agent:evil', AGENT]],
];

const DIGEST = `sha256:${'ab'.repeat(32)}`;
const KEYS: [token: string, key: string][] = [
  ['tok_own', 'own'],
  ['tok_namesake', 'stolen'],
];

function olderSqlite(): Store {
  const connection = openConnection(IN_MEMORY);
  migrate(connection, MIGRATIONS.slice(0, SQLITE_BEFORE));
  for (const [id, above, subject] of TOKENS) {
    connection.run(
      `INSERT INTO tokens (token_id, parent_token_id, lineage, subject, root_principal, scope,
         purpose, caller_class, concurrent_branches, depth, max_delegation_depth, issued_at,
         expires_at, kid, claims_digest)
       VALUES (?, ?, ?, ?, ?, '[]', '{}', 'default', 'allowed', ?, 5, 0, ?, 'k', ?)`,
      ...[id, above.at(-1), JSON.stringify([...above, id]), subject, ALICE],
      ...[above.length, FAR, DIGEST],
    );
  }
  for (const [token, key] of KEYS) {
    connection.run(
      `INSERT INTO intents (operation_id, invocation_id, token_id, subject, root_principal,
         capability, facts, instance_id, admitted_at, leases)
       VALUES (?, ?, ?, ?, ?, 'book_flight', '{}', 'one', 0, 0)`,
      ...[key, key, token, AGENT, ALICE],
    );
    connection.run(
      `INSERT INTO idempotency (root_principal, subject, capability, key, fingerprint,
         operation_id, answer, keep_until) VALUES (?, ?, 'book_flight', ?, 'f', ?, x'61', ?)`,
      ...[ALICE, AGENT, key, key, FAR],
    );
  }
  for (const [id, status, grant] of REQUESTS) {
    connection.run(
      `INSERT INTO approval_requests (approval_request_id, capability, contract_version, scope,
         subject, root_principal, invocation_id, parameters, parameters_digest, grant_policy,
         approvals_required, status, created_at, expires_at, grant_id)
       VALUES (?, 'book_flight', '1.0.0', '[]', ?, ?, 'i', '{}', ?, '{}', 1, ?, 0, ?, ?)`,
      ...[id, AGENT, ALICE, DIGEST, status, FAR, grant],
    );
  }
  connection.run(
    `INSERT INTO grants (grant_id, approval_request_id, capability, contract_version, scope,
       subject, root_principal, parameters, parameters_digest, grant_type, approved_by, issued_at,
       expires_at, max_uses, uses, signature)
     VALUES ('gnt_1', 'apr_granted', 'book_flight', '1.0.0', '[]', ?, ?, '{}', ?, 'one_time',
       '["human:bob"]', 0, ?, 1, 0, 's')`,
    ...[AGENT, ALICE, DIGEST, FAR],
  );
  return createSqliteStore(connection);
}

const REQUESTS: [id: string, status: string, grant: string | null][] = [
  ['apr_pending', 'pending', null],
  ['apr_granted', 'approved', 'gnt_1'],
];

async function olderPostgres(url: string): Promise<Store> {
  const client = await connectedTo(url);
  await client.query(`CREATE TABLE meta (one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL, log_id text NOT NULL DEFAULT gen_random_uuid()::text)`);
  for (const step of POSTGRES_MIGRATIONS.slice(0, POSTGRES_BEFORE))
    await client.query(step as string);
  await client.query('INSERT INTO meta (version) VALUES ($1)', [POSTGRES_BEFORE]);
  for (const [id, above, subject] of TOKENS) {
    await client.query(
      `INSERT INTO tokens (token_id, parent_token_id, lineage, subject, root_principal, scope,
         purpose, caller_class, concurrent_branches, depth, max_delegation_depth, issued_at,
         expires_at, kid, claims_digest)
       VALUES ($1, $2, $3, $4, $5, '{}', '{}', 'default', 'allowed', $6, 5, now(), $7, 'k', $8)`,
      [id, above.at(-1), [...above, id], subject, ALICE, above.length, FAR, DIGEST],
    );
  }
  for (const [token, key] of KEYS) {
    await client.query(
      `INSERT INTO intents (operation_id, state, invocation_id, token_id, subject,
         root_principal, capability, is_keyed, facts, instance_id, admitted_at)
       VALUES ($1, 'admitted', $1, $2, $3, $4, 'book_flight', true, '{}', 'one', now())`,
      [key, token, AGENT, ALICE],
    );
    await client.query(
      `INSERT INTO idempotency (root_principal, subject, capability, key, fingerprint,
         operation_id, answer, keep_until) VALUES ($1, $2, 'book_flight', $3, 'f', $3, 'a', $4)`,
      [ALICE, AGENT, key, FAR],
    );
  }
  for (const [id, status, grant] of REQUESTS) {
    await client.query(
      `INSERT INTO approval_requests (approval_request_id, capability, contract_version, scope,
         subject, root_principal, invocation_id, parameters, parameters_digest, grant_policy,
         approvals_required, status, created_at, expires_at, grant_id, is_asked)
       VALUES ($1, 'book_flight', '1.0.0', '{}', $2, $3, 'i', '{}', $4, '{}', 1, $5, now(), $6,
         $7, $5 = 'pending')`,
      [id, AGENT, ALICE, DIGEST, status, FAR, grant],
    );
  }
  await client.query(
    `INSERT INTO grants (grant_id, approval_request_id, capability, contract_version, scope,
       subject, root_principal, parameters, parameters_digest, grant_type, approved_by, issued_at,
       expires_at, max_uses, uses, signature)
     VALUES ('gnt_1', 'apr_granted', 'book_flight', '1.0.0', '{}', $1, $2, '{}', $3, 'one_time',
       '{human:bob}', now(), $4, 1, 0, 's')`,
    [AGENT, ALICE, DIGEST, FAR],
  );
  return openPostgres(url);
}

const STORES: Record<string, () => Promise<Store>> = {
  SQLite: async () => olderSqlite(),
  PostgreSQL: async () => olderPostgres((await freshDatabase()).url),
};

for (const [name, older] of Object.entries(STORES)) {
  test(`${name}: tokens of an older store get the chain of their lineage`, async () => {
    const store = closedAtEnd(await older());
    for (const [id, , , names] of TOKENS) {
      const described = await store.describeToken(id, 0);
      assert.equal(described?.token.chain, chainOf(ALICE, names), id);
    }
  });

  test(`${name}: keys of an older store belong to the chain of the token that used them`, async () => {
    const store = closedAtEnd(await older());
    const seen = async (tokenId: string, key: string) => {
      const idempotency = { capability: 'book_flight', key };
      return (await store.load({ tokenId, idempotency })).idempotency?.operation_id;
    };

    assert.equal(await seen('tok_own', 'own'), 'own');
    assert.equal(await seen('tok_renewed', 'own'), 'own');
    assert.equal(await seen('tok_namesake', 'stolen'), 'stolen');
    assert.equal(await seen('tok_namesake', 'own'), undefined);
    assert.equal(await seen('tok_own', 'stolen'), undefined);
  });

  test(`${name}: pending requests of an older store expire, each with its entry`, async () => {
    const store = closedAtEnd(await older());
    const logged = entry({ entry_type: 'approval_decision' });

    const count = await store.expireApprovals(new Date(), 10, () => {
      return { entry: logged, deliveries: [] };
    });

    assert.equal(count, 1);
    assert.equal((await store.loadApproval('apr_pending'))?.status, 'expired');
    assert.equal((await store.loadApproval('apr_granted'))?.status, 'approved');
    assert.equal((await store.sequence()).size, 1);
  });

  test(`${name}: no token uses a grant of an older store`, async () => {
    const store = closedAtEnd(await older());
    for (const [id] of TOKENS) {
      const { token, grant } = await store.load({ tokenId: id, grantId: 'gnt_1' });
      assert.ok(token && grant);
      const use = {
        ...{ grant_id: 'gnt_1', capability: 'book_flight', contract_version: '1.0.0' },
        ...{ parameters_digest: DIGEST, chain: token.chain },
        ...{ expires_at: grant.expires_at, max_uses: grant.max_uses },
      };

      const judged = await store.admit(admission(token, { grant: use, now: at(0) }));

      assert.equal(!judged.admitted && judged.reason, 'grant');
    }
  });
}
