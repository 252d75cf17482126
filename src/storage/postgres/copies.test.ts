import assert from 'node:assert/strict';
import pg from 'pg';
import { test } from 'vitest';
import { StoreUnavailable } from '../port/store.ts';
import { createCopies } from './copies.ts';

interface Answered {
  readonly system: string;
  readonly timeline: string;
  readonly database: string;
  readonly position: string;
}

const SERVER: Answered = { system: '7', timeline: '00000001', database: '5', position: '1000' };

/** A connection to a server that says this of itself. */
function connectionTo(answered: Answered | Error) {
  return {
    async query<Row>(): Promise<{ rows: Row[] }> {
      if (answered instanceof Error) throw answered;
      return { rows: [answered as Row] };
    },
  };
}

/** What watches, and how often it had to compare. */
function watched() {
  let compared = 0;
  const copies = createCopies(async () => undefined);
  copies.watch(async () => {
    compared += 1;
  });
  return {
    copies,
    look: (answered: Answered | Error) => copies.look(connectionTo(answered)),
    compared: () => compared,
  };
}

const others: [what: string, answered: Partial<Answered>][] = [
  ['another system', { system: '8' }],
  ['another timeline', { timeline: '00000002' }],
  ['another database', { database: '6' }],
  ['a position further back', { position: '999' }],
];
for (const [what, answered] of others) {
  test(`look() has ${what} compared once, and changes wait for it`, async () => {
    const { copies, look, compared } = watched();
    await look(SERVER);
    const early = connectionTo(SERVER);
    await copies.look(early);

    const found = look({ ...SERVER, ...answered });
    await found;
    assert.throws(() => copies.refuseUncompared(), StoreUnavailable);
    await new Promise(setImmediate);

    assert.equal(compared(), 1);
    assert.ok(!copies.isCurrent(early));
    copies.refuseUncompared();
    for (let n = 0; n < 3; n++) await look({ ...SERVER, ...answered });
    assert.equal(compared(), 1);
  });
}

test('look() compares nothing while a server goes on, in whatever order its answers arrive', async () => {
  const { copies, look, compared } = watched();
  await look(SERVER);
  let answer: (answered: Answered) => void = () => undefined;
  const slow = copies.look({
    query: <Row>() =>
      new Promise<{ rows: Row[] }>((resolve) => {
        answer = (answered) => resolve({ rows: [answered as Row] });
      }),
  });
  await look({ ...SERVER, position: '2000' });
  answer({ ...SERVER, position: '1500' });
  await slow;

  assert.equal(compared(), 0);
});

test('look() watches no server that does not let its role ask, and rejects when the connection is lost', async () => {
  const { look, compared } = watched();
  const forbidden = Object.assign(new pg.DatabaseError('no', 2, 'error'), { code: '42501' });
  await look(SERVER);
  await look(forbidden);

  assert.equal(compared(), 0);
  await assert.rejects(look(new Error('Connection terminated')), /terminated/);
});
