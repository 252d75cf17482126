import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { foundIn } from '../../../../test/store/observe.ts';
import { closedAtEnd, temporaryFolder } from '../../../../test/support/ends.ts';
import { at, entry } from '../../../../test/support/fixtures.ts';
import type { Erasure } from '../../port/store.ts';
import { openConnection } from '../connection.ts';
import { createSqliteStore } from '../store.ts';

const ERASURES: readonly Erasure[] = [
  { what: 'personal', until: at(0), limit: 100 },
  { what: 'contents', eventClass: 'low_risk_success', until: at(0), limit: 333 },
];

/** Values of a personal field and of a field of the leaf. */
const SECRET = /(?:SECRET|CAP)[0-9]{6}/g;

function secretsIn(file: string): string[] {
  const bytes = [file, `${file}-wal`].map((name) => readFileSync(name, 'latin1')).join('');
  return [...new Set(bytes.match(SECRET))];
}

test('the file has nothing of erased entries, whatever the sizes of segments that share its pages', async () => {
  const file = join(temporaryFolder(), 'writ.db');
  const connection = openConnection(file);
  connection.script('PRAGMA synchronous = OFF');
  const store = closedAtEnd(createSqliteStore(connection));
  let made = 0;
  const fresh = () => {
    const number = String(made++).padStart(6, '0');
    const client_reference_id = `SECRET${number}${'x'.repeat((made * 37) % 200)}`;
    return entry({ client_reference_id, capability: `c.CAP${number}` });
  };
  for (let commit = 0; commit < 300; commit++) {
    await store.append(Array.from({ length: 1 + ((commit * 7) % 40) }, fresh));
  }
  // Some are divided between two pages.
  assert.ok(secretsIn(file).length > 1.9 * made);

  const left: string[][] = [];
  for (const erasure of ERASURES) {
    while ((await store.erase(erasure)) === erasure.limit);
    left.push(secretsIn(file));
  }

  assert.deepEqual(
    left[0]?.filter((each) => each.startsWith('SECRET')),
    [],
  );
  assert.deepEqual(left[1], []);
  assert.equal((await foundIn(store, { limit: 1_000 })).length, made);
  assert.deepEqual(await store.inspect(), []);
}, 60_000);
