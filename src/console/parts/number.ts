/**
 * Numbers for people, with all their digits.
 *
 * @module
 */

/** "1,234.56789". Rounds nothing; a number with an exponent stays as it is. */
export function numberWords(value: number): string {
  const [, sign, whole = '', rest = ''] = /^(-?)(\d+)(\.\d+)?$/.exec(String(value)) ?? [];
  if (whole === '') return String(value);
  return `${sign}${whole.replace(/\B(?=(?:\d{3})+$)/g, ',')}${rest}`;
}

/** The currency of each parameter that is an amount, by its name. */
export type MoneyInputs = ReadonlyMap<string, string>;
