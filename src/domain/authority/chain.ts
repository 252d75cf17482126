/**
 * The chain of principals: who a token is, by every name its authority passed through.
 *
 * The holder of a token chooses the name of the child it issues, so a name alone is no identity.
 * Whatever belongs to a requester (approval requests, grants, idempotency keys) belongs to a chain:
 * the root principal, then the subject of every token down to the presented one. A name that follows
 * itself counts once, so a token renewed by the same hands continues.
 *
 * @module
 */

import { digestOf } from '../wire/canonical.ts';

/** The names of a chain. `subjects` are those of a token's lineage, root token first. */
export function chainNames(rootPrincipal: string, subjects: readonly string[]): string[] {
  const names = [rootPrincipal, ...subjects];
  return names.filter((name, place) => name !== names[place - 1]);
}

/** What is stored, signed and compared: the digest of the list of names. */
export function chainOf(rootPrincipal: string, subjects: readonly string[]): string {
  return digestOf(chainNames(rootPrincipal, subjects));
}
