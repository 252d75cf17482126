/**
 * `testService()` for authors of a service: the service in memory, with the real store, keys and checks.
 *
 * @module
 */

export { type EntryFilter, expectAnswer, expectFailure } from './expect.ts';
export { type TestedGuard, type TestGuardOptions, testGuard } from './guard.ts';
export { type TestServiceOptions, testService } from './test-service.ts';
export type {
  CallerOptions,
  LogLine,
  PinnedBinding,
  TestCaller,
  TestedService,
  TestPerson,
} from './types.ts';
