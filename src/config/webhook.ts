/**
 * Settings of outgoing calls: addresses, and the targets of webhooks.
 *
 * @module
 */

import * as z from 'zod';
import { bareHost, isLoopback } from '../domain/values/host.ts';

/** Requires TLS, because notifications contain details of approval requests. */
export const PrivateUrl = z
  .url({ protocol: /^https?$/, abort: true })
  .refine((text) => text.startsWith('https:') || isLoopback(bareHost(new URL(text))), {
    message: 'expected https (http is accepted on a loopback address only)',
  });

/** An address that this service calls. Compared as exact text, never normalized. */
export const OutsideUrl = PrivateUrl.refine((text) => !/[?#@]/.test(text), {
  message: 'expected no query, fragment or user',
});

/** Standard Webhooks: 24 to 64 random bytes in base64. */
const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 64;

const Secret = z.string().refine(isSecret, {
  message: `expected "whsec_" and ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} bytes in base64`,
});

/** One target of notifications about approval requests. */
export const Webhook = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'expected a lower-case word'),
  url: OutsideUrl,
  secret: Secret,
  events: z
    .array(z.enum(['requested', 'granted', 'denied', 'expired']))
    .min(1)
    .default(['requested', 'granted', 'denied', 'expired']),
  allow_inside: z.boolean().default(false),
});

/** The store identifies a target by its name, so names are unique. */
export const Webhooks = z
  .array(Webhook)
  .refine((targets) => new Set(targets.map(({ name }) => name)).size === targets.length, {
    message: 'expected a name of its own for each target',
  });

function isSecret(text: string): boolean {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1] ?? '';
  const bytes = Buffer.from(encoded, 'base64');
  const isWhole = bytes.toString('base64') === encoded;
  return isWhole && bytes.length >= SECRET_BYTES_MIN && bytes.length <= SECRET_BYTES_MAX;
}
