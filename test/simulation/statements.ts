/**
 * The connection of a replica to a SQLite database that all replicas share, with faults at its statements.
 *
 * A transaction runs to its end in one turn, so transactions of replicas never mix. BEGIN, any statement and COMMIT
 * can fail. SQLite undoes a statement that fails, so it fails before it ran. A replica can die between two statements;
 * its transaction is then rolled back, as SQLite does it when the next process opens the file.
 *
 * @module
 */

import type { Connection, Value } from '../../src/storage/sqlite/connection.ts';
import type { PortParts } from './port.ts';

/** A connection, and how many transactions it began. */
export interface ReplicaConnection extends Connection {
  batch(): number;
  /** From now on statements can fail. */
  arm(): void;
}

/** Result codes: locked, full, failed write, and a flush that failed after the last write. */
const UNDONE_CODES = [5, 13, 778];
const UNFLUSHED_CODE = 1_034;

/** Statements of a transaction that a fault may choose from. */
const STATEMENTS_MAX = 24;

interface Plan {
  readonly at: 'begin' | 'statement' | 'commit' | 'crash';
  /** Counted from the first statement after BEGIN. */
  readonly statement: number;
  readonly code: number;
  /** SQLite itself ends the transaction, as on some disk failures. */
  readonly isRolledBack: boolean;
}

export function replicaConnection(
  shared: Connection,
  parts: Pick<PortParts, 'faults' | 'life' | 'isFull'> & { crash(): void },
  platform: Connection['platform'],
): ReplicaConnection {
  const { life, faults } = parts;
  let isArmed = false;
  let batches = 0;
  let plan: Plan | undefined;
  let left = 0;

  const undo = () => {
    if (shared.inTransaction()) shared.run('ROLLBACK');
  };
  const fail = (code: number): never => {
    throw Object.assign(new Error('Cannot run the statement: the disk failed'), { errcode: code });
  };
  const strike = ({ code, isRolledBack }: Plan): never => {
    faults.hit(code === FULL_CODE && parts.isFull() ? 'disk-full' : 'store-before');
    plan = undefined;
    if (isRolledBack) undo();
    return fail(code);
  };
  const die = (): never => {
    faults.hit('store-crash');
    plan = undefined;
    undo();
    parts.crash();
    return fail(DEAD_CODE);
  };
  const begin = (sql: string) => {
    batches += 1;
    plan = isArmed ? planOf(parts, batches) : undefined;
    left = plan?.statement ?? 0;
    if (plan?.at === 'begin') strike({ ...plan, isRolledBack: false });
    if (isArmed && sql.includes('IMMEDIATE') && parts.isFull()) {
      plan = { at: 'commit', statement: 0, code: FULL_CODE, isRolledBack: false };
    }
    shared.run(sql);
  };
  /** Runs one statement of a transaction, or fails before or after it. */
  const within = <Result>(run: () => Result): Result => {
    if (!life.owner.isAlive) return fail(DEAD_CODE);
    if (!plan || plan.at === 'commit' || left-- > 0) return run();
    if (plan.at === 'crash') return die();
    return strike(plan);
  };
  const control = (sql: string): boolean => {
    if (!life.owner.isAlive) return fail(DEAD_CODE);
    if (sql.startsWith('BEGIN')) begin(sql);
    else if (sql === 'COMMIT' && plan?.at === 'commit') strike(plan);
    else if (CONTROL.test(sql)) shared.run(sql);
    else return false;
    return true;
  };
  return {
    platform,
    run(sql, ...values: Value[]) {
      if (!control(sql)) within(() => shared.run(sql, ...values));
    },
    change: (sql, ...values) => within(() => shared.change(sql, ...values)),
    get: <Row>(sql: string, ...values: Value[]) => within(() => shared.get<Row>(sql, ...values)),
    all: <Row>(sql: string, ...values: Value[]) => within(() => shared.all<Row>(sql, ...values)),
    each: (sql) => shared.each(sql),
    script: (sql) => shared.script(sql),
    inTransaction: () => life.owner.isAlive && shared.inTransaction(),
    close: () => undefined,
    batch: () => batches,
    arm() {
      isArmed = true;
    },
  };
}

/** Statements that only order others. */
const CONTROL = /^(?:COMMIT|ROLLBACK|SAVEPOINT|RELEASE)/;

const FULL_CODE = 13;

/** A code that no rule treats as undone: it is never seen, because its replica is dead. */
const DEAD_CODE = 9;

function planOf({ faults, life }: Pick<PortParts, 'faults' | 'life'>, batch: number) {
  const drawn = faults.at(`${life.label} transaction ${batch}`);
  const crashes = drawn.is(faults.rate('store-crash'));
  const fails = drawn.is(faults.rate('store-before'));
  const statement = drawn.below(STATEMENTS_MAX);
  const at = drawn.pick(['begin', 'statement', 'statement', 'commit', 'commit'] as const);
  const isUnflushed = drawn.is(0.4);
  const code = drawn.pick(UNDONE_CODES);
  const isRolledBack = drawn.is(0.3);
  if (crashes) return { at: 'crash', statement, code, isRolledBack } as const;
  if (!fails) return undefined;
  const isUnknown = at === 'commit' && isUnflushed;
  return { at, statement, code: isUnknown ? UNFLUSHED_CODE : code, isRolledBack };
}
