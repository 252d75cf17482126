/**
 * What every page of the service has in common: escaped text, and a policy that lets it load nothing.
 *
 * @module
 */

import { createHash } from 'node:crypto';

/** Any text as the content of an element or of a quoted attribute. */
export function escapeHtml(raw: string): string {
  return raw
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Names the one style or script that a policy lets a page have. */
export function textHash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** Nothing but the page's own style and the icon of the service: no script, no frame, no other request of any kind. */
export function pageHeaders(hash: string): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    `style-src '${hash}'`,
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
}
