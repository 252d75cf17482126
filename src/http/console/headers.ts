/**
 * Headers of the console: what its page may load and do, and who may use it.
 *
 * The page loads scripts and styles of this service only, runs no text as code, stands in no frame, and is not
 * reachable from the window of another origin.
 *
 * @module
 */

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const COMMON = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin',
};

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': POLICY,
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy':
    'camera=(), microphone=(), geolocation=(), publickey-credentials-get=(self), publickey-credentials-create=(self)',
};

export const ASSET_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  'cache-control': 'public, max-age=31536000, immutable',
};

export const API_HEADERS: Readonly<Record<string, string>> = {
  ...COMMON,
  'cache-control': 'no-store',
};
