/**
 * Redirects: where an authorization answer may go.
 *
 * An answer carries a code, so its address is compared as text: no decoding, no case folding, no default
 * port. One exception: a program on the person's computer listens on a port that it does not know before,
 * so a loopback redirect may have any port (RFC 8252 section 7.3). Knows nothing about clients.
 *
 * @module
 */

/** Characters. Longer addresses do not fit into the headers of common proxies. */
export const REDIRECT_LENGTH_MAX = 2_000;

/** What a person is shown about the receiver of an answer. */
export interface RedirectTarget {
  readonly isLoopback: boolean;
  /** Host and port, or the scheme of a program. */
  readonly host: string;
  /** "This computer 127.0.0.1:53187", "app.example", "The program that opens cursor: links". */
  readonly words: string;
}

/** Why a text may never be registered as a redirect, or `undefined`. */
export function redirectFault(uri: string): string | undefined {
  if (uri.length > REDIRECT_LENGTH_MAX) return `it has more than ${REDIRECT_LENGTH_MAX} characters`;
  if (uri.includes('#')) return 'it has a fragment';
  if (uri.includes('*')) return 'it has a "*": every redirect is registered in full';
  if (!URI_TEXT.test(uri)) return 'it has characters that a URI does not have';
  const scheme = SCHEME.exec(uri)?.[1];
  if (scheme === undefined) return 'it is not absolute, with a scheme in lower case';
  return schemeFault(uri, scheme) ?? queryFault(uri);
}

/** Whether an answer may go to `asked` because `registered` was registered. */
export function matchesRedirect(registered: string, asked: string): boolean {
  if (redirectFault(registered) !== undefined || redirectFault(asked) !== undefined) return false;
  if (registered === asked) return true;
  const [one, other] = [LOOPBACK.exec(registered), LOOPBACK.exec(asked)];
  if (!one || !other) return false;
  return one[1] === other[1] && (one[3] ?? '') === (other[3] ?? '');
}

/** What the consent page shows of a redirect without fault. */
export function redirectHost(uri: string): RedirectTarget {
  const [, , host = ''] = WEB.exec(uri) ?? [];
  if (host === '') {
    const own = `${SCHEME.exec(uri)?.[1] ?? ''}:`;
    const words = `The program that opens ${own} links`;
    return { isLoopback: false, host: own, words };
  }
  const isLoopback = LOOPBACK_HOST.test(host);
  const words = isLoopback ? `This computer ${host}` : host;
  return { isLoopback, host, words };
}

/**
 * The address of an answer: the redirect with more fields in its query. Absent fields are left out. A space
 * is written as `%20`, which every decoder reads; some do not read `+`.
 */
export function answerUrl(
  redirect: string,
  fields: Readonly<Record<string, string | undefined>>,
): string {
  const added = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  if (added.length === 0) return redirect;
  if (!redirect.includes('?')) return `${redirect}?${added.join('&')}`;
  const joint = /[?&]$/.test(redirect) ? '' : '&';
  return `${redirect}${joint}${added.join('&')}`;
}

/** The characters of RFC 3986; "%" only before two hex digits. No space, control, quote or backslash. */
const URI_TEXT = /^(?:[A-Za-z0-9._~:/?#[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+$/;

const SCHEME = /^([a-z][a-z0-9+.-]*):/;

const WEB = /^(https?):\/\/([^/?]+)(?:[/?].*)?$/;

const HOST = /^(?:[a-z0-9.-]+|\[[0-9a-f:]+\])$/;

const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:[1-9][0-9]{0,4})?([/?].*)?$/;

const LOOPBACK_HOST = /^(?:127\.0\.0\.1|\[::1\]|localhost)(?::[0-9]+)?$/;

/** Editors register these schemes although they have no dot. */
const EDITOR_SCHEMES: ReadonlySet<string> = new Set(['cursor', 'vscode', 'vscode-insiders']);

/** Fields of an answer. A redirect that brought its own would make the client read two. */
const ANSWER_FIELDS: ReadonlySet<string> = new Set([
  'code',
  'state',
  'iss',
  'error',
  'error_description',
  'error_uri',
]);

function schemeFault(uri: string, scheme: string): string | undefined {
  if (scheme === 'http' || scheme === 'https') return webFault(uri);
  // RFC 8252 section 7.1: a private-use scheme is a domain name in reverse order. No scheme that a
  // browser runs by itself (javascript, data, file, blob) has a dot.
  if (!scheme.includes('.') && !EDITOR_SCHEMES.has(scheme)) {
    return `its scheme "${scheme}" is not https, nor a private one with a dot such as "com.example.app"`;
  }
  const rest = uri.slice(scheme.length + 1);
  if (!rest.startsWith('/')) return 'its scheme is not followed by a path';
  const authority = /^\/\/([^/?]*)/.exec(rest)?.[1] ?? '';
  return authority.includes('@') ? 'it has a user name' : undefined;
}

function webFault(uri: string): string | undefined {
  const host = WEB.exec(uri)?.[2];
  if (host === undefined) return 'it has no host';
  if (host.includes('@')) return 'it has a user name';
  if (uri.startsWith('http:') && !LOOPBACK.test(uri)) {
    return 'plain http is for this computer only: 127.0.0.1, [::1] or localhost';
  }
  // The parser turns decimal, hexadecimal and escaped hosts into the address they lead to. It keeps ";"
  // and ",", which would end the source expression in a policy.
  const name = host.replace(/:[0-9]+$/, '');
  const isUsual = HOST.test(name) && URL.canParse(uri) && new URL(uri).hostname === name;
  return isUsual ? undefined : 'its host is not written in its usual form';
}

function queryFault(uri: string): string | undefined {
  const at = uri.indexOf('?');
  if (at < 0) return undefined;
  const names = [...new URLSearchParams(uri.slice(at + 1)).keys()];
  const taken = names.find((name) => ANSWER_FIELDS.has(name));
  return taken === undefined ? undefined : `its query has "${taken}", a field of the answer`;
}
