/**
 * Replay: a call repeated with the same key gets the stored answer, byte for byte, and nothing
 * runs.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import { digestOf } from '../../domain/wire/canonical.ts';
import type { InvokeAnswer, InvokeRequest, StreamSummary } from '../../protocol/invocation.ts';
import type { IdempotencyRecord } from '../../storage/port/records.ts';
import { type Call, endingEntry } from '../call/call.ts';
import type { TokenCaller } from '../caller/caller.ts';
import type { Answer } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { EventSink } from '../operations/stream.ts';
import { signedBody } from './receipt.ts';

/** The digest that distinguishes two calls with one key: of the parameters as sent. */
export function fingerprintOf(request: InvokeRequest): string {
  return digestOf(request.parameters);
}

/** The key of a call, and the record stored under it. */
export interface KeyRecord {
  readonly key?: string | undefined;
  readonly record?: IdempotencyRecord | undefined;
}

/**
 * A call whose handler asked for approval was admitted, so its key holds the answer
 * `approval_required`. Its continuation may use the same key. It is then stored under the key and
 * the grant.
 */
export function findKeyRecord(
  parts: ServiceParts,
  caller: TokenCaller,
  request: InvokeRequest,
): Promise<KeyRecord> | KeyRecord {
  const { idempotency_key: key, approval_grant } = request;
  const record = caller.loaded.idempotency;
  if (key === undefined || approval_grant === undefined) return { key, record };
  if (!record || askedUnder(record, request) === undefined) return { key, record };
  return continuedKeyRecord(
    parts,
    caller,
    request.capability,
    continuationKey(key, approval_grant),
  );
}

/** The key of a continuation. Keys of callers contain no space, so it is unique. */
export function continuationKey(key: string, grantId: string): string {
  return `${key} ${grantId}`;
}

async function continuedKeyRecord(
  { store }: ServiceParts,
  { token }: TokenCaller,
  capability: string,
  key: string,
): Promise<KeyRecord> {
  const { idempotency } = await store.load({
    tokenId: token.token_id,
    idempotency: { capability, key },
  });
  return { key, record: idempotency };
}

/** The approval request in the stored answer of the same call, if that is its answer. */
export function askedUnder(
  { answer, fingerprint }: IdempotencyRecord,
  request: InvokeRequest,
): string | undefined {
  if (!answer || fingerprint !== fingerprintOf(request)) return undefined;
  const body: InvokeAnswer = JSON.parse(new TextDecoder().decode(answer));
  if (body.success || body.failure.type !== 'approval_required') return undefined;
  return body.failure.approval_request_id;
}

/** The stored answer; `undefined` for a new key. Refuses a key that was used for another call. */
export function replayOf(
  parts: ServiceParts,
  call: Call & { caller: TokenCaller },
  request: InvokeRequest,
  record: IdempotencyRecord | undefined,
): Promise<Answer> | undefined {
  const isReplay = record && request.idempotency_key !== undefined;
  return isReplay ? replayed(parts, call, request, record) : undefined;
}

async function replayed(
  parts: ServiceParts,
  call: Call & { caller: TokenCaller },
  request: InvokeRequest,
  record: IdempotencyRecord,
): Promise<Answer> {
  if (record.fingerprint !== fingerprintOf(request)) {
    const detail = `Cannot use key "${request.idempotency_key}": it was used with other parameters`;
    throw new Refusal(failure('idempotency_mismatch', detail));
  }
  if (!record.answer) {
    const detail = `Cannot answer yet: the first call with key "${request.idempotency_key}" is running`;
    throw new Refusal(
      failure('idempotency_in_progress', detail, { estimated_availability: 'PT1S' }),
    );
  }
  const text = new TextDecoder().decode(record.answer);
  const body: InvokeAnswer = JSON.parse(text);
  const entry = endingEntry(parts, call, {
    entryType: 'replay',
    state: body.success ? 'completed' : 'failed',
    ...(!body.success && { failure: body.failure }),
  });
  await parts.store.append([entry]);
  return {
    body,
    // To a caller that asks for a stream, the answer is replayed as the last event.
    ...(request.stream && { stream: lastEvent(parts, call, body) }),
    text,
    failure: body.success ? undefined : body.failure,
    headers: { 'idempotent-replayed': 'true' },
  };
}

/** The summary of a replay whose first call was not streamed. */
const ONE_EVENT: StreamSummary = {
  response_mode: 'unary',
  events_emitted: 1,
  events_delivered: 1,
  duration_ms: 0,
  client_disconnected: false,
};

function lastEvent(parts: ServiceParts, call: Call, stored: InvokeAnswer) {
  return async (sink: EventSink) => {
    const body = await signedBody(parts, call, stored, true);
    const summarized = { ...body, stream_summary: body.stream_summary ?? ONE_EVENT };
    const json = JSON.stringify({ ...summarized, timestamp: parts.store.now().toISOString() });
    await sink.send(body.success ? 'completed' : 'failed', json);
    return body;
  };
}
