/**
 * The package's front door: what a service author imports.
 *
 * @module
 */

export type { RunningService } from './http/serve.ts';
export { serve } from './http/serve.ts';
export type { ServeOptions } from './open.ts';
export type {
  ApprovalPolicy,
  DefinedCapability,
  Handler,
  HandlerContext,
  PinnedElsewhere,
  ResolveBinding,
} from './service/define.ts';
export { defineCapability, HandlerFailure, NoEffect } from './service/define.ts';
export type {
  Resolution,
  Resolver,
  ServiceDefinition,
  ServiceOptions,
} from './service/definition.ts';
export { createService, DefinitionError } from './service/definition.ts';
export type { StdioOptions, StdioService } from './stdio/serve.ts';
export { serveStdio } from './stdio/serve.ts';
