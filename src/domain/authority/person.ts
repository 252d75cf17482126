/**
 * People by their addresses. Apart from principals, so that pages need not load their rules.
 *
 * @module
 */

/** The principal of a person, as an identity provider would name it. A text with a colon is a principal already. */
export function personOfAddress(text: string): string {
  if (text.includes(':')) return text;
  return `human:${text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())}`;
}
