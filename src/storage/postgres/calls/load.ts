/**
 * Reads everything that the rules of a call need, for many calls in one statement.
 *
 * One statement has one snapshot, so every call is judged on a consistent state. It contains only lookups by
 * key, so its cost does not depend on the size of the store.
 *
 * @module
 */

import type { Loaded, LoadRequest } from '../../port/invocation-store.ts';
import type { IdempotencyRecord } from '../../port/records.ts';
import type { Row } from '../../tables/table.ts';
import { createBatcher } from '../batch.ts';
import type { Database, Statement } from '../connection.ts';
import { BINDINGS, column, FREEZES, fixedOf, GRANTS, linkOf } from '../rows.ts';
import { LINEAGE_JSON, tokenJson } from '../tokens.ts';

/** Calls in one statement: enough to spare most trips, few enough to keep each short. */
const LOAD_BATCH = { sizeMax: 64, tripsMax: 4 };

export function createLoad(
  database: Database,
  now: () => Date,
): (request: LoadRequest) => Promise<Loaded> {
  return createBatcher<LoadRequest, Loaded>(database.platform, LOAD_BATCH, async (together) => {
    // Equal requests are read once: those of a busy agent often are equal.
    const keys = together.map((request) => JSON.stringify(request));
    const places = new Map([...new Set(keys)].map((key, place) => [key, place]));
    const requests = [...places.keys()].map((key) => together[keys.indexOf(key)] as LoadRequest);
    const rows = await database.read<LoadRow>(LOAD, [
      now(),
      column(requests, ({ tokenId }) => tokenId),
      column(requests, ({ capability }) => capability),
      column(requests, ({ grantId }) => grantId),
      column(requests, ({ bindingIds }) =>
        bindingIds?.length ? JSON.stringify(bindingIds) : undefined,
      ),
      column(requests, ({ idempotency }) => idempotency?.capability),
      column(requests, ({ idempotency }) => idempotency?.key),
    ]);
    const loaded = requests.map((request, place) => loadedOf(request, rows[place] as LoadRow));
    return keys.map((key) => loaded[places.get(key) as number] as Loaded);
  });
}

interface LoadRow {
  readonly token: string | null;
  readonly lineage: Row[] | null;
  readonly freezes: Row[] | null;
  readonly grant: Row | null;
  readonly bindings: Row[] | null;
  readonly idempotency: Omit<IdempotencyRecord, 'answer'> | null;
  readonly answer: Uint8Array | null;
}

function loadedOf(request: LoadRequest, row: LoadRow): Loaded {
  const bindings = (row.bindings ?? []).map(BINDINGS.read);
  const asked = request.bindingIds ?? [];
  const own = row.token === null ? undefined : fixedOf(row.token);
  return Object.assign(
    {
      lineage: own ? (row.lineage ?? []).map((link) => linkOf(link, own)) : [],
      freezes: (row.freezes ?? []).map(FREEZES.read),
      bindings: bindings.sort((one, other) => {
        return asked.indexOf(one.binding_id) - asked.indexOf(other.binding_id);
      }),
    },
    own && { token: own.token },
    row.grant && { grant: GRANTS.read(row.grant) },
    row.idempotency && {
      idempotency: { ...row.idempotency, ...(row.answer && { answer: row.answer }) },
    },
  );
}

/** A key that admission may reclaim counts as absent. */
const LOAD: Statement = {
  name: 'load',
  text: `SELECT
      CASE WHEN t.token_id IS NOT NULL THEN ${tokenJson('t')} END AS token,
      ${LINEAGE_JSON} AS lineage,
      (SELECT jsonb_agg(to_jsonb(f) ORDER BY f.what DESC, f.target) FROM freezes f
        WHERE (f.what, f.target) IN (('service', ''), ('capability', r.capability),
            ('capability', r.capability || ' ' || t.root_principal),
            ('root_principal', t.root_principal))) AS freezes,
      (SELECT to_jsonb(g) FROM grants g WHERE g.grant_id = r.grant_id) AS grant,
      (SELECT jsonb_agg(to_jsonb(b) || jsonb_build_object('amount', b.amount::text))
        FROM bindings b WHERE b.binding_id = ANY (
          ARRAY(SELECT jsonb_array_elements_text(r.binding_ids::jsonb)))) AS bindings,
      CASE WHEN i.key IS NOT NULL THEN jsonb_build_object('chain', i.chain,
        'capability', i.capability, 'key', i.key, 'fingerprint', i.fingerprint,
        'operation_id', i.operation_id) END AS idempotency,
      i.answer
    FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
      WITH ORDINALITY AS r (token_id, capability, grant_id, binding_ids, key_capability, key, place)
    LEFT JOIN tokens t ON t.token_id = r.token_id
    LEFT JOIN idempotency i ON i.chain = t.chain AND i.capability = r.key_capability
      AND i.key = r.key AND (i.keep_until > $1::timestamptz OR EXISTS (SELECT FROM intents o
        WHERE o.operation_id = i.operation_id AND o.state = 'admitted'))
    ORDER BY r.place`,
};
