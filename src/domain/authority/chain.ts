/**
 * The chain of principals: identifies a requester by every principal in the lineage of its token.
 *
 * The holder of a token chooses the subject of the child it issues, so a subject alone does not identify a
 * requester. Approval requests, grants and idempotency keys therefore belong to a chain: the root
 * principal, then the subject of every token down to the presented one. Equal consecutive names count once,
 * so a token that is renewed for the same subject keeps its chain.
 *
 * @module
 */

import { digestOf } from '../wire/canonical.ts';

/** The names of a chain. `subjects` are those of a token's lineage, root token first. */
export function chainNames(rootPrincipal: string, subjects: readonly string[]): string[] {
  const names = [rootPrincipal, ...subjects];
  return names.filter((name, index) => index === 0 || name !== names[index - 1]);
}

/**
 * The principal that the root principal delegated to first, or the root principal where it acts in person. What
 * one delegation may leave behind is counted under this name: holders below it choose only the later names.
 */
export function firstDelegate(rootPrincipal: string, subjects: readonly string[]): string {
  return subjects.find((subject) => subject !== rootPrincipal) ?? rootPrincipal;
}

/** The digest of the names of a chain. The service stores, signs and compares this digest. */
export function chainOf(rootPrincipal: string, subjects: readonly string[]): string {
  return digestOf(chainNames(rootPrincipal, subjects));
}
