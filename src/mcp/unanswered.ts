/**
 * Tracks requests without an answer, so that they can be answered after the input ends.
 *
 * @module
 */

import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type RequestId,
} from '@modelcontextprotocol/server';

import type { Platform } from '../platform.ts';

export interface Unanswered {
  /**
   * Notes a message of the client: a request or a cancellation. Returns false for a
   * request with the id of another unanswered one, because a client could not distinguish their answers.
   */
  heard(message: unknown): boolean;
  /** Notes a message that was sent to the client. */
  answered(message: unknown): void;
  /** Resolves when every request is answered, the client has left, or the time is up. */
  settled(withinMs: number): Promise<void>;
  /** Notes that the client has left. */
  forget(): void;
}

export function createUnanswered({ after, cancel }: Platform): Unanswered {
  const open = new Set<RequestId>();
  let isGone = false;
  let wake = () => {};
  const close = (id: RequestId | undefined) => {
    if (id !== undefined) open.delete(id);
    if (open.size === 0) wake();
  };
  return {
    heard(message) {
      if (isJSONRPCRequest(message)) {
        if (open.has(message.id)) return false;
        open.add(message.id);
      } else if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
        close(message.params?.requestId as RequestId | undefined);
      }
      return true;
    },
    answered(message) {
      if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) close(message.id);
    },
    async settled(withinMs) {
      if (open.size === 0 || isGone) return;
      await new Promise<void>((resolve) => {
        const timer = after(withinMs, resolve);
        wake = () => {
          cancel(timer);
          resolve();
        };
      });
    },
    forget() {
      isGone = true;
      wake();
    },
  };
}
