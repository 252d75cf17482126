/**
 * Wire primitives: the schemas of names, times, amounts and ids.
 *
 * Syntax only. Whether a principal may act or a scope covers another is decided in
 * `domain/`.
 *
 * @module
 */

import * as z from 'zod';

/** Decision of the limits page: ids of callers are counted in code points, not UTF-16 units. */
export const ID_LENGTH_MAX = 256;

/** In characters. A token in a header carries up to 64 scopes. */
export const SCOPE_LENGTH_MAX = 128;

/** Keeps a token below the 8 KiB that a header may take. */
export const SCOPES_PER_TOKEN_MAX = 64;

/** Long enough for a sentence about one decision; the log stores it. */
export const REASON_LENGTH_MAX = 1_000;

/** An optional field of a request. Decision 01: `null` means the same as leaving it out. */
export function optional<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

export const Timestamp = z.iso.datetime();

const DATE = z.regexes.date.source.slice(1, -1);
const MOMENT = new RegExp(
  `^${DATE}(?:T(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d{1,9})?)?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)?)?$`,
);

const FIRST_MOMENT = Date.parse('0000-01-01T00:00:00Z');
const LAST_MOMENT = Date.parse('9999-12-31T23:59:59.999Z');

/** A time as a caller writes it: a date, minutes or seconds. Without a zone it is UTC. */
export const Moment = z
  .string()
  .regex(MOMENT, 'expected a moment such as "2026-12-01" or "2026-12-01T09:30:00Z"')
  .transform((text) => {
    const isDay = !text.includes('T');
    // JavaScript reads a time without a zone as local time.
    const hasZone = isDay || /(?:Z|[+-]\d\d:\d\d)$/.test(text);
    const time = Date.parse(hasZone ? text : `${text}Z`);
    // An offset can lead out of the years that a timestamp can have.
    return new Date(Math.min(Math.max(time, FIRST_MOMENT), LAST_MOMENT)).toISOString();
  });

/** Syntax only; `domain/values/duration.ts` reads the length. */
export const Duration = z
  .string()
  .regex(
    /^(?:P(?=[\dT])[\dDTHMSW.]+|\d+(?:ms|s|m|h|d))$/,
    'expected a duration such as "PT15M" or "24h"',
  );

/** RFC 6749 scope-token: printable ASCII without space, quote and backslash. */
export const Scope = z
  .string()
  .max(SCOPE_LENGTH_MAX)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'expected scope characters (RFC 6749), no spaces');

export const PrincipalClass = z.enum(['human', 'agent', 'service', 'oidc']);
export type PrincipalClass = z.infer<typeof PrincipalClass>;

const CLASSES = PrincipalClass.options.join('|');

/** Matches both cases without a flag, because a pattern of JSON Schema has no flags. */
const ANY_CASE_CLASSES = CLASSES.replaceAll(
  /[a-z]/g,
  (letter) => `[${letter}${letter.toUpperCase()}]`,
);

/** One line without characters that are not drawn. */
export const VISIBLE_LINE = /^[^\p{C}\p{Zl}\p{Zp}]*$/u;

/**
 * Refused in a name: all of category C (control, format, surrogate, private, unassigned) and Z (spaces
 * and separators), whatever else is drawn as nothing (fillers, variation selectors), the star, because
 * a name that holds one would read as a pattern, and a class at its beginning.
 */
export const PRINCIPAL = new RegExp(
  `^(?:${CLASSES}):(?!(?:${ANY_CASE_CLASSES}):)[^\\p{C}\\p{Z}\\p{Default_Ignorable_Code_Point}*]{1,256}$`,
  'u',
);

/** All of the rule but what a pattern cannot say, which `domain/authority/principal.ts` adds: forms of Unicode. */
export const Principal = z
  .string()
  .regex(
    PRINCIPAL,
    'expected "human:", "agent:", "service:" or "oidc:" and a name of at most 256 visible characters, without "*"',
  );

/** The named classes; an issuer may configure others, and an unknown one has the disclosure of `default`. */
export const CallerClass = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'expected a lower-case word');

/**
 * A text of a caller. Its length counts code points, as in JSON Schema. What a schema cannot express
 * is in its metadata, from which the API description is made.
 */
export function boundedText(most: number, least = 1) {
  return z
    .string()
    .min(least)
    .refine((words) => words.length <= most || [...words].length <= most, {
      message: `expected at most ${most} characters`,
    })
    .meta({ maxLength: most });
}

/** A correlation id of the caller: stored and echoed, never interpreted. */
export const CallerId = boundedText(ID_LENGTH_MAX);

/** As `CallerId`. The specification sets no least length, so it may be empty. */
export const ClientReference = boundedText(ID_LENGTH_MAX, 0);

/** Names a capability in paths, scopes (`approver:<capability>`) and tool lists. */
export const CapabilityName = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/,
    'expected a letter, then letters, digits, "_", "." or "-"',
  );

/** A name of an input, an output field or a composition step. */
export const FieldName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'expected a letter, then letters, digits, "_" or "-"');

export const ServiceId = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}$/,
    'expected letters, digits, "_", ".", ":", "/" or "-"',
  );

/** Semantic version 2.0.0, whole: pre-release parts without leading zeros, and build metadata. */
export const SemanticVersion = z
  .string()
  .max(64)
  .regex(
    /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/,
    'expected "1.2.3"',
  );

/** In characters: the header `Prefer`. */
export const PREFER_LENGTH_MAX = 256;

export const Digest = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'expected "sha256:" and 64 hex digits');

export const HexHash = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 lower-case hex digits');

/** Detached compact JWS: header, nothing, ES256 signature. */
export const DetachedJws = z
  .string()
  .regex(/^[A-Za-z0-9_-]{2,512}\.\.[A-Za-z0-9_-]{86}$/, 'expected a detached ES256 signature');

export const InvocationId = z
  .string()
  .regex(/^inv-[0-9a-f]{12}$/, 'expected "inv-" and 12 hex digits');
export const TokenId = z.string().regex(/^tok_[0-9a-f]{32}$/, 'expected a token id');
export const ApprovalRequestId = z
  .string()
  .regex(/^apr_[0-9a-f]{32}$/, 'expected an approval request id');
export const GrantId = z.string().regex(/^gnt_[0-9a-f]{32}$/, 'expected a grant id');
export const CheckpointId = z.string().regex(/^ckpt-[0-9a-f]{32}$/, 'expected a checkpoint id');
export const EntryId = z.string().regex(/^ent_[0-9a-f]{32}$/, 'expected an entry id');

/** The form of ISO 4217 codes only: stored amounts stay readable if a later table lacks their code. */
export const Currency = z.string().regex(/^[A-Z]{3}$/, 'expected an ISO 4217 code such as "USD"');

/** Syntax only; the decimals a currency has are checked by `domain/values/money.ts`. */
export const Amount = z.number().nonnegative();

/**
 * An amount of a currency, such as 9.50 USD.
 *
 * @example
 * import type { Money } from 'writ';
 *
 * const fee: Money = { currency: 'USD', amount: 9.5 };
 */
export const Money = z.strictObject({ currency: Currency, amount: Amount });
export type Money = z.infer<typeof Money>;

export const Budget = z.strictObject({ currency: Currency, max_amount: Amount });
export type Budget = z.infer<typeof Budget>;

/**
 * Any JSON object whose keys we do not name.
 *
 * @example
 * import type { JsonObject } from 'writ';
 *
 * const preview: JsonObject = { action: 'Refund', lines: [{ item: 'lamp', amount: 20 }] };
 */
export const JsonObject = z.record(z.string(), z.unknown());
export type JsonObject = z.infer<typeof JsonObject>;

export const Reason = boundedText(REASON_LENGTH_MAX)
  .regex(/\S/, 'expected a reason')
  .transform((reason) => reason.trim());

/** A request without fields. Other fields are ignored. */
export const Nothing = z.object({});

/** A page size: a positive whole number, as a number or as a query's text, cut to `most`. */
export function pageSize(most: number, fallback: number) {
  const digits = z.string().regex(/^[1-9]\d{0,14}$/, 'expected a positive whole number');
  return optional(z.union([z.int().positive(), digits.transform(Number)])).transform((limit) =>
    Math.min(limit ?? fallback, most),
  );
}

/** As a JSON value, or as the text of a query. */
export const Flag = z.union([
  z.boolean(),
  z.enum(['true', 'false']).transform((text) => text === 'true'),
]);

/** An opaque cursor of an earlier page. */
export const Cursor = cursorOf(ID_LENGTH_MAX);

export function cursorOf(lengthMax: number) {
  return z
    .string()
    .max(lengthMax)
    .regex(/^[A-Za-z0-9_-]+$/, 'expected a cursor from an earlier page');
}

export const NextCursor = nextOf(Cursor);

/** Decision 17: a page is bounded in bytes too, so a short page does not mean the end. */
export function nextOf(cursor: typeof Cursor) {
  return cursor
    .nullable()
    .describe(
      'The cursor of the next page, or null when nothing is left. A page may have fewer items than its limit, or none.',
    );
}

/**
 * A JSON Schema about some fields of an object, as a condition or a consequence. It allows other fields
 * explicitly, because some tools treat a list of properties as complete.
 */
export function partialSchema<Properties extends object>(
  properties: Properties,
  required: readonly string[] = [],
) {
  return {
    properties,
    ...(required.length > 0 && { required: [...required] }),
    unevaluatedProperties: true,
  };
}
