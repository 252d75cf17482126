/**
 * A `fetch` that asks a service in this process, without a port.
 *
 * The whole answer is there when the promise resolves, also of a stream.
 *
 * @module
 */

import { watchLoad } from '../../http/bounds/shed.ts';
import { createHttpServer } from '../../http/server.ts';
import type { Runtime } from '../../service/runtime.ts';

export interface InProcess {
  readonly fetch: typeof fetch;
  close(): Promise<void>;
}

export function inProcessService(runtime: Runtime): InProcess {
  // A machine that is busy with other tests must not make the service refuse requests.
  const patient = watchLoad(runtime.platform, { loopDelayMaxMs: Number.POSITIVE_INFINITY });
  const app = createHttpServer(runtime, patient);
  return {
    async fetch(input, init) {
      const request = new Request(input, init);
      const { pathname, search } = new URL(request.url);
      const body = Buffer.from(await request.arrayBuffer());
      const answered = await app.inject({
        method: request.method as 'GET',
        url: `${pathname}${search}`,
        headers: Object.fromEntries(request.headers),
        ...(body.length > 0 && { payload: body }),
      });
      const headers = Object.entries(answered.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]);
      const { statusCode: status, rawPayload } = answered;
      return new Response(rawPayload.length === 0 ? null : new Uint8Array(rawPayload), {
        status,
        headers,
      });
    },
    close: () => app.close(),
  };
}
