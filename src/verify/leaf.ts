/**
 * Checks the leaf of an entry: its bytes have the leaf hash, and the entry shows what they say.
 *
 * The readable fields of an entry are a convenience. The tree covers only the leaf's bytes and,
 * through a digest in them, the bytes of the personal fields. So a field that the bytes do not contain is
 * as wrong as one that they contradict.
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
import { type Check, notChecked, passedCheck } from './report.ts';

/** Retention erases contents and keeps hashes; a query without leaves has no contents either. */
type Erased = 'personal' | 'contents';

export type LeafReading =
  | { readonly entry: AuditEntry; readonly hash: Hash; readonly erased?: Erased | undefined }
  | { readonly fault: string };

/** Reads an entry in its wire form, with its bytes in base64 where present. */
export function readEntry(value: unknown): LeafReading {
  const parsed = AuditEntry.safeParse(value);
  if (!parsed.success || !isObject(value))
    return { fault: 'it is not an entry as services write it' };
  const entry = parsed.data;
  const hash = fromHex(entry.leaf_hash) as Hash;
  if (entry.leaf === undefined) return { entry, hash, erased: 'contents' };

  const read = leafFields(entry, hash);
  if ('fault' in read) return read;
  const fault = disagreement(read.fields, value);
  if (fault !== undefined) return { fault };
  return entry.personal === undefined ? { entry, hash, erased: 'personal' } : { entry, hash };
}

/** The check of an entry's contents, as far as they are present. */
export function contentCheck(what: string, erased: Erased | undefined, isAllowed = false): Check {
  if (erased === undefined) return passedCheck(what);
  const detail = MISSING[erased];
  return isAllowed ? passedCheck(what, detail) : notChecked(what, detail);
}

const MISSING = {
  contents: 'it has no leaf, erased or not asked for: only its hash is checked',
  personal: 'its personal fields are erased or absent: only their digest is checked',
} as const satisfies Record<Erased, string>;

type Fields = Readonly<Record<string, unknown>>;

/** The fields in the bytes: those of the leaf, and the personal ones if present. */
function leafFields(
  { leaf = '', personal }: AuditEntry,
  hash: Hash,
): { fields: Fields } | { fault: string } {
  const bytes = fromBase64(leaf);
  if (bytes === undefined || !equalBytes(hashLeaf(bytes), hash)) {
    return { fault: 'its leaf has another hash' };
  }
  const read = fieldsOf(bytes);
  if (!read) return { fault: 'its leaf is not a JSON object with a salt' };
  const { v, personal: digest, ...facts } = read;
  if (v !== LEAF_VERSION) {
    return { fault: `its leaf is of version ${JSON.stringify(v)}, which is not known` };
  }
  if (personal === undefined) return { fields: facts };

  const apart = fromBase64(personal);
  if (apart === undefined || personalDigest(apart) !== digest) {
    return { fault: 'its personal fields have another digest than its leaf says' };
  }
  const personalFields = fieldsOf(apart);
  return personalFields
    ? { fields: { ...facts, ...personalFields } }
    : { fault: 'its personal fields are not JSON' };
}

const LEAF_LIMITS: JsonLimits = { bytes: LEAF_BYTES_MAX, depth: 64, keys: LEAF_BYTES_MAX };

function fieldsOf(bytes: Uint8Array): Fields | undefined {
  const reading = readJson(bytes, LEAF_LIMITS);
  const value = 'value' in reading ? reading.value : undefined;
  if (!isObject(value) || typeof value.salt !== 'string') return undefined;
  const { salt: _, ...fields } = value;
  return fields;
}

/** Fields of an entry that its bytes do not contain: index, hash, the bytes, and what was erased. */
const BESIDE_THE_BYTES = new Set(['sequence', 'leaf_hash', 'leaf', 'personal', 'erased']);

function disagreement(signed: Fields, shown: Fields): string | undefined {
  const names = new Set([...Object.keys(signed), ...Object.keys(shown)]);
  const differs = [...names].filter((name) => {
    if (BESIDE_THE_BYTES.has(name)) return false;
    return canonicalJson(signed[name] ?? null) !== canonicalJson(shown[name] ?? null);
  });
  return differs.length === 0 ? undefined : `"${differs.join('", "')}" is not what its leaf says`;
}
