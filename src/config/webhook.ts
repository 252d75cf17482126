/**
 * Settings of what the service calls: addresses outside, and the targets of its webhooks.
 *
 * @module
 */

import * as z from 'zod';
import { bareHost, isLoopback } from '../domain/values/host.ts';

/** What is sent there is not for others to read on the way. */
export const PrivateUrl = z
  .url({ protocol: /^https?$/, abort: true })
  .refine((text) => text.startsWith('https:') || isLoopback(bareHost(new URL(text))), {
    message: 'expected https; http is for a loopback address only',
  });

/** An address that this service calls. Compared as exact text, never mended. */
export const OutsideUrl = PrivateUrl.refine((text) => !/[?#@]/.test(text), {
  message: 'expected no query, fragment or user',
});

/** Standard Webhooks: 24 to 64 random bytes in base64. */
const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 64;

const Secret = z.string().refine(isSecret, {
  message: `expected "whsec_" and ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} bytes in base64`,
});

/** Somebody who is told what becomes of approval requests. */
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

/** A target is known by its name, in the store too, so no two may share one. */
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
