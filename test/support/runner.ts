/**
 * The runner of the suite: skips a file that opens, for all of its tests, a program that the machine lacks.
 *
 * @module
 */

import { TestRunner } from 'vitest';
import { unlessMissing } from './missing.ts';

// biome-ignore lint/style/noDefaultExport: vitest reads the default export.
export default class extends TestRunner {
  override importFile(...[path, source]: Parameters<TestRunner['importFile']>): unknown {
    return unlessMissing(() => super.importFile(path, source));
  }
}
