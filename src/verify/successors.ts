/**
 * Follows pinned keys to their successors, by statements that the old keys signed.
 *
 * The published key set carries the statements. That alone makes none trusted: a statement
 * counts only when the key that it starts from is pinned, or was reached from a pinned one, and
 * signed it. A chain stays within one use, has a bounded length and visits no key twice. A key that
 * names two different successors is followed to neither: one of them may be an attacker's.
 *
 * An offline check cannot detect a stolen key. A service withdraws every statement by and about a key that
 * it knows to be compromised, so a published chain does not pass through one; a thief who
 * impersonates the service publishes his own. Such a pin must be renewed from another source.
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
import { isSignatureValid } from './signature.ts';

/**
 * As `readKeys`, with the successors of pinned keys pinned too.
 *
 * @example
 * import { createService } from 'writ';
 * import { expectAnswer, testService } from 'writ/testing';
 * import { followKeys } from 'writ/verify';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const jwks = expectAnswer(await desk.human('ann').client.ask('jwks', {}));
 * const pinned = jwks.keys.slice(0, 1).map(({ kid }) => kid);
 * const keys = await followKeys({ jwks, pinned });
 * console.log('fault' in keys ? keys.fault : keys.keys.filter(({ isPinned }) => isPinned).length);
 * await desk.close();
 */
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

/** The statement of each key about its successor: verified, and only if all statements of the key agree. */
async function statementsIn(texts: readonly string[]): Promise<Statements> {
  const statements = new Map<string, SuccessorText>();
  const contradicted = new Set<string>();
  for (const text of texts) {
    const read = readSuccessor(text);
    if (!read || !(await isSigned(read))) continue;
    const before = statements.get(read.kid);
    const isSame = before?.successorKid === read.successorKid && before.use === read.use;
    if (before && !isSame) contradicted.add(read.kid);
    statements.set(read.kid, read);
  }
  for (const kid of contradicted) statements.delete(kid);
  return statements;
}

async function isSigned({ spki, signed, signature }: SuccessorText): Promise<boolean> {
  return (
    (await isSignatureValid({ type: 'ecdsa', key: spki, message: signed, signature })) === true
  );
}

interface Reached {
  readonly use: SuccessorUse;
  /** The pinned key from which this key was reached; absent for the pinned key itself. */
  readonly from?: string;
}

/** A key at the end of two chains of different uses is not followed at all. */
function chainsFrom(pins: ReadonlySet<string>, statements: Statements): Map<string, Reached> {
  const reached = new Map<string, Reached>();
  const disputed = new Set<string>();
  for (const from of pins) {
    const use = statements.get(from)?.use;
    if (use === undefined) continue;
    reached.set(from, { use });
    for (const kid of chainOf(from, pins, statements)) {
      const before = reached.get(kid);
      if (before && before.use !== use) disputed.add(kid);
      if (!before) reached.set(kid, { use, from });
    }
  }
  for (const kid of disputed) reached.delete(kid);
  return reached;
}

/** Ends before another pinned key, which starts its own chain, and before a key that it has visited. */
function chainOf(from: string, pins: ReadonlySet<string>, statements: Statements): Set<string> {
  const passed = new Set<string>();
  const use = statements.get(from)?.use;
  let next = statements.get(from);
  while (next && next.use === use && passed.size < SUCCESSORS_MAX) {
    const { successorKid } = next;
    if (pins.has(successorKid) || passed.has(successorKid)) break;
    passed.add(successorKid);
    next = statements.get(successorKid);
  }
  return passed;
}
