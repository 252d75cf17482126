import assert from 'node:assert/strict';
import { join } from 'node:path';
import { beforeEach, test } from 'vitest';
import { closedAtEnd, temporaryFolder } from '../../../test/support/ends.ts';
import { StoreUnavailable } from '../port/store.ts';
import { type Connection, openConnection } from './connection.ts';
import { createReader } from './reader.ts';

let connection: Connection;
let other: Connection;

beforeEach(() => {
  const file = join(temporaryFolder(), 'store');
  connection = closedAtEnd(openConnection(file));
  connection.script('CREATE TABLE numbers (number INTEGER) STRICT');
  other = closedAtEnd(openConnection(file));
});

const add = () => other.run('INSERT INTO numbers VALUES (1)');
const count = () =>
  Number(connection.get<{ many: bigint }>('SELECT count(*) AS many FROM numbers')?.many);

test('ask() answers all questions of a turn from one snapshot, whatever is written between them', async () => {
  const reader = createReader(connection, () => undefined);

  const answers = await Promise.all([
    reader.ask(count),
    reader.ask(() => add()),
    reader.ask(count),
  ]);

  assert.deepEqual(answers, [0, undefined, 0]);
  assert.equal(await reader.ask(count), 1);
});

test('ask() sees what another process wrote after the question before it in the same turn', async () => {
  const reader = createReader(connection, () => undefined);

  const before = reader.ask(count);
  add();
  const after = reader.ask(count);

  assert.deepEqual(await Promise.all([before, after]), [1, 1]);
});

test('ask() rejects a question that fails, and no other', async () => {
  const reader = createReader(connection, () => undefined);
  const broken = () => connection.get('SELECT * FROM letters');

  const [first, second, third] = await Promise.allSettled([
    reader.ask(count),
    reader.ask(broken),
    reader.ask(count),
  ]);

  assert.deepEqual(
    [first.status, second.status, third.status],
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.equal(connection.inTransaction(), false);
});

test('ask() answers more questions than one turn takes', async () => {
  const reader = createReader(connection, () => undefined);
  const many = Array.from({ length: 1_000 }, (_, i) => reader.ask(() => i));
  assert.deepEqual(
    await Promise.all(many),
    Array.from({ length: 1_000 }, (_, i) => i),
  );
});

test('close() answers what was asked, and later questions are refused', async () => {
  const reader = createReader(connection, () => undefined);
  const asked = reader.ask(count);
  reader.close();
  assert.equal(await asked, 0);
  await assert.rejects(reader.ask(count), StoreUnavailable);
});
