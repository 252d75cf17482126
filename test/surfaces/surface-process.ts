/**
 * The methods of a service in this process as a surface: as every transport calls them, without one.
 *
 * @module
 */

import type { Surface, SurfaceEvent } from '../../src/conformance/surface.ts';
import { isDocument, perform } from '../../src/service/operations/operations.ts';
import type { Runtime } from '../../src/service/runtime.ts';

/**
 * Calls the service's own methods, as every transport does.
 */
export function inProcess(runtime: Runtime): Surface {
  return {
    async ask(name, request, credential) {
      const method = runtime.methods[name];
      if (!method) throw new Error(`Cannot ask "${name}": the service does not offer it`);
      const input = structuredClone(request);
      const answer = await perform(
        name,
        method,
        { bearer: () => credential, input: () => input },
        runtime,
      );
      const headers = answer.headers ?? {};
      if (isDocument(answer)) return { body: JSON.parse(answer.text), events: [], headers };
      const events: SurfaceEvent[] = [];
      const send = async (event: string, json: string) => {
        if (event === 'started' || event === 'progress')
          events.push({ event, data: JSON.parse(json) });
        return true;
      };
      const body = answer.stream ? await answer.stream({ send, isOpen: () => true }) : answer.body;
      return { body: JSON.parse(answer.text ?? JSON.stringify(body)), events, headers };
    },
  };
}
