/**
 * Redaction: removes credentials from text on its way to a log.
 *
 * Messages of libraries quote addresses, headers and requests. Text that looks like a credential is
 * replaced, even where it is none: a missing detail can be found elsewhere, but a leaked credential cannot
 * be taken back.
 *
 * @module
 */

import { foreignText } from './foreign.ts';

/** UTF-16 units that are searched: a credential is shorter, and the patterns take time. */
const LOOKED_AT_MAX = 4_096;

const SECRET = '[secret]';

/** At most `lengthMax` UTF-16 units of a foreign text, with credentials replaced. */
export function redactedText(value: unknown, lengthMax: number): string {
  if (typeof value !== 'string') return foreignText(value, lengthMax);
  return foreignText(
    redacted(value.length > LOOKED_AT_MAX ? beginningOf(value) : value),
    lengthMax,
  );
}

/** Where a frame of a stack points to: a file of this machine, with line and column. */
const FILE_PLACE = /\(?(?:file:\/\/)?\/[^\s()@?#=]{1,1024}:\d{1,7}:\d{1,7}\)?$/;

/** The frames of a stack. The place of a frame stays as it is, although a folder may have a name like a credential. */
export function redactedFrames(frames: string | undefined, lengthMax: number): string {
  const lines = (frames ?? '')
    .slice(0, lengthMax)
    .split('\n')
    .map((line) => {
      const at = line.search(FILE_PLACE);
      if (at < 0) return redactedText(line, lengthMax);
      return redactedText(line.slice(0, at), lengthMax) + foreignText(line.slice(at), lengthMax);
    });
  return lines.join('\n');
}

/** The same value with every text in it redacted. Only for what was read as JSON. */
export function redactedValue<Value>(value: Value): Value {
  if (typeof value === 'string') return redactedText(value, LOOKED_AT_MAX) as Value;
  if (Array.isArray(value)) return value.map(redactedValue) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, redactedValue(member)]),
  ) as Value;
}

/** Cuts between words, because half a credential would not be recognised. */
function beginningOf(text: string): string {
  let end = LOOKED_AT_MAX;
  while (end > 0 && !/\s/.test(text.charAt(end))) end -= 1;
  return `${text.slice(0, end)}…`;
}

function redacted(text: string): string {
  return text
    .replaceAll(PRIVATE_KEY, SECRET)
    .replaceAll(USER_INFO, `$1${SECRET}@`)
    .replaceAll(SCHEME, `$1 ${SECRET}`)
    .replaceAll(COMPACT_JWS, SECRET)
    .replaceAll(NAMED, (found, name: string, value: string) =>
      isSecretValue(name, value) ? found.slice(0, -value.length) + SECRET : found,
    )
    .replaceAll(KNOWN_PREFIX, SECRET)
    .replaceAll(RUN, (run) => (isRandom(run) ? SECRET : run));
}

const PRIVATE_KEY = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,40}-----)?/g;

/** Up to the last @ of the word: a password may hold one. */
const USER_INFO = /([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s"'`<>]{1,1024}@/gi;

const SCHEME = /\b(bearer|basic|digest|negotiate)\s+[^\s"'`,;]{4,1024}/gi;

const COMPACT_JWS = /\beyJ[\w-]{5,4096}(?:\.[\w-]{0,4096}){0,4}/g;

/** A name that stands before a colon or an equals sign, with or without quotes, and its value. */
const NAMED =
  /([\w.-]{0,64}(?:pass|pwd|secret|token|key|auth|credential|cookie|session|signature)[\w.-]{0,64})["']?\s{0,4}[:=]\s{0,4}["']?([^\s"'`,;&)}\]]{1,1024})/gi;

const ALWAYS_SECRET = /pass|pwd|secret|api[_.-]?key|authorization|cookie/i;

/** "Cannot use the token: it was revoked" is no secret; "token: 6f1a03" is one. */
function isSecretValue(name: string, value: string): boolean {
  return ALWAYS_SECRET.test(name) || value.length >= 20 || /^(?=.*\d).{6,}$/.test(value);
}

const KNOWN_PREFIX =
  /\b(?:sk|pk|rk|ghp|gho|ghs|ghu|ghr|github_pat|glpat|xox[abeprs]|hf|npm|shpat|dop_v1)[_-][\w-]{8,512}|\b(?:AKIA|ASIA|AIza)[\w-]{12,64}/g;

const RUN = /[A-Za-z0-9_+=-]{20,}/g;

/** Letters of both cases with digits, or a long run of letters and digits, is unlikely to be a word. */
function isRandom(run: string): boolean {
  if (!/\d/.test(run)) return false;
  return run.length >= 32 ? /[A-Za-z]/.test(run) : /[a-z]/.test(run) && /[A-Z]/.test(run);
}
