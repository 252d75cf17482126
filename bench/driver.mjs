/**
 * The driver of SQLite, with commits that take longer: what a service costs on a disk that is slower than this one.
 *
 * Preloaded by `--import`; it then stands in for the driver of the program. `BENCH_COMMIT_MS` is how much longer a
 * commit of changes takes. The thread waits, as it does for a flush, and uses no CPU. A transaction that only reads
 * ends at once: it flushes nothing.
 *
 * @module
 */

import { register } from 'node:module';
import { DatabaseSync as Driver } from '@photostructure/sqlite';

export * from '@photostructure/sqlite';

register('./driver-hook.mjs', import.meta.url);

const COMMIT_MS = Number(process.env.BENCH_COMMIT_MS ?? 0);
const never = new Int32Array(new SharedArrayBuffer(4));

// The methods of the driver's class cannot be replaced, so the program gets a class below it.
export class DatabaseSync extends Driver {
  #writes = false;

  prepare(sql, ...options) {
    const statement = super.prepare(sql, ...options);
    const step = this.#stepOf(sql);
    return step ? stepping(statement, step) : statement;
  }

  exec(sql) {
    super.exec(sql);
    this.#stepOf(sql)?.();
  }

  /** What happens after a statement that begins or ends a transaction. */
  #stepOf(sql) {
    if (/^\s*BEGIN IMMEDIATE\b/i.test(sql)) return () => this.#begun();
    if (/^\s*COMMIT\b/i.test(sql)) return () => this.#committed();
    return undefined;
  }

  #begun() {
    this.#writes = true;
  }

  #committed() {
    if (this.#writes && COMMIT_MS > 0) Atomics.wait(never, 0, 0, COMMIT_MS);
    this.#writes = false;
  }
}

function stepping(statement, step) {
  const then =
    (method) =>
    (...values) => {
      const result = statement[method](...values);
      step();
      return result;
    };
  return { get: then('get'), run: then('run'), all: then('all') };
}
