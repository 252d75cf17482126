/**
 * Settings of outgoing calls: addresses, and the targets of webhooks.
 *
 * @module
 */

import * as z from 'zod';
import { bareHost, isLoopback } from '../address/host.ts';

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

/** The name of an environment variable that has a secret. */
export const VariableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable')
  // A mistake would otherwise send a key of this service to somebody else.
  .refine((name) => !name.startsWith('WRIT_'), {
    message: 'expected another name: variables that begin with WRIT_ are settings',
  });

/** An address of a mailbox, without a name, spaces or control characters. */
const Mailbox = z
  .string()
  .max(254)
  .regex(
    /^[^\s@<>,;"\\\p{C}]{1,64}@[^\s@<>,;"\\\p{C}]+$/u,
    'expected an address such as desk@example.com',
  );

const FieldName = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, 'expected the name of a field');

/** How a gateway for email takes a message. */
export const EmailForm = z.strictObject({
  from: Mailbox,
  to: z.array(Mailbox).min(1).max(50),
  /** What the gateway calls the five fields of a message. */
  fields: z
    .strictObject({
      from: FieldName.default('from'),
      to: FieldName.default('to'),
      subject: FieldName.default('subject'),
      text: FieldName.default('text'),
      html: FieldName.default('html'),
    })
    .prefault({}),
  /** Whether the receivers are a list, or one text with commas. */
  to_as: z.enum(['list', 'text']).default('list'),
});
export type EmailForm = z.output<typeof EmailForm>;

/** Headers that the service or the connection sets. */
const OWN_HEADERS =
  /^(?:host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|cookie|proxy-.*|webhook-.*|user-agent|accept)$/;

/** Why a header cannot come from the environment. */
function headerFault(name: string): string | undefined {
  if (!/^[a-z][a-z0-9-]{0,63}$/.test(name)) return 'expected the name of a header in lower case';
  return OWN_HEADERS.test(name) ? 'expected another header: the service sets this one' : undefined;
}

/** One target of notifications about approval requests. */
export const Webhook = z
  .strictObject({
    name: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'expected a lower-case word'),
    format: z.enum(['standard', 'slack', 'email']).default('standard'),
    url: OutsideUrl.optional(),
    url_env: VariableName.optional(),
    secret: Secret.optional(),
    header_env: z.record(z.string(), VariableName).optional(),
    email: EmailForm.optional(),
    events: z
      .array(z.enum(['requested', 'granted', 'denied', 'expired']))
      .min(1)
      .default(['requested', 'granted', 'denied', 'expired']),
    allow_inside: z.boolean().default(false),
  })
  .superRefine(({ format, url, url_env, secret, email, header_env = {} }, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if ((url === undefined) === (url_env === undefined)) {
      refuse('url', 'expected either "url" or "url_env"');
    }
    if (format === 'standard' && secret === undefined) {
      refuse('secret', 'expected a secret: receivers of the format "standard" verify it');
    }
    for (const name of Object.keys(header_env)) {
      const fault = headerFault(name);
      if (fault !== undefined) refuse('header_env', fault);
    }
    if ((format === 'email') !== (email !== undefined)) {
      refuse('email', 'expected "email" for the format "email", and for no other');
    }
  });

/** With what the environment has. A header may be a credential. */
export interface WebhookTarget extends z.output<typeof Webhook> {
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * Puts addresses and headers in place that the environment has. A variable that is not set, or does not fit, is a
 * fault; no message repeats what it has.
 */
export function withTargetSecrets(
  webhooks: readonly z.output<typeof Webhook>[],
  environment: Readonly<Record<string, string | undefined>>,
): { webhooks: WebhookTarget[]; faults: string[] } {
  const faults: string[] = [];
  const read = (name: string, variable: string, isFit: (text: string) => boolean) => {
    const value = environment[variable] ?? '';
    if (value !== '' && isFit(value)) return value;
    const why = value === '' ? 'is not set' : 'does not have what is expected there';
    faults.push(`Cannot notify "${name}": the variable "${variable}" ${why}`);
    return '';
  };
  const filled = webhooks.map((target) => {
    const { name, url_env, header_env } = target;
    const headers = Object.entries(header_env ?? {}).map(([header, variable]) => [
      header,
      read(name, variable, (text) => /^[\x20-\x7e]+$/.test(text)),
    ]);
    const url =
      url_env === undefined
        ? target.url
        : read(name, url_env, (text) => SecretUrl.safeParse(text).success);
    return { ...target, url, ...(headers.length > 0 && { headers: Object.fromEntries(headers) }) };
  });
  return { webhooks: filled, faults };
}

/** May have a query: some gateways take their key there. */
const SecretUrl = PrivateUrl.refine((text) => !/[#@\s]/.test(text));

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
