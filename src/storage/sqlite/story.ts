/**
 * What a story of the store needs beside rows on SQLite: the log, and the token of its caller.
 *
 * @module
 */

import { wait } from '../../steps.ts';
import type { Sql } from '../sql/sql.ts';
import type { Connection } from './connection.ts';
import type { LogWriter } from './log/writer.ts';
import { rowsOn } from './sql.ts';
import { endedActor, insertChild, insertRoot } from './tokens.ts';

export function sqlOn(connection: Connection, log: LogWriter, now: () => Date): Sql {
  return {
    now,
    ...rowsOn(connection),
    *append(entry) {
      yield* wait(log.append(entry));
    },
    *endedActor(actor, now) {
      return yield* wait(endedActor(connection, actor, now));
    },
    *closeGate(_, actor, now) {
      return yield* wait(endedActor(connection, actor, now));
    },
    *joinGate() {},
    *insertRoot(token, entry) {
      yield* wait(insertRoot(connection, log, token, entry));
    },
    *insertChild(token, entry, bounds) {
      return yield* wait(insertChild(connection, log, token, entry, bounds));
    },
  };
}
