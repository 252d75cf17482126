/**
 * The package's front door: what a service author imports.
 *
 * @module
 */

import './oldest-node.ts';

import {
  type MountedService,
  type MountOptions,
  mount as mountInApp,
} from './http/mounted/mount.ts';
import { type RunningService, serve as serveHttp } from './http/serve.ts';
import { mcpSurface } from './mcp/http.ts';
import type { ServeOptions } from './open.ts';
import type { ServiceDefinition } from './service/author/definition.ts';

export { eur, gbp, round, usd } from './domain/values/amounts.ts';
export type { AppRequest, PersonOfApp } from './http/mounted/app.ts';
export type { MountedService, MountOptions } from './http/mounted/mount.ts';
export type { RunningService } from './http/serve.ts';
export type { ServeOptions } from './open.ts';
export type { BindingRequirement } from './protocol/capability.ts';
export type { DeclaredFailure } from './protocol/failure.ts';
export type { JsonObject, Money } from './protocol/primitives.ts';
export type { AccountOptions } from './service/author/accounts.ts';
export type {
  ApprovalPolicy,
  Authenticate,
  ConditionsOn,
  DefinedCapability,
  ExternalBinding,
  ResolveBinding,
} from './service/author/define.ts';
export { defineCapability } from './service/author/define.ts';
export type {
  AskedInput,
  AuthorPolicy,
  Resolution,
  Resolver,
  Service,
  ServiceOptions,
} from './service/author/definition.ts';
export { createService, DefinitionError } from './service/author/definition.ts';
export type {
  Advice,
  Handler,
  HandlerContext,
  InnerAnswer,
  Price,
  PriceContext,
} from './service/author/handler.ts';
export { HandlerFailure, NoEffect } from './service/author/handler.ts';
export type { InputDetails, PinnedBinding, Schema } from './service/author/typed.ts';
export type { HttpCredential } from './service/http-api/http-call.ts';
export { httpCapability } from './service/http-api/http-capability.ts';
export type { StdioOptions, StdioService } from './stdio/serve.ts';
export { serveStdio } from './stdio/serve.ts';

/**
 * Runs a service over HTTP, with MCP at `/mcp`. Rejects, with nothing left open, when it cannot.
 *
 * @example
 * import { createService, serve } from 'writ';
 *
 * const service = createService({ id: 'demo', capabilities: [] });
 * const settings = { port: 0, store: 'memory:' };
 * const { url, close } = await serve(service, { settings, signals: false });
 * console.log(url);
 * await close();
 */
export function serve(
  definition: ServiceDefinition,
  options?: ServeOptions,
): Promise<RunningService> {
  return serveHttp(definition, options, [mcpSurface]);
}

/**
 * Mounts a service in an app that exists, with MCP at `<prefix>/mcp`. Listens on no port, handles no signal
 * and never ends the process. Rejects, with nothing left open, when it cannot.
 *
 * @example
 * import { createService, mount } from 'writ';
 *
 * const service = createService({ id: 'demo', capabilities: [] });
 * const desk = await mount(service, { prefix: '/desk', settings: { store: 'memory:' } });
 * const answer = await desk.fetch(new Request('http://127.0.0.1/desk/.well-known/svc'));
 * console.log(answer.status);
 * await desk.close();
 */
export function mount(
  definition: ServiceDefinition,
  options: MountOptions,
): Promise<MountedService> {
  return mountInApp(definition, options, [mcpSurface]);
}
