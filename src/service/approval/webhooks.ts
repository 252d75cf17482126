/**
 * Webhooks: sends stored notices to their targets, until each is delivered or given up. A target with a secret gets
 * them signed as in Standard Webhooks.
 *
 * A notice is delivered at least once while its target answers. Its id stays the same, so a
 * receiver can drop duplicates. Targets do not wait for each other: each gets a few notices at a
 * time. Every attempt goes through `outbound.ts`, which checks the address when it connects and
 * follows no redirect. The path of an address may be a credential, so no message has it.
 *
 * @module
 */

import { createHmac } from 'node:crypto';
import { bareHost } from '../../address/host.ts';
import type { Delivery } from '../../protocol/operator.ts';
import type { DeliveryRecord } from '../../storage/port/records.ts';
import type { DeliveryResult } from '../../storage/port/store.ts';
import { operatorList } from '../authority/freeze.ts';
import type { Answer, Ask } from '../operations/operations.ts';
import type { ServiceParts, Watcher } from '../operations/parts.ts';
import type { OutboundRequest } from '../outbound/outbound.ts';
import { type Repeated, startRepeating } from '../pace/repeated.ts';

/**
 * In milliseconds: how often the store is asked for due notices. Notices of this process are sent
 * at once.
 */
const LOOK_MS = 2_000;

/** In milliseconds. A slower receiver should answer first and work later. */
const SEND_TIMEOUT_MS = 10_000;

/** In milliseconds: longer than one attempt, so that no other process sends at the same time. */
const LEASE_MS = 60_000;

/** Notices sent to one target at the same time. */
const BATCH = 8;

/** Only the status of an answer is used. */
const ANSWER_BYTES_MAX = 65_536;

/**
 * Seconds to wait after each failed attempt: about three days in all, then the notice is given up.
 */
const BACKOFF_SECONDS = [5, 30, 120, 600, 3_600, 18_000, 36_000, 86_400, 86_400];

/** In milliseconds: a receiver that asks for a longer pause is asked again after this one. */
const RETRY_AFTER_MAX_MS = 86_400_000;

/** Bounds the list that operators read. */
const DELIVERIES_SHOWN_MAX = 1_000;
const DELIVERIES_READ_MAX = 32;

export interface WebhookTiming {
  readonly lookMs?: number;
  readonly timeoutMs?: number;
  /** Resolves names; by default as the system does. */
  readonly resolve?: OutboundRequest['resolve'];
}

type SenderParts = Pick<ServiceParts, 'config' | 'store' | 'log' | 'platform' | 'callOut'> &
  Pick<Watcher, 'undelivered'>;
type Target = ServiceParts['config']['webhooks'][number];

/** Starts sending. Without a target nothing runs and the store is not asked. */
export function startWebhooks(parts: SenderParts, timing: WebhookTiming = {}): Repeated {
  if (parts.config.webhooks.length === 0) {
    return { nudge: () => undefined, stop: () => Promise.resolve() };
  }
  const onError = (error: unknown) => parts.log.error({ err: error }, 'webhooks failed');
  const busy = new Map<string, Promise<void>>();
  const send = (target: string, due: readonly DeliveryRecord[]) => {
    const sending = Promise.all(due.map((delivery) => sendOne(parts, delivery, timing)))
      .then(() => undefined, onError)
      .finally(() => {
        busy.delete(target);
        looks.nudge();
      });
    busy.set(target, sending);
  };
  const look = () => sendDue(parts, busy, send);
  const looks = startRepeating(parts.platform, look, timing.lookMs ?? LOOK_MS, onError);
  return {
    nudge: looks.nudge,
    async stop() {
      await looks.stop();
      await Promise.all(busy.values());
    },
  };
}

export function listDeliveries(parts: ServiceParts, ask: Ask): Promise<Answer> {
  return operatorList(parts, ask, {
    name: 'deliveries',
    limit: DELIVERIES_SHOWN_MAX,
    readMax: DELIVERIES_READ_MAX,
    read: (limit, last) => parts.store.listDeliveries(limit, last?.delivery_id),
    view: viewOf,
  });
}

/** Starts the due notices of every idle target, without waiting for them. */
async function sendDue(
  { store }: SenderParts,
  busy: ReadonlyMap<string, unknown>,
  send: (target: string, due: readonly DeliveryRecord[]) => void,
): Promise<void> {
  for (;;) {
    const now = store.now();
    const leaseUntil = new Date(now.getTime() + LEASE_MS);
    const due = await store.takeDeliveries(now, leaseUntil, BATCH, [...busy.keys()]);
    if (due.length === 0) return;
    for (const target of new Set(due.map((delivery) => delivery.target))) {
      send(
        target,
        due.filter((delivery) => delivery.target === target),
      );
    }
  }
}

/** Makes one attempt and records it. If that fails, the notice is sent again after the lease. */
async function sendOne(
  parts: SenderParts,
  delivery: DeliveryRecord,
  timing: WebhookTiming,
): Promise<void> {
  const target = parts.config.webhooks.find(({ name }) => name === delivery.target);
  const missed = target
    ? await attempt(parts, target, delivery, timing)
    : { why: 'Cannot send: no such target is configured any more' };
  const result = resultOf(parts.store.now(), delivery, missed);
  const { delivery_id, target: name } = delivery;
  if (missed !== undefined) {
    const facts = { delivery_id, target: name, state: result.state, why: missed.why };
    parts.log.warn(facts, 'a webhook was not delivered');
    parts.undelivered(result.state);
  }
  await parts.store.finishDelivery(result);
}

/** Why an attempt failed, and how long the receiver asks to wait. */
interface Missed {
  readonly why: string;
  readonly retryAfterMs?: number | undefined;
}

/** `undefined` when the receiver accepted the notice. */
async function attempt(
  { store, callOut }: SenderParts,
  target: Target,
  { delivery_id, payload }: DeliveryRecord,
  { timeoutMs = SEND_TIMEOUT_MS, resolve }: WebhookTiming,
): Promise<Missed | undefined> {
  const { url } = target;
  if (url === undefined) return { why: 'Cannot send: the target has no address' };
  const body = JSON.stringify(payload);
  const timestamp = String(Math.floor(store.now().getTime() / 1_000));
  try {
    const { status, headers } = await callOut({
      url,
      method: 'POST',
      headers: {
        ...target.headers,
        'content-type': 'application/json',
        'webhook-id': delivery_id,
        'webhook-timestamp': timestamp,
        ...(target.secret !== undefined && {
          'webhook-signature': signatureOf(target.secret, `${delivery_id}.${timestamp}.${body}`),
        }),
      },
      body,
      timeoutMs,
      bytesMax: ANSWER_BYTES_MAX,
      insideHosts: target.allow_inside ? [bareHost(new URL(url))] : [],
      resolve,
    });
    if (status >= 200 && status < 300) return undefined;
    const retryAfterMs = retryAfterOf(headers['retry-after'], store.now());
    return { why: `Cannot deliver: it answered ${status}`, retryAfterMs };
  } catch (error) {
    return { why: withoutSecrets((error as Error).message, target) };
  }
}

/** RFC 9110: seconds or a date. */
function retryAfterOf(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now.getTime();
  return ms > 0 ? Math.min(ms, RETRY_AFTER_MAX_MS) : undefined;
}

/** Messages of Node name the host at most. This holds also for one that would name more. */
function withoutSecrets(message: string, { url = '', headers = {} }: Target): string {
  if (!URL.canParse(url)) return 'Cannot send: the address of the target is not a URL';
  const { pathname, search } = new URL(url);
  const secrets = [pathname + search, pathname, search, ...Object.values(headers)];
  return secrets
    .filter((secret) => secret.length > 1)
    .reduce((text, secret) => text.replaceAll(secret, '[secret]'), message);
}

function signatureOf(secret: string, text: string): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
}

function resultOf(
  now: Date,
  { delivery_id, attempts }: DeliveryRecord,
  missed: Missed | undefined,
): DeliveryResult {
  if (missed === undefined) return { delivery_id, state: 'delivered', now };
  const { why: error, retryAfterMs = 0 } = missed;
  const wait = BACKOFF_SECONDS[attempts];
  if (wait === undefined) return { delivery_id, state: 'failed', error, now };
  const nextAttempt = new Date(now.getTime() + Math.max(wait * 1_000, retryAfterMs));
  return { delivery_id, state: 'pending', error, nextAttempt, now };
}

function viewOf(record: DeliveryRecord): Delivery {
  return {
    delivery_id: record.delivery_id,
    event: record.event,
    approval_request_id: record.approval_request_id,
    target: record.target,
    state: record.state,
    attempts: record.attempts,
    last_error: record.last_error ?? null,
    next_attempt_at: record.next_attempt_at?.toISOString() ?? null,
    delivered_at: record.delivered_at?.toISOString() ?? null,
  };
}
