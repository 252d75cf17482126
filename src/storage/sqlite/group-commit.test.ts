import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { StoreUnavailable } from '../port/store.ts';
import { type Connection, openConnection } from './connection.ts';
import { type BatchWork, createGroupCommit } from './group-commit.ts';

let connection: Connection;

beforeEach(() => {
  connection = closedAtEnd(openConnection(':memory:'));
  // A row without its parent is found out by COMMIT and not before.
  connection.script(`
    CREATE TABLE parents (id INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE kept (
      name   TEXT PRIMARY KEY,
      parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED
    ) STRICT;
  `);
});

/** Work that does nothing but note what it was asked. */
function noted(): BatchWork & { notes: string[] } {
  const notes: string[] = [];
  return {
    notes,
    begin: () => void notes.push('begin'),
    mark: () => notes.length,
    rewind: (mark) => void notes.push(`rewind ${mark}`),
    settle: () => void notes.push('settle'),
    committed: () => void notes.push('committed'),
    finish: () => void notes.push('finish'),
  };
}

function keep(name: string, parent?: number): string {
  connection.run('INSERT INTO kept VALUES (?, ?)', name, parent);
  return name;
}

function kept(): string[] {
  const rows = connection.all<{ name: string }>('SELECT name FROM kept ORDER BY rowid');
  return rows.map(({ name }) => name);
}

test('submit() runs what was asked in one turn in one transaction, in order', async () => {
  const work = noted();
  const commits = createGroupCommit(connection, work);
  const names = ['c', 'a', 'b'];

  const results = await Promise.all(names.map((name) => commits.submit(() => keep(name))));

  assert.deepEqual(results, names);
  assert.deepEqual(kept(), names);
  assert.deepEqual(work.notes, ['begin', 'settle', 'finish', 'committed']);
});

test('submit() lets each transition see what those before it did', async () => {
  const commits = createGroupCommit(connection, noted());

  const seen = await Promise.all(
    [1, 2, 3].map((id) =>
      commits.submit(() => {
        keep(`${id}`);
        return kept().length;
      }),
    ),
  );

  assert.deepEqual(seen, [1, 2, 3]);
});

test('submit() resolves only after COMMIT', async () => {
  const commits = createGroupCommit(connection, noted());

  const inTransaction = await commits.submit(() => connection.inTransaction());

  assert.equal(inTransaction, true);
  assert.equal(connection.inTransaction(), false);
});

test('submit() undoes alone the one of many that throws', async () => {
  const work = noted();
  const commits = createGroupCommit(connection, work);
  const defect = new Error('Cannot go on: test');

  const results = await Promise.allSettled([
    commits.submit(() => keep('first')),
    commits.submit(() => {
      keep('half done');
      throw defect;
    }),
    commits.submit(() => keep('first')),
    commits.submit(() => keep('last')),
  ]);

  assert.deepEqual(kept(), ['first', 'last']);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  assert.equal((results[1] as PromiseRejectedResult).reason, defect);
  assert.match(String((results[2] as PromiseRejectedResult).reason), /UNIQUE constraint/);
  const notes = [
    'begin',
    'begin',
    'settle',
    'rewind 3',
    'rewind 4',
    'settle',
    'finish',
    'committed',
  ];
  assert.deepEqual(work.notes, notes);
});

test('submit() undoes a refusal and resolves with it', async () => {
  const commits = createGroupCommit(connection, noted());
  const isRefusal = (result: string) => result === 'refused';

  const results = await Promise.all([
    commits.submit(() => keep('refused'), isRefusal),
    commits.submit(() => keep('admitted'), isRefusal),
  ]);

  assert.deepEqual(results, ['refused', 'admitted']);
  assert.deepEqual(kept(), ['admitted']);
});

test('submit() uses savepoints after a failure, and stops after many batches without one', async () => {
  const work = noted();
  const commits = createGroupCommit(connection, work);
  const refusedOnce = async () => {
    work.notes.length = 0;
    await commits.submit(
      () => keep('refused'),
      () => true,
    );
    return work.notes.filter((note) => note === 'begin').length;
  };

  assert.equal(await refusedOnce(), 2);
  assert.equal(await refusedOnce(), 1);
  for (let i = 0; i < 40; i += 1) await commits.submit(() => keep(`calm ${i}`));
  assert.equal(await refusedOnce(), 2);
  assert.equal(kept().length, 40);
});

test('submit() rejects everyone with StoreUnavailable when COMMIT fails, and goes on after', async () => {
  const commits = createGroupCommit(connection, noted());

  const results = await Promise.allSettled([
    commits.submit(() => keep('innocent')),
    commits.submit(() => keep('orphan', 404)),
    commits.submit(() => keep('also innocent')),
  ]);

  for (const result of results) {
    assert.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable);
  }
  assert.deepEqual(kept(), []);
  assert.equal(connection.inTransaction(), false);
  assert.equal(await commits.submit(() => keep('later')), 'later');
});

test('submit() rejects everyone when the work before COMMIT fails', async () => {
  const cause = new Error('Cannot finish: test');
  const fails = {
    ...noted(),
    finish: () => {
      throw cause;
    },
  };
  const commits = createGroupCommit(connection, fails);

  const results = await Promise.allSettled(
    ['a', 'b'].map((name) => commits.submit(() => keep(name))),
  );

  for (const result of results) {
    assert.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable);
    assert.equal(result.reason.cause, cause);
  }
  assert.deepEqual(kept(), []);
});

test('submit() rejects everyone when a transition loses the whole transaction', async () => {
  const commits = createGroupCommit(connection, noted());

  const results = await Promise.allSettled([
    commits.submit(() => keep('before')),
    // What SQLite does by itself when the disk fails in the midst of a statement.
    commits.submit(() => {
      connection.run('ROLLBACK');
      throw new Error('Cannot write: test');
    }),
    commits.submit(() => keep('after')),
  ]);

  for (const result of results) {
    assert.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable);
  }
  assert.deepEqual(kept(), []);
});

test('submit() puts no more than a batch into one transaction', async () => {
  const work = noted();
  const commits = createGroupCommit(connection, work, { batchMax: 2, waitingMax: 100 });
  const names = ['a', 'b', 'c', 'd', 'e'];

  await Promise.all(names.map((name) => commits.submit(() => keep(name))));

  assert.deepEqual(kept(), names);
  assert.equal(work.notes.filter((note) => note === 'begin').length, 3);
});

test('submit() refuses what would make too many wait, and only that', async () => {
  const commits = createGroupCommit(connection, noted(), { batchMax: 10, waitingMax: 2 });

  const results = await Promise.allSettled(
    ['a', 'b', 'c'].map((name) => commits.submit(() => keep(name))),
  );

  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
  assert.ok((results[2] as PromiseRejectedResult).reason instanceof StoreUnavailable);
  assert.equal(commits.waiting(), 0);
  assert.equal(await commits.submit(() => keep('c')), 'c');
});

test('close() commits what was accepted and refuses what comes later', async () => {
  const commits = createGroupCommit(connection, noted(), { batchMax: 2, waitingMax: 100 });
  const accepted = Promise.all(['a', 'b', 'c'].map((name) => commits.submit(() => keep(name))));

  commits.close();

  assert.deepEqual(kept(), ['a', 'b', 'c']);
  assert.deepEqual(await accepted, ['a', 'b', 'c']);
  await assert.rejects(
    commits.submit(() => keep('d')),
    StoreUnavailable,
  );
});
