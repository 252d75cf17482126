/**
 * What authors of stores and of transports import to prove theirs.
 *
 * @module
 */

export type { Runner } from './runner.ts';
export { STORIES_WITHOUT_TOOLS, surfaceScenarios } from './scenarios.ts';
export { type ContractOptions, storeContract } from './store-contract.ts';
export {
  inProcess,
  overHttp,
  overStdio,
  type Surface,
  type Told,
  type ToldEvent,
} from './surface.ts';
export { overClient } from './surface-client.ts';
export { overMcp, type ToolClient, type ToolSurface } from './surface-mcp.ts';
