/**
 * How a call of a tool ended: its result as ours, or the failure that says whether something may have happened.
 *
 * Only text that a tool wrote as its own error is passed on, bounded, visible and without secrets. Messages of
 * libraries and bodies of answers stay out.
 *
 * @module
 */

import {
  type CallToolResult,
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { readForeignObject } from '../../domain/wire/foreign.ts';
import { isObject, RESULT_LIMITS } from '../../domain/wire/json.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { HandlerFailure, NoEffect } from '../../service/author/handler.ts';
import { UPSTREAM_FAILED } from '../../service/http-api/http-answer.ts';
import type { UpstreamCall } from '../upstream.ts';
import { faultIn, UpstreamFault } from './fault.ts';
import { type Secrets, visibleLine } from './foreign-text.ts';

/** Characters of the text of an upstream in a failure. */
const TEXT_LENGTH_MAX = 500;
const NAME_LENGTH_MAX = 128;

/** Returns the result of a tool as the result of a capability. Throws the failure where the tool reports an error. */
export function toolResult(
  { tool: { name }, isRead }: Pick<UpstreamCall, 'tool' | 'isRead'>,
  result: CallToolResult,
  secrets: Secrets,
): JsonObject {
  const tool = visibleLine(name, NAME_LENGTH_MAX);
  // A read that fails has changed nothing.
  const Failed = isRead ? NoEffect : HandlerFailure;
  if (result.isError) {
    const text = visibleLine(secrets.inText(contentText(result)), TEXT_LENGTH_MAX);
    throw new Failed(
      `Cannot complete "${tool}": the tool reports an error${text && `: ${text}`}`,
      UPSTREAM_FAILED.type,
    );
  }
  const reading = readForeignObject(contentOf(result), RESULT_LIMITS);
  if ('value' in reading) return secrets.inValue(reading.value);
  throw new Failed(
    `Cannot answer with the result of "${tool}": ${reading.fault}${isRead ? '' : '. The tool ran: do not repeat the call'}`,
    UPSTREAM_FAILED.type,
  );
}

function contentOf({ content, structuredContent }: CallToolResult): unknown {
  if (structuredContent === undefined) return { content };
  return isObject(structuredContent) ? structuredContent : { result: structuredContent };
}

/** The texts of a result, as much of them as a failure can show. */
function contentText({ content }: CallToolResult): string {
  return content
    .slice(0, TEXT_LENGTH_MAX)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join(' ');
}

/** What is known about a call that failed. */
export interface FailedCall {
  readonly name: string;
  readonly isRead: boolean;
  readonly deadlineMs: number;
  readonly secrets: Secrets;
}

/** The failure for what a call of the client threw. */
export function callFailure(error: unknown, call: FailedCall): NoEffect | HandlerFailure {
  const tool = visibleLine(call.name, NAME_LENGTH_MAX);
  if (error instanceof ProtocolError) return protocolFailure(tool, error, call.secrets);
  const fault = upstreamFault(error, call.deadlineMs);
  const detail = `Cannot complete "${tool}": ${fault.message}`;
  if (fault.isAnswered) {
    return new HandlerFailure(
      `${detail}. The tool ran: do not repeat the call`,
      UPSTREAM_FAILED.type,
    );
  }
  if (!fault.mayHaveActed || call.isRead) return new NoEffect(detail, 'service_unavailable');
  return new HandlerFailure(`${detail}. The tool may have acted`, 'outcome_unknown');
}

/** Codes of JSON-RPC by which a server says that it did not run the request. */
const NOT_RUN: ReadonlySet<number> = new Set([-32_700, -32_600, -32_601, -32_602]);

/** An answer of the protocol instead of a result. */
function protocolFailure(
  tool: string,
  error: ProtocolError,
  secrets: Secrets,
): NoEffect | HandlerFailure {
  const text = visibleLine(secrets.inText(error.message), TEXT_LENGTH_MAX);
  const detail = `Cannot complete "${tool}": the upstream refuses with code ${error.code}: ${text}`;
  return NOT_RUN.has(error.code)
    ? new NoEffect(detail, UPSTREAM_FAILED.type)
    : new HandlerFailure(detail, UPSTREAM_FAILED.type);
}

/** What went wrong, in our own words. */
export function upstreamFault(error: unknown, deadlineMs: number): UpstreamFault {
  const own = faultIn(error);
  if (own) return own;
  if (error instanceof SdkHttpError) return statusFault(error.status);
  if (error instanceof InsufficientScopeError) return statusFault(403);
  if (error instanceof ProtocolError) {
    return new UpstreamFault(`it refuses with code ${error.code}`, { mayHaveActed: true });
  }
  const code = error instanceof SdkError ? error.code : undefined;
  if (code === SdkErrorCode.ConnectionClosed || code === SdkErrorCode.NotConnected) {
    const mayHaveActed = code === SdkErrorCode.ConnectionClosed;
    return new UpstreamFault('the connection ended', { mayHaveActed, isLost: true });
  }
  if (code === SdkErrorCode.RequestTimeout) {
    return new UpstreamFault(`no answer in ${deadlineMs} ms`, { mayHaveActed: true });
  }
  if (code === SdkErrorCode.UnsupportedResultType) {
    return new UpstreamFault('the tool asks for more input, which a guard does not give', {
      mayHaveActed: true,
      isAnswered: true,
    });
  }
  return new UpstreamFault('it answered with something that is not MCP', { mayHaveActed: true });
}

/** Statuses by which a server says that it has forgotten the session. */
const SESSION_GONE: ReadonlySet<number> = new Set([400, 404, 410]);

function statusFault(status: number): UpstreamFault {
  // Below 500 the server refused the request. Above, a proxy may have passed it on.
  return new UpstreamFault(`it answered with HTTP status ${status}`, {
    mayHaveActed: status >= 500 || status === 408,
    isLost: SESSION_GONE.has(status),
  });
}
