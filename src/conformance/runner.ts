/**
 * The functions of a test runner that the scenarios use. Vitest's fit, and so do those of others: nothing is
 * imported here, so the author of an implementation chooses the runner.
 *
 * @module
 */

/**
 * The functions of a test runner that the scenarios use.
 *
 * @example
 * import { describe, test } from 'node:test';
 * import type { Runner } from 'writ/conformance';
 *
 * const runner: Runner = {
 *   describe: (name, body) => void describe(name, body),
 *   test: (name, body, timeout) => void test(name, { timeout }, body),
 * };
 */
export interface Runner {
  describe(name: string, body: () => void): void;
  test(name: string, body: () => Promise<void>, timeoutMs?: number): void;
}
