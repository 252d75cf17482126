/**
 * The leaf of an entry: whether its bytes are what was hashed, and what the entry says of them.
 *
 * The readable fields of an entry are for convenience; only the leaf's bytes are under the tree.
 * A field that the bytes do not say is therefore as wrong as one that they contradict.
 *
 * @module
 */

import { fromBase64 } from '../domain/base64.ts';
import { canonicalJson } from '../domain/canonical.ts';
import { LEAF_BYTES_MAX, LEAF_VERSION } from '../domain/entry.ts';
import { equalBytes, fromHex } from '../domain/hash.ts';
import { type JsonLimits, readJson } from '../domain/json.ts';
import { type Hash, hashLeaf } from '../domain/merkle.ts';
import { AuditEntry } from '../protocol/audit.ts';
import { isObject } from './signed.ts';

export type LeafReading =
  | {
      readonly entry: AuditEntry;
      readonly hash: Hash;
      /** Retention erases contents and keeps the hash; a query without leaves has none either. */
      readonly isErased: boolean;
    }
  | { readonly fault: string };

/** Reads an entry as it travels, with its leaf in base64 where it has one. */
export function readEntry(value: unknown): LeafReading {
  const parsed = AuditEntry.safeParse(value);
  if (!parsed.success || !isObject(value)) return { fault: 'it is no entry as services write it' };
  const entry = parsed.data;
  const hash = fromHex(entry.leaf_hash) as Hash;
  if (entry.leaf === undefined) return { entry, hash, isErased: true };

  const fault = leafFault(entry.leaf, hash, value);
  return fault === undefined ? { entry, hash, isErased: false } : { fault };
}

const LEAF_LIMITS: JsonLimits = { bytes: LEAF_BYTES_MAX, depth: 64, keys: LEAF_BYTES_MAX };

function leafFault(encoded: string, hash: Hash, value: object): string | undefined {
  const leaf = fromBase64(encoded);
  if (leaf === undefined) return 'its leaf is not base64';
  if (!equalBytes(hashLeaf(leaf), hash)) return 'its leaf has another hash';

  const reading = readJson(leaf, LEAF_LIMITS);
  const said = 'value' in reading ? reading.value : undefined;
  if (!isObject(said)) return 'its leaf is no JSON object';
  const { v, salt, ...fields } = said;
  if (v !== LEAF_VERSION) return `its leaf is of version ${JSON.stringify(v)}, which is not known`;
  if (typeof salt !== 'string') return 'its leaf has no salt';
  return disagreement(fields, value as Readonly<Record<string, unknown>>);
}

/** What an entry has beside its leaf: its place, the hash, and the bytes themselves. */
const BESIDE_THE_LEAF = new Set(['sequence', 'leaf_hash', 'leaf']);

function disagreement(
  said: Readonly<Record<string, unknown>>,
  shown: Readonly<Record<string, unknown>>,
): string | undefined {
  const names = new Set([...Object.keys(said), ...Object.keys(shown)]);
  const differs = [...names].filter((name) => {
    if (BESIDE_THE_LEAF.has(name)) return false;
    return canonicalJson(said[name] ?? null) !== canonicalJson(shown[name] ?? null);
  });
  return differs.length === 0 ? undefined : `"${differs.join('", "')}" is not what its leaf says`;
}
