/**
 * The typed client as a surface: turns the values it returns into answers.
 *
 * The client does not expose headers; two of them it turns into fields, which replace them here. A missing
 * answer is thrown.
 *
 * @module
 */

import { type Client, createClient, type Refused, type Reply } from '../../src/client/index.ts';
import type { Surface, SurfaceAnswer, SurfaceEvent } from '../../src/conformance/surface.ts';
import type { InputOf } from '../../src/protocol/operations.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';

/**
 * Over the client of `writ/client`. All callers share one client: only the credential differs.
 */
export function overClient(url: string): Surface {
  let signature = '';
  const anybody = createClient({
    url,
    async fetch(input, init) {
      const response = await fetch(input, init);
      // The signature of the manifest that the client verified and caches.
      signature = response.headers.get('x-svc-signature') ?? signature;
      return response;
    },
  });
  return {
    async ask(name, request, credential) {
      const client = credential === undefined ? anybody : anybody.withCredential(credential);
      if (name === 'invoke' && request.stream === true) return streamAnswer(client, request);
      const reply: Reply<object> = await client.ask(name, request as InputOf<typeof name>);
      const answer = answerFrom(reply);
      return name === 'manifest'
        ? { ...answer, headers: { 'x-svc-signature': signature } }
        : answer;
    },
  };
}

function answerFrom(reply: Reply<object>): SurfaceAnswer {
  if (!reply.ok) return { body: refusalIn(reply), events: [], headers: {} };
  const headers: Record<string, string> = reply.replayed ? { 'idempotent-replayed': 'true' } : {};
  return { body: { ...reply.answer }, events: [], headers };
}

async function streamAnswer(client: Client, request: JsonObject): Promise<SurfaceAnswer> {
  const events: SurfaceEvent[] = [];
  for await (const { event, data } of client.stream(request as InputOf<'invoke'>)) {
    if (event === 'refused' || event === 'lost') {
      return { body: refusalIn(data), events, headers: {} };
    }
    if (event === 'completed' || event === 'failed') return { body: data, events, headers: {} };
    events.push({ event, data });
  }
  throw new Error('Cannot tell how the stream ended: it has no last event');
}

function refusalIn({ answer, failure }: Refused): JsonObject {
  if (answer) return { ...answer };
  throw new Error(`Cannot tell what was answered: ${failure.detail}`);
}
