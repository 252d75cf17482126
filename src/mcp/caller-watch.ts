/**
 * Sees whether the caller of a tool is known before its answer leaves.
 *
 * The invocation judges the token, so that a refusal leaves an entry. A client with a token that has ended
 * renews it when it gets 401, and a tool's error does not say that to a client. So the first bytes of an answer
 * wait until the invocation knows the caller, and are dropped for the failure of a caller who is not known.
 *
 * @module
 */

import type { Failure } from '../protocol/failure.ts';
import type { Ask } from '../service/operations/operations.ts';
import { type Gateway, isFailure } from './gateway.ts';

/** What a token that is not usable is refused with. */
const UNKNOWN_CALLER: ReadonlySet<string> = new Set([
  'authentication_required',
  'invalid_token',
  'token_expired',
]);

interface CallerWatch<Caller> {
  /** The caller, with `proved` seen by the watch. */
  readonly caller: Caller;
  /** The gateway, with the answers of invocations seen by the watch. */
  watched(gateway: Gateway): Gateway;
  /** The response once it may leave, or the failure of a caller who is not known. */
  admitted(response: Response): Promise<Response | Failure>;
}

export function watchCaller<Caller extends Pick<Ask, 'proved'>>(
  given: Caller,
): CallerWatch<Caller> {
  let found: Failure | undefined;
  let isKnown = false;
  let settle: () => void = () => undefined;
  const judged = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const caller = {
    ...given,
    proved(issued?: string) {
      isKnown = true;
      settle();
      given.proved?.(issued);
    },
  };
  return {
    caller,
    watched: (gateway) => ({
      ...gateway,
      async ask(name, input, sink) {
        const answer = await gateway.ask(name, input, sink);
        if (name !== 'invoke' || isKnown) return answer;
        if (isFailure(answer) && UNKNOWN_CALLER.has(answer.failure.type)) found = answer.failure;
        settle();
        return answer;
      },
    }),
    async admitted(response) {
      const reader = response.body?.getReader();
      const first = reader?.read();
      // An answer that needs no invocation has bytes, or a fault, before anything is judged.
      await Promise.race([judged, first?.catch(() => undefined)]);
      if (found === undefined) return reader ? resumed(response, reader, first) : response;
      await reader?.cancel().catch(() => undefined);
      return found;
    },
  };
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** The same response, after the first read of its body. */
function resumed(
  { status, headers }: Response,
  reader: Reader,
  first: ReturnType<Reader['read']> | undefined,
): Response {
  let pending = first;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await (pending ?? reader.read());
      pending = undefined;
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, { status, headers });
}
