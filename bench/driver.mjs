/**
 * The driver of SQLite as the benchmark gives it to a program: commits may take longer, statements may be counted.
 *
 * Preloaded by `--import`; it then stands in for the driver of the program. `BENCH_COMMIT_MS` is how much longer a
 * commit of changes takes: what a service costs on a disk that is slower than this one. The thread waits, as it does
 * for a flush, and uses no CPU. A transaction that only reads ends at once: it flushes nothing. `BENCH_COUNT=work` counts
 * statements; without it only those that begin and end a transaction pass through here.
 *
 * @module
 */

import { register } from 'node:module';
import { DatabaseSync as Driver } from '@photostructure/sqlite';

export * from '@photostructure/sqlite';

register('./driver-hook.mjs', import.meta.url);

const COMMIT_MS = Number(process.env.BENCH_COMMIT_MS ?? 0);
const IS_COUNTING = process.env.BENCH_COUNT === 'work';
const never = new Int32Array(new SharedArrayBuffer(4));

/** Since the start of the program. `commits` are those of changes. */
export const executed = { statements: 0, commits: 0 };

// The methods of the driver's class cannot be replaced, so the program gets a class below it.
export class DatabaseSync extends Driver {
  #writes = false;

  prepare(sql, ...options) {
    const statement = super.prepare(sql, ...options);
    const step = this.#stepOf(sql);
    if (!step) return statement;
    const then =
      (method) =>
      (...values) => {
        const result = statement[method](...values);
        step();
        return result;
      };
    return { get: then('get'), run: then('run'), all: then('all'), iterate: then('iterate') };
  }

  exec(sql) {
    super.exec(sql);
    this.#stepOf(sql)?.();
  }

  /** What happens after a statement; undefined for most of them where none is counted. */
  #stepOf(sql) {
    if (/^\s*BEGIN IMMEDIATE\b/i.test(sql)) return () => this.#begun();
    if (/^\s*COMMIT\b/i.test(sql)) return () => this.#ended();
    return IS_COUNTING ? count : undefined;
  }

  #begun() {
    count();
    this.#writes = true;
  }

  #ended() {
    count();
    if (!this.#writes) return;
    this.#writes = false;
    executed.commits += 1;
    if (COMMIT_MS > 0) Atomics.wait(never, 0, 0, COMMIT_MS);
  }
}

function count() {
  executed.statements += 1;
}
