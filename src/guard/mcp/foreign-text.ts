/**
 * Text of an upstream on its way to a person, a log or a caller: bounded, visible, and without the secrets that
 * the upstream was given.
 *
 * An upstream may repeat a credential in an error, on standard error or in a result. Values that were passed to it
 * are replaced before anything is cut, because half a credential would not be recognised.
 *
 * @module
 */

import { visibleText } from '../../domain/wire/visible-text.ts';
import { scrubbed } from '../../service/http-api/http-answer.ts';
import { credentialTexts } from '../../service/http-api/http-call.ts';

/** Replaces the secrets that one upstream was given. */
export interface Secrets {
  /** For messages: replaces every value that has at least four characters. */
  inText(text: string): string;
  /** For results: replaces what looks like a secret, so that ordinary settings do not change data. */
  inValue<Value>(value: Value): Value;
}

/** Characters. A shorter value is found in ordinary words. */
const VALUE_LENGTH_MIN = 4;

/** Characters. Credentials are longer. */
const SECRET_LENGTH_MIN = 8;

/** Short words of letters, paths, and addresses without a password: settings, not credentials. */
const SETTING = /^(?:[A-Za-z]{1,15}|[~.]{0,2}\/[^\s]*|https?:\/\/[^\s@?]*)$/;

export function secretsOf(values: readonly string[]): Secrets {
  // "Bearer abc" is two parts, and an upstream repeats the second one alone.
  const parts = [...new Set(values.flatMap((value) => [value, ...value.split(/\s+/)]))]
    .filter((part) => part.length >= VALUE_LENGTH_MIN && !/^(bearer|basic)$/i.test(part))
    .sort((one, other) => other.length - one.length);
  const likely = parts.filter((part) => part.length >= SECRET_LENGTH_MIN && !SETTING.test(part));
  return {
    inText: (text) => scrubbed(text, parts),
    inValue: (value) => scrubbed(value, likely),
  };
}

/** The secrets of values that are credentials by their place, such as a header: no such value is a setting. */
export function credentialSecrets(values: readonly string[]): Secrets {
  const { inText } = secretsOf(values);
  const texts = values.flatMap((value) => credentialTexts(value));
  return {
    inText: (text) => inText(scrubbed(text, texts)),
    inValue: (value) => scrubbed(value, texts),
  };
}

/** Replaces the secrets of both. */
export function bothSecrets(one: Secrets, other: Secrets): Secrets {
  return {
    inText: (text) => one.inText(other.inText(text)),
    inValue: (value) => one.inValue(other.inValue(value)),
  };
}

/** UTF-16 units that are looked at for each one that is shown: white space is drawn together first. */
const LOOKED_AT_FACTOR = 4;

/** One line of at most `lengthMax` characters, without characters that a person cannot see. */
export function visibleLine(text: string, lengthMax: number): string {
  const line = text
    .slice(0, lengthMax * LOOKED_AT_FACTOR)
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...line];
  const isCut = characters.length > lengthMax || text.length > lengthMax * LOOKED_AT_FACTOR;
  return visibleText(characters.slice(0, lengthMax).join('')) + (isCut ? '…' : '');
}
