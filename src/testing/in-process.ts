/**
 * A `fetch` that asks a service in this process, without a port.
 *
 * @module
 */

import { createBodies } from '../http/bounds/bodies.ts';
import { CONNECTION_BOUNDS } from '../http/bounds/connection.ts';
import { watchLoad } from '../http/bounds/shed.ts';
import { createVisits } from '../http/bounds/strangers.ts';
import { createCore } from '../http/core.ts';
import { createMetrics } from '../http/metrics.ts';
import { webExchange } from '../http/mounted/web.ts';
import type { Runtime } from '../service/runtime.ts';

export interface InProcess {
  readonly fetch: typeof fetch;
  close(): Promise<void>;
}

export function inProcessService(runtime: Runtime): InProcess {
  const { platform } = runtime;
  // A machine that is busy with other tests must not make the service refuse requests.
  const load = watchLoad(platform, { loopDelayMaxMs: Number.POSITIVE_INFINITY });
  const metrics = createMetrics(load, () => runtime);
  const core = createCore(runtime, {
    load,
    metrics,
    visits: createVisits(runtime),
    surfaces: [],
    added: [],
    hasOpenMetrics: true,
  });
  const bodies = createBodies(CONNECTION_BOUNDS);
  core.started();
  return {
    async fetch(input, init) {
      const request = new Request(input, init);
      const { pathname, search } = new URL(request.url);
      const arrival = {
        platform,
        bodies,
        target: `${pathname}${search}`,
        remoteAddress: '127.0.0.1',
      };
      const { ask, respond } = webExchange(request, arrival);
      return respond(await core.answer(ask));
    },
    async close() {
      await core.close();
      load.close();
    },
  };
}
