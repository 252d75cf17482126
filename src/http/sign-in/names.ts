/**
 * People, clients and browsers in the words that a person knows them by.
 *
 * A text that has no such words is shown as it is. Browsers and clients name themselves, so these words prove
 * nothing.
 *
 * @module
 */

import { foreignHtml } from '../page/frame.ts';

/** `ann@example.com` for `human:ann@example.com`. No address begins like a class of principals. */
export function personName(principal: string): string {
  return principal.replace(/^human:/, '');
}

/** The id of a client that registered itself: it contains the registration, and no address. */
const REGISTERED = /^reg\.[\w-]+\.[\w-]+\.[\w-]+$/;

/** HTML: which client it is, beyond the name that it claims. */
export function clientWords(id: string): string {
  if (REGISTERED.test(id)) return 'It registered itself here, with this name and no address.';
  return `<code>${foreignHtml(id, ID_LENGTH_MAX)}</code>`;
}

/** Characters of a client id that are shown. An address is seldom longer. */
const ID_LENGTH_MAX = 400;

/** The first that fits: most browsers also claim to be those below them. */
const BROWSERS: readonly [claim: RegExp, name: string][] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS)\//, 'Chrome'],
  [/\bVersion\/\S+ (?:Mobile\/\S+ )?Safari\//, 'Safari'],
];

const SYSTEMS: readonly [claim: RegExp, name: string][] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** `Chrome on Linux`, for a text that browsers send; any other text as it is. */
export function browserWords(userAgent: string): string {
  const [browser, system] = [BROWSERS, SYSTEMS].map(
    (list) => list.find(([claim]) => claim.test(userAgent))?.[1],
  );
  return userAgent.startsWith('Mozilla/5.0 (') && browser && system
    ? `${browser} on ${system}`
    : userAgent;
}
