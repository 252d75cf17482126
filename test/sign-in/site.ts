/**
 * The core of HTTP on a loopback port, with routes of the test beside those of the service.
 *
 * @module
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SignInFacts } from '../../src/http/answer.ts';
import { createBodies } from '../../src/http/bounds/bodies.ts';
import { CONNECTION_BOUNDS } from '../../src/http/bounds/connection.ts';
import { createVisits } from '../../src/http/bounds/strangers.ts';
import { createCore, type HttpCore } from '../../src/http/core.ts';
import type { AddedRoute, Route } from '../../src/http/exchange.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { nodeAsk, sendAnswer } from '../../src/http/node.ts';
import { mcpSurface } from '../../src/mcp/http.ts';
import type { Runtime } from '../../src/service/runtime.ts';
import { atEnd } from '../support/ends.ts';
import { patientLoad, type TestOptions, type TestService, testService } from '../support/world.ts';

export interface Site {
  readonly url: string;
  readonly core: HttpCore;
  readonly service: TestService;
}

export async function openSite(
  added: readonly AddedRoute[],
  signIn?: SignInFacts,
  options?: TestOptions,
): Promise<Site> {
  const service = await testService(options);
  const runtime = { ...service.runtime, signIn } as Runtime;
  const load = patientLoad();
  const metrics = createMetrics(load, () => runtime);
  const surfaces = [mcpSurface(runtime)];
  const visits = createVisits(runtime);
  const given = { load, visits, metrics, surfaces, hasOpenMetrics: true, added };
  const core = createCore(runtime, given);
  const bodies = createBodies(CONNECTION_BOUNDS);
  const server = createServer((request, response) => {
    const answering = Promise.resolve(core.answer(nodeAsk(request, response, bodies)));
    void answering.then((answer) => sendAnswer(answer, request, response, false));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  atEnd(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
    await core.close();
    load.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, core, service };
}

/** A route at a path, under a name of its own. */
export function routeAt(
  method: AddedRoute['method'],
  path: AddedRoute['path'],
  answer: Route['answer'],
): AddedRoute {
  return { method, path, route: { name: 'test', takesForm: true, answer } };
}
