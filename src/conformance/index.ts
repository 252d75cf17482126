/**
 * Scenarios for authors of a service, a client or a transport in any language: the same requests over any surface.
 *
 * @module
 */

export type { Runner } from './runner.ts';
export { surfaceScenarios } from './scenarios.ts';
export {
  overHttp,
  overStdio,
  type Surface,
  type SurfaceAnswer,
  type SurfaceEvent,
} from './surface.ts';
export { overMcp, type ToolClient, type ToolSurface } from './surface-mcp.ts';
