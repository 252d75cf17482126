/**
 * Sends the progress of a streamed invocation as notifications to a client that asked for them.
 *
 * @module
 */

import type { ServerContext } from '@modelcontextprotocol/server';
import type { EventSink } from '../service/operations/stream.ts';
import { sentenceOf } from './sentence.ts';

/** Most notifications of one call: they stay in memory while a client does not read. */
const NOTIFICATIONS_MAX = 1_000;

/** `undefined` when the client sent no progress token. */
export function progressSink(context: ServerContext): EventSink | undefined {
  const { mcpReq } = context;
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return {
    isOpen: () => !mcpReq.signal.aborted,
    async send(event, json) {
      if (mcpReq.signal.aborted) return false;
      if (event !== 'progress' || progress >= NOTIFICATIONS_MAX) return true;
      progress += 1;
      const message = sentenceOf(JSON.parse(json).progress, progress);
      const params = { progressToken, progress, message };
      // Rejects only when the client is gone.
      return mcpReq.notify({ method: 'notifications/progress', params }).then(
        () => true,
        () => false,
      );
    },
  };
}
