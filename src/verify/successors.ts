/**
 * Follows pinned keys to their successors, by statements that the old keys signed.
 *
 * The set that a service publishes carries the statements. None is believed because of that: each
 * counts only when the key that it starts from is pinned, or was reached from a pinned one, and has
 * signed it. A chain stays within one use, is of bounded length and visits no key twice. A key that
 * names two different successors is followed to neither: one of them was named by somebody else.
 *
 * This cannot tell that a key was stolen. A service withdraws every statement by and about a key that
 * it knows to be compromised, so a chain that it publishes does not pass through one; a thief who
 * stands in for the service shows his own. Such a pin has to be renewed by another way.
 *
 * @module
 */

import {
  readSuccessor,
  SUCCESSORS_MAX,
  type SuccessorText,
  type SuccessorUse,
} from '../domain/log/successor.ts';
import { Jwks } from '../protocol/trust.ts';
import { type KeySource, type Keys, readKeys } from './keys.ts';
import { holds } from './signature.ts';

/** As `readKeys`, with the successors of pinned keys pinned too. */
export async function followKeys(source: KeySource): Promise<Keys | { fault: string }> {
  const keys = readKeys(source);
  if ('fault' in keys) return keys;
  const texts = Jwks.safeParse(source.jwks).data?.svc_successors ?? [];
  if (texts.length === 0) return keys;

  const named = Array.isArray(source.pinned) ? source.pinned : [];
  const pins = [...keys.keys.filter(({ isPinned }) => isPinned).map(({ kid }) => kid), ...named];
  const reached = chainsFrom(new Set(pins), await statementsIn(texts));
  const followed = keys.keys.map((key) => {
    const { use, from } = reached.get(key.kid) ?? {};
    return { ...key, isPinned: key.isPinned || from !== undefined, use, follows: from };
  });
  return { ...keys, keys: followed };
}

type Statements = ReadonlyMap<string, SuccessorText>;

/** What each key says of its successor: by signatures that hold, and where it says one thing only. */
async function statementsIn(texts: readonly string[]): Promise<Statements> {
  const said = new Map<string, SuccessorText>();
  const contradicted = new Set<string>();
  for (const text of texts) {
    const read = readSuccessor(text);
    if (!read || !(await isSigned(read))) continue;
    const before = said.get(read.kid);
    const isSame = before?.successorKid === read.successorKid && before.use === read.use;
    if (before && !isSame) contradicted.add(read.kid);
    said.set(read.kid, read);
  }
  for (const kid of contradicted) said.delete(kid);
  return said;
}

async function isSigned({ spki, signed, signature }: SuccessorText): Promise<boolean> {
  return (await holds({ type: 'ecdsa', key: spki, message: signed, signature })) === true;
}

interface Reached {
  readonly use: SuccessorUse;
  /** The pinned key from which it was reached; absent for that key itself. */
  readonly from?: string;
}

/** A key that two chains of different uses lead to is followed by neither. */
function chainsFrom(pins: ReadonlySet<string>, said: Statements): Map<string, Reached> {
  const reached = new Map<string, Reached>();
  const disputed = new Set<string>();
  for (const from of pins) {
    const use = said.get(from)?.use;
    if (use === undefined) continue;
    reached.set(from, { use });
    for (const kid of chainOf(from, pins, said)) {
      const before = reached.get(kid);
      if (before && before.use !== use) disputed.add(kid);
      if (!before) reached.set(kid, { use, from });
    }
  }
  for (const kid of disputed) reached.delete(kid);
  return reached;
}

/** Ends before another pinned key, which is the start of its own chain, and before any key again. */
function chainOf(from: string, pins: ReadonlySet<string>, said: Statements): Set<string> {
  const passed = new Set<string>();
  const use = said.get(from)?.use;
  let next = said.get(from);
  while (next && next.use === use && passed.size < SUCCESSORS_MAX) {
    const { successorKid } = next;
    if (pins.has(successorKid) || passed.has(successorKid)) break;
    passed.add(successorKid);
    next = said.get(successorKid);
  }
  return passed;
}
