import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { test } from 'vitest';
import { openStore } from '../../src/storage/open.ts';
import type { Erasure, Store } from '../../src/storage/port/store.ts';
import { emptyStore } from '../support/empty-store.ts';
import { closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { admission, at, entry, HOUR, insert, rootToken, settlement } from '../support/fixtures.ts';
import { connectedTo } from '../support/postgres.ts';

/** What a caller said, in every place that keeps it. */
const MARKER = 'Ann Lee of Elm Street';

interface Place {
  readonly url: string;
  /** The names of the tables whose rows have the marker. */
  marked(): Promise<string[]>;
}

const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  SQLite: async () => {
    const file = join(temporaryFolder(), 'writ.db');
    return { url: `sqlite:${file}`, marked: async () => markedInFile(file) };
  },
  PostgreSQL: async () => {
    const { url } = await emptyStore();
    return { url, marked: () => markedInDatabase(url) };
  },
};

function markedInFile(file: string): string[] {
  const raw = new DatabaseSync(file);
  const tables = raw.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const marked = tables.filter(({ name }) => {
    const values = raw.prepare(`SELECT * FROM "${name}"`).all().flatMap(Object.values);
    return values.some((value) =>
      Buffer.from(value instanceof Uint8Array ? value : `${value}`).includes(MARKER),
    );
  });
  raw.close();
  return marked.map(({ name }) => `${name}`).sort();
}

async function markedInDatabase(url: string): Promise<string[]> {
  const client = await connectedTo(url);
  const { rows } = await client.query(
    "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
  );
  const marked: string[] = [];
  const patterns = [MARKER, Buffer.from(MARKER).toString('hex')].map((text) => `%${text}%`);
  for (const { name } of rows) {
    const text = `SELECT FROM "${name}" t WHERE t::text LIKE ANY ($1) LIMIT 1`;
    if ((await client.query(text, [patterns])).rowCount) marked.push(name);
  }
  return marked.sort();
}

const CLASS = { what: 'contents', eventClass: 'high_risk_success' } as const;
const ERASURES: Readonly<Record<string, readonly Pick<Erasure, 'what'>[]>> = {
  'personal fields': [{ what: 'personal' }],
  'the contents of a class': [CLASS],
  'contents whose entries say so': [{ what: 'stated' }],
};

/** A call that says the marker wherever it can; its token is a record of its own and does not. */
async function markedCall(store: Store, retention: string | undefined) {
  const token = await insert(store, rootToken());
  const people = { subject: MARKER, root_principal: MARKER };
  const call = admission(token, {
    intent: { ...people, facts: { client_reference_id: MARKER } },
    idempotency: {
      chain: token.chain,
      capability: 'book_flight',
      key: `${MARKER} ${token.token_id}`,
      fingerprint: MARKER,
      keepUntil: at(HOUR),
    },
  });
  const told = entry({
    actor_key: MARKER,
    root_principal: MARKER,
    client_reference_id: MARKER,
    task_id: MARKER,
    invocation_id: call.intent.invocation_id,
    event_class: 'high_risk_success',
    retention,
    detail: { said: MARKER },
    upstream_service: MARKER,
  });
  await store.admit(call);
  return { call, closing: settlement(call, { entry: told, answer: Buffer.from(MARKER) }) };
}

test('erase() leaves no erased byte in the files of SQLite', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'writ.db');
  const store = closedAtEnd(await openStore(`sqlite:${file}`));
  const bytes = () => readdirSync(folder).map((name) => readFileSync(join(folder, name)));
  for (let i = 0; i < 40; i++) {
    const { closing } = await markedCall(store, undefined);
    await store.settle(closing);
    // Longer than a page, so that some of it lies in pages of its own.
    await store.append([
      entry({ detail: { said: MARKER.repeat(600) }, task_id: `${i} ${MARKER}` }),
    ]);
  }
  assert.ok(bytes().some((part) => part.includes(MARKER)));

  await store.forgetKeys(at(HOUR), 100);
  await store.erase({ what: 'personal', until: at(HOUR), limit: 1_000 });

  assert.equal(
    bytes().some((part) => part.includes(MARKER)),
    false,
  );
});

for (const [name, open] of Object.entries(PLACES)) {
  for (const [what, policies] of Object.entries(ERASURES)) {
    test(`erase() of ${what} leaves them in no table of ${name}`, async () => {
      const place = await open();
      const store = closedAtEnd(await openStore(place.url));
      const retention = what.includes('say so') ? 'PT1H' : undefined;
      const done = await markedCall(store, retention);
      await store.settle(done.closing);
      const unknown = await markedCall(store, retention);
      await store.settle({ ...unknown.closing, outcome: 'indeterminate' });
      await store.sequence();
      assert.deepEqual(await place.marked(), ['idempotency', 'intents', 'segments']);

      await store.forgetKeys(at(HOUR), 100);
      for (const policy of policies) {
        await store.erase({ ...policy, until: at(HOUR), limit: 100 } as Erasure);
      }

      assert.deepEqual(await place.marked(), ['intents'], 'only of the call nobody knows about');
      await store.reconcile(unknown.call.intent.invocation_id, true, () => entry());
      assert.deepEqual(await place.marked(), []);
    });
  }
}
