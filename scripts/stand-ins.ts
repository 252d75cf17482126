/**
 * Stand-ins for what differs from run to run: ids, hashes, keys, signatures, addresses and times.
 *
 * A stand-in has the form of what it replaces. It depends only on the kind and on how many of that kind
 * came before in the same value, so two recordings of the same exchange are the same text.
 *
 * @module
 */

import { createHash } from 'node:crypto';

const START_MS = Date.UTC(2026, 11, 1, 9);
const MINUTE_MS = 60_000;

/** In characters: 66 bytes, which need no padding. Two signatures by one key may differ in length. */
const LONG = 88;

interface Form {
  readonly pattern: RegExp;
  /** `seed` is another text for each value of a kind. */
  make(text: string, seed: string): string;
}

const FORMS: Readonly<Record<string, Form>> = {
  address: {
    pattern: /http:\/\/(?:127\.0\.0\.1|localhost):\d+/,
    make: () => 'https://desk.example',
  },
  signed: { pattern: /eyJ[\w-]+\.[\w-]*\.[\w-]{86}/, make: signedStandIn },
  task: { pattern: /trail-\d+-\d+/, make: () => 'trail-1' },
  uuid: {
    pattern: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/,
    make: (_, seed) => hexOf(seed).replace(/(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5'),
  },
  hex: {
    pattern: /(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{32}|(?<=inv-)[0-9a-f]{12})(?![0-9a-f])/,
    make: (text, seed) => hexOf(seed).slice(0, text.length),
  },
  bytes: { pattern: /[A-Za-z0-9+/]{45,}={0,2}/, make: (_, seed) => lettersOf(seed, LONG) },
  key: {
    pattern: /[\w-]{43}(?![\w-])|[A-Za-z0-9+/]{43}=/,
    make: (text, seed) => lettersOf(seed, 43) + text.slice(43),
  },
  time: { pattern: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/, make: (text) => text },
};

const ANY_FORM = new RegExp(
  Object.entries(FORMS)
    .map(([kind, { pattern }]) => `(?<${kind}>${pattern.source})`)
    .join('|'),
  'g',
);

/** The same JSON value with stand-ins. Times keep their distance from `now`, or from an earlier one in it. */
export function withStandIns<Value>(value: Value, now: number): Value {
  const text = JSON.stringify(value);
  const times = [...text.matchAll(ANY_FORM)].flatMap(({ groups }) => groups?.time ?? []);
  const start = Math.min(now, ...times.map((time) => Date.parse(time)));
  const standIns = new Map<string, string>();
  const counts = new Map<string, number>();
  const standInFor = (found: string, kind: string, label: string): string => {
    const known = standIns.get(found);
    if (known !== undefined) return known;
    const count = (counts.get(label) ?? 0) + 1;
    counts.set(label, count);
    const made = FORMS[kind]?.make(found, `${label} ${count}`) ?? found;
    standIns.set(found, made);
    return made;
  };
  const replaced = (found: string, ...rest: unknown[]): string => {
    const [at, whole, groups] = rest.slice(-3) as [number, string, Record<string, unknown>];
    const kind = Object.keys(groups).find((name) => groups[name] !== undefined) ?? '';
    if (kind === 'time') return timeAfter(Date.parse(found) - start);
    // Ids are counted by their prefix, so that the first of a kind is the same in every example.
    const prefix = /[a-z]+[_-]$/.exec(whole.slice(0, at))?.[0] ?? '';
    return standInFor(found, kind, `${prefix}${kind}`);
  };
  return JSON.parse(text, (_, part) =>
    typeof part === 'string' ? part.replaceAll(ANY_FORM, replaced) : part,
  );
}

/** The time that stands for the one so long after the first. */
function timeAfter(ms: number): string {
  return new Date(START_MS + Math.round(ms / MINUTE_MS) * MINUTE_MS).toISOString();
}

/** The header without its key, and of the payload the issuer alone. */
function signedStandIn(text: string, seed: string): string {
  const [head = '', payload = ''] = text.split('.');
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
  const written = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const { alg, typ } = read(head);
  const claims = payload && written({ iss: read(payload).iss });
  return `${written({ alg, typ })}.${claims}.${lettersOf(seed, 86)}`;
}

function hexOf(seed: string): string {
  return createHash('sha256').update(seed).digest('hex');
}

/** Letters and digits, which every alphabet of base64 has. */
function lettersOf(seed: string, length: number): string {
  const letters = Buffer.from(hexOf(seed) + hexOf(`${seed}.`)).toString('base64');
  return letters.slice(0, length);
}
