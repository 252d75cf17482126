/**
 * The leaf of an entry: whether its bytes are what was hashed, and what the entry says of them.
 *
 * The readable fields of an entry are for convenience; only the leaf's bytes are under the tree, and
 * through a digest in them the bytes of what tells of people. A field that the bytes do not say is
 * therefore as wrong as one that they contradict.
 *
 * @module
 */

import { LEAF_BYTES_MAX, LEAF_VERSION, personalDigest } from '../domain/log/entry.ts';
import { type Hash, hashLeaf } from '../domain/log/merkle.ts';
import { fromBase64 } from '../domain/wire/base64.ts';
import { canonicalJson } from '../domain/wire/canonical.ts';
import { equalBytes, fromHex } from '../domain/wire/hash.ts';
import { isObject, type JsonLimits, readJson } from '../domain/wire/json.ts';
import { AuditEntry } from '../protocol/audit.ts';
import { type Check, notChecked, ok } from './report.ts';

/** Retention erases contents and keeps hashes; a query without leaves has no contents either. */
type Erased = 'personal' | 'contents';

export type LeafReading =
  | { readonly entry: AuditEntry; readonly hash: Hash; readonly erased?: Erased | undefined }
  | { readonly fault: string };

/** Reads an entry as it travels, with its bytes in base64 as far as it has them. */
export function readEntry(value: unknown): LeafReading {
  const parsed = AuditEntry.safeParse(value);
  if (!parsed.success || !isObject(value)) return { fault: 'it is no entry as services write it' };
  const entry = parsed.data;
  const hash = fromHex(entry.leaf_hash) as Hash;
  if (entry.leaf === undefined) return { entry, hash, erased: 'contents' };

  const read = saidBy(entry, hash);
  if ('fault' in read) return read;
  const fault = disagreement(read.said, value);
  if (fault !== undefined) return { fault };
  return entry.personal === undefined ? { entry, hash, erased: 'personal' } : { entry, hash };
}

/** How far the contents of an entry could be checked. */
export function contentCheck(what: string, erased: Erased | undefined, isAllowed = false): Check {
  if (erased === undefined) return ok(what);
  const detail = MISSING[erased];
  return isAllowed ? ok(what, detail) : notChecked(what, detail);
}

const MISSING = {
  contents: 'it has no leaf, erased or not asked for: only its hash is checked',
  personal: 'what tells of people is erased or not there: only its digest is checked',
} as const satisfies Record<Erased, string>;

type Fields = Readonly<Record<string, unknown>>;

/** What the bytes say: the leaf's own fields, and the personal ones where they are there. */
function saidBy(
  { leaf = '', personal }: AuditEntry,
  hash: Hash,
): { said: Fields } | { fault: string } {
  const bytes = fromBase64(leaf);
  if (bytes === undefined || !equalBytes(hashLeaf(bytes), hash)) {
    return { fault: 'its leaf has another hash' };
  }
  const read = fieldsOf(bytes);
  if (!read) return { fault: 'its leaf is no JSON object with a salt' };
  const { v, personal: digest, ...facts } = read;
  if (v !== LEAF_VERSION) {
    return { fault: `its leaf is of version ${JSON.stringify(v)}, which is not known` };
  }
  if (personal === undefined) return { said: facts };

  const apart = fromBase64(personal);
  if (apart === undefined || personalDigest(apart) !== digest) {
    return { fault: 'its personal fields have another digest than its leaf says' };
  }
  const told = fieldsOf(apart);
  return told ? { said: { ...facts, ...told } } : { fault: 'its personal fields are no JSON' };
}

const LEAF_LIMITS: JsonLimits = { bytes: LEAF_BYTES_MAX, depth: 64, keys: LEAF_BYTES_MAX };

function fieldsOf(bytes: Uint8Array): Fields | undefined {
  const reading = readJson(bytes, LEAF_LIMITS);
  const value = 'value' in reading ? reading.value : undefined;
  if (!isObject(value) || typeof value.salt !== 'string') return undefined;
  const { salt: _, ...fields } = value;
  return fields;
}

/** What an entry has beside what its bytes say: its place, its hash, the bytes, what is missing. */
const BESIDE_THE_BYTES = new Set(['sequence', 'leaf_hash', 'leaf', 'personal', 'erased']);

function disagreement(said: Fields, shown: Fields): string | undefined {
  const names = new Set([...Object.keys(said), ...Object.keys(shown)]);
  const differs = [...names].filter((name) => {
    if (BESIDE_THE_BYTES.has(name)) return false;
    return canonicalJson(said[name] ?? null) !== canonicalJson(shown[name] ?? null);
  });
  return differs.length === 0 ? undefined : `"${differs.join('", "')}" is not what its leaf says`;
}
