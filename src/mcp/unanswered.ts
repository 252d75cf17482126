/**
 * Requests that were read and have no answer yet, so that the end of an input need not lose one.
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
   * Notes a message of the client: a request, or that it no longer wants an answer. False for a
   * request whose id is that of another without an answer: nobody could tell their answers apart.
   */
  heard(message: unknown): boolean;
  /** Notes a message to the client. */
  said(message: unknown): void;
  /** Resolves when every request has its answer, nobody is there to have one, or time is up. */
  settled(withinMs: number): Promise<void>;
  /** Says that nobody is there any more. */
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
    said(message) {
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
