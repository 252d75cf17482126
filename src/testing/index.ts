/**
 * Contract tests for authors of stores and of transports.
 *
 * @module
 */

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
