/**
 * Headers of a page that has forms: it loads the icon of the service and nothing else, stands in no frame, and sends its forms to this service. A script runs
 * only by its digest.
 *
 * Chromium applies `form-action` also to the redirect that answers a form. A page whose form may be
 * answered with a redirect to a client must therefore name that client.
 *
 * @module
 */

/**
 * `formTargets` are the places besides this service to which a form may lead, as `formTargetOf` returns
 * them.
 */
export function formPageHeaders(
  hash: string,
  formTargets: readonly string[] = [],
  scriptHash?: string,
): Record<string, string> {
  const unusable = formTargets.find((target) => !TARGET.test(target));
  if (unusable !== undefined) {
    const quoted = JSON.stringify(unusable.slice(0, 100));
    throw new Error(`Cannot allow forms to lead to ${quoted}: expected an origin or a scheme`);
  }
  const policy = [
    "default-src 'none'",
    `style-src '${hash}'`,
    "img-src 'self'",
    ...(scriptHash === undefined ? [] : [`script-src '${scriptHash}'`]),
    ["form-action 'self'", ...formTargets].join(' '),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
    // With "no-referrer" Chromium sends forms with "Origin: null", which says nothing about where they come from.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
  };
}

/** An origin, or a scheme with its colon; nothing that could end the directive. */
const TARGET =
  /^(?:https?:\/\/(?:[a-z0-9.-]+|\*)(?::\d{1,5})?|(?!(?:https?|javascript|vbscript|data|blob|file|about):)[a-z][a-z0-9+.-]*:)$/;

/** The place that a redirect leads to, as the policy names it. */
export function formTargetOf(redirectUri: string): string {
  const { protocol, origin, hostname, port } = new URL(redirectUri);
  if (protocol !== 'http:' && protocol !== 'https:') return protocol;
  // The grammar of the policy has no IPv6 addresses.
  return hostname.startsWith('[') ? `${protocol}//*${port && `:${port}`}` : origin;
}
