/**
 * A change of the store on PostgreSQL: a story in one transaction, with the log and the token of its caller.
 *
 * @module
 */

import { run, type Steps, wait } from '../../steps.ts';
import type { Sql } from '../sql/sql.ts';
import { closeGate, endedActor, JOIN_GATE } from './calls/actor.ts';
import type { Database, Session } from './connection.ts';
import { enqueue } from './log/entries.ts';
import { rowsOn } from './sql.ts';
import { insertChild, insertRoots } from './tokens.ts';

/** The story in a transaction, and again after a deadlock. `wrote` learns how many entries it has queued. */
export async function changeStory<Result>(
  database: Database,
  { now, wrote }: { readonly now: () => Date; readonly wrote: (entries: number) => void },
  story: (sql: Sql) => Steps<Result>,
): Promise<Result> {
  let entries = 0;
  const result = await database.transaction(async (session) => {
    entries = 0;
    const queued = () => {
      entries += 1;
    };
    return run(story({ now, ...timelessOn(session, queued) }));
  });
  wrote(entries);
  return result;
}

/** A story that does not ask for the time, as a part of a transaction. */
export async function storyIn<Result>(
  session: Session,
  story: (sql: Omit<Sql, 'now'>) => Steps<Result>,
): Promise<Result> {
  return run(story(timelessOn(session)));
}

function timelessOn(session: Session, queued = () => {}): Omit<Sql, 'now'> {
  return {
    ...rowsOn(session),
    *append(entry) {
      yield* wait(enqueue(session, entry));
      queued();
    },
    *endedActor(actor, now) {
      return yield* wait(endedActor(session, actor, now));
    },
    *closeGate(tokenId, actor, now) {
      return yield* wait(closeGate(session, tokenId, { actor, now }));
    },
    *joinGate(tokenId) {
      yield* wait(session.run(JOIN_GATE, [tokenId]));
    },
    *insertRoot(token, entry) {
      yield* wait(insertRoots(session.run, [{ token, entry }]));
      queued();
    },
    *insertChild(token, entry, bounds) {
      const answer = yield* wait(insertChild(session.run, { token, entry }, bounds));
      if (answer === 'inserted') queued();
      return answer;
    },
  };
}
