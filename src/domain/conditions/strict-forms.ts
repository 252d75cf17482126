/**
 * Strict forms of paths, addresses, URLs and times: one spelling for each meaning.
 *
 * A value in any other form is never rewritten, because what is judged must be byte for byte what runs. It cannot be
 * judged then, and that never helps the caller.
 *
 * @module
 */

import { isDate, parseMoment } from '../values/moment.ts';

/** Control, formatting, unassigned and ignorable characters: a page cannot show them, or two texts look the same. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

export function isPlain(text: string): boolean {
  return !HIDDEN.test(text) && text.normalize('NFC') === text;
}

/** A path by its segments. A relative and an absolute path never match each other. */
export interface StrictPath {
  readonly isAbsolute: boolean;
  readonly segments: readonly string[];
}

/** No `.`, `..` or empty segment, nothing that a file system or a URL reads in another way. */
const SEGMENT = /^(?!\.{1,2}$)(?![\s~])[^\\:%/]*[^\\:%/.\s]$/u;

export function strictPath(text: string): StrictPath | undefined {
  const isAbsolute = text.startsWith('/');
  const segments = segmentsOf(isAbsolute ? text.slice(1) : text);
  return segments && { isAbsolute, segments };
}

function segmentsOf(text: string): string[] | undefined {
  const segments = text.split('/');
  return isPlain(text) && segments.every((each) => SEGMENT.test(each)) ? segments : undefined;
}

export function isPathUnder(root: StrictPath, path: StrictPath): boolean {
  return root.isAbsolute === path.isAbsolute && isBelow(root.segments, path.segments);
}

function isBelow(root: readonly string[], path: readonly string[]): boolean {
  return root.length <= path.length && root.every((segment, at) => path[at] === segment);
}

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
/** The last label is no number: a host of numbers is an address of the network. */
const HOST = `(?:${LABEL}\\.)*(?!\\d+$|\\d+[:/?])${LABEL}`;
const HOST_LENGTH_MAX = 253;

/** Of a mail address there is at least one dot. */
const DOMAIN = new RegExp(`^(?:${LABEL}\\.)+(?!\\d+$)${LABEL}$`);

const ADDRESS = /^[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*@([A-Za-z0-9.-]+)$/;

/** The domain of one bare address, in lower case. */
export function addressDomain(text: string): string | undefined {
  const domain = ADDRESS.exec(text)?.[1]?.toLowerCase();
  return domain !== undefined && isDomain(domain) ? domain : undefined;
}

export function isDomain(text: string): boolean {
  return text.length <= HOST_LENGTH_MAX && DOMAIN.test(text);
}

/** `*.example.com` stands for every domain below `example.com`, and not for that one. */
export function isDomainIn(known: string, domain: string): boolean {
  return known.startsWith('*.') ? domain.endsWith(known.slice(1)) : domain === known;
}

export interface StrictUrl {
  readonly scheme: string;
  readonly host: string;
  readonly port: string;
  readonly segments: readonly string[];
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' };
const URL_FORM = new RegExp(
  `^(https?)://((?:\\*\\.)?${HOST})(?::([1-9]\\d{0,4}))?(/[^?]*)?(\\?.*)?$`,
);
const PRINTABLE = /^[!-~]*$/;

export function strictUrl(text: string): StrictUrl | undefined {
  const url = readUrl(text);
  return url?.host.startsWith('*') ? undefined : url;
}

/** A root of URLs. Its host may begin with `*.`; it has no query. */
export function urlRoot(text: string): StrictUrl | undefined {
  return text.includes('?') ? undefined : readUrl(text);
}

function readUrl(text: string): StrictUrl | undefined {
  const [, scheme = '', host = '', port = '', path = ''] = URL_FORM.exec(text) ?? [];
  if (scheme === '' || !PRINTABLE.test(text) || /[\\#]/.test(text)) return undefined;
  if (host.length > HOST_LENGTH_MAX || port === DEFAULT_PORTS[scheme]) return undefined;
  // As the platform reads it: a URL that it reads in another way has no strict form.
  if (!URL.canParse(text) || new URL(text).host !== (port === '' ? host : `${host}:${port}`)) {
    return undefined;
  }
  const segments = path === '' || path === '/' ? [] : segmentsOf(path.slice(1));
  return segments && { scheme, host, port, segments };
}

export function isUrlUnder(root: StrictUrl, url: StrictUrl): boolean {
  return (
    root.scheme === url.scheme &&
    root.port === url.port &&
    isDomainIn(root.host, url.host) &&
    isBelow(root.segments, url.segments)
  );
}

/** What can be compared: numbers, days, and instants. */
export interface Point {
  readonly kind: 'number' | 'date' | 'time';
  readonly value: number | string;
}

/** A finer fraction would be lost in an instant of milliseconds. */
const FINER = /\.\d{4,}/;

export function pointOf(value: unknown): Point | undefined {
  if (typeof value === 'number')
    return Number.isFinite(value) ? { kind: 'number', value } : undefined;
  if (typeof value !== 'string') return undefined;
  if (isDate(value)) return { kind: 'date', value };
  const instant = FINER.test(value) ? undefined : parseMoment(value);
  return instant === undefined ? undefined : { kind: 'time', value: instant };
}
