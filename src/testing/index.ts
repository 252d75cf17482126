/**
 * `testService()` for authors of a service, and contract tests for authors of stores and of transports.
 *
 * @module
 */

export { answerOf, type EntryFilter, failureOf } from './author/expect.ts';
export { type TestServiceOptions, testService } from './author/test-service.ts';
export type {
  CallerOptions,
  LogLine,
  PinnedBinding,
  TestCaller,
  TestedService,
  TestPerson,
} from './author/types.ts';
export type { Runner } from './runner.ts';
export { STORIES_WITHOUT_TOOLS, surfaceScenarios } from './scenarios/scenarios.ts';
export {
  inProcess,
  overHttp,
  overStdio,
  type Surface,
  type SurfaceAnswer,
  type SurfaceEvent,
} from './scenarios/surface.ts';
export { overClient } from './scenarios/surface-client.ts';
export { overMcp, type ToolClient, type ToolSurface } from './scenarios/surface-mcp.ts';
export { type ContractOptions, storeContract } from './store/store-contract.ts';
export { type RaceOptions, storeRaces } from './store/store-races.ts';
