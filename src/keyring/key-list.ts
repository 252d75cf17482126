/**
 * Keys given as text in environment variables, instead of a shared folder.
 *
 * One or several PKCS#8 PEM blocks, or a JSON array of private JWKs. The first key signs and all
 * are published, so a rotation is two deployments: add the new key after the old one, then swap
 * them.
 *
 * Invariant: no message contains a value of a key, or any part of the text.
 *
 * @module
 */

import { type JsonLimits, readJson } from '../domain/wire/json.ts';
import { type KeyReading, readPrivateJwk, readPrivatePem } from './es256.ts';
import type { DatedKey } from './timeline.ts';
import { KEY_USES, type KeyUse } from './wire.ts';

/** Keys of one use: the signing one, its successor and older ones, with a margin. */
export const LISTED_KEYS_MAX = 16;

/** Reads the keys of both uses. Throws with all faults, each naming its variable and position. */
export function readKeyLists(lists: Readonly<Record<KeyUse, string>>): DatedKey[] {
  const faults: string[] = [];
  const keys: DatedKey[] = [];
  for (const use of KEY_USES) {
    const readings = readList(lists[use]);
    if (typeof readings === 'string') faults.push(`Cannot use ${VARIABLES[use]}: ${readings}`);
    else
      readings.forEach((reading, index) => {
        const fault = addKey(keys, reading, { use, index });
        if (fault !== undefined)
          faults.push(`Cannot use key ${index + 1} of ${VARIABLES[use]}: ${fault}`);
      });
  }
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return keys;
}

/** The first key of a text of either form. */
export function readFirstKey(text: string): KeyReading {
  const readings = readList(text);
  if (typeof readings === 'string') return { fault: readings };
  return readings[0] as KeyReading;
}

/** Only to name them in messages: the configuration reads the environment. */
const VARIABLES = { token: 'WRIT_TOKEN_KEYS', log: 'WRIT_LOG_KEYS' } as const;

/** Sixteen keys of either form take less than 8 KiB. */
const LIST_LIMITS: JsonLimits = { bytes: 64 * 1024, depth: 4, keys: 1_000 };

const BLOCK = /-----BEGIN PRIVATE KEY-----[A-Za-z0-9+/=\s]*-----END PRIVATE KEY-----/g;

/** The reading of each key, or the fault of the whole list. */
function readList(text: string): KeyReading[] | string {
  if (text.length > LIST_LIMITS.bytes) return `it has more than ${LIST_LIMITS.bytes} characters`;
  const readings = text.trimStart().startsWith('[') ? readJwks(text) : readBlocks(text);
  if (typeof readings === 'string') return readings;

  if (readings.length === 0) return 'it has no key';
  if (readings.length > LISTED_KEYS_MAX) return `it has more than ${LISTED_KEYS_MAX} keys`;
  return readings;
}

function readJwks(text: string): KeyReading[] | string {
  const reading = readJson(text, LIST_LIMITS);
  if (!('value' in reading) || !Array.isArray(reading.value)) return 'it is not a JSON array';
  return reading.value.map(readPrivateJwk);
}

function readBlocks(text: string): KeyReading[] | string {
  // Text outside the blocks may be a key of another form, so it is a fault and not ignored.
  if (text.replace(BLOCK, '').trim() !== '') {
    const forms = 'PKCS#8 PEM blocks ("BEGIN PRIVATE KEY") nor a JSON array of JWKs';
    return `it is neither ${forms}; convert with: openssl pkcs8 -topk8 -nocrypt`;
  }
  return (text.match(BLOCK) ?? []).map(readPrivatePem);
}

/** Adds a key. Returns its fault. */
function addKey(
  keys: DatedKey[],
  reading: KeyReading,
  { use, index }: { use: KeyUse; index: number },
): string | undefined {
  if ('fault' in reading) return reading.fault;
  if (keys.some(({ kid }) => kid === reading.key.kid))
    return 'the same key appears earlier in the list';
  // The first key signs always, the others never.
  keys.push({ ...reading.key, use, signFrom: index === 0 ? 0 : Number.POSITIVE_INFINITY });
  return undefined;
}
