/**
 * RFC 6962 section 2.1 as its text reads, recursion and all: the oracle for the tree's tests.
 *
 * Shares only SHA-256 with the code under test. Subtree hashes are remembered by their range, so
 * that all trees over the same leaves can be compared in one test.
 *
 * @module
 */

import { createHash } from 'node:crypto';

export interface NaiveTree {
  leaf(index: number): Uint8Array;
  root(start: number, end: number): Uint8Array;
  /** PATH(m, D[n]). */
  inclusion(index: number, size: number): Uint8Array[];
  /** PROOF(m, D[n]). */
  consistency(from: number, to: number): Uint8Array[];
}

export function naiveTree(dataOf: (index: number) => string): NaiveTree {
  const known = new Map<string, Uint8Array>();

  function root(start: number, end: number): Uint8Array {
    const key = `${start}-${end}`;
    const hash = known.get(key) ?? compute(start, end);
    known.set(key, hash);
    return hash;
  }

  function compute(start: number, end: number): Uint8Array {
    if (start === end) return digest();
    if (end - start === 1) return digest('\x00', dataOf(start));
    const mid = start + split(end - start);
    return digest('\x01', root(start, mid), root(mid, end));
  }

  function path(index: number, start: number, end: number): Uint8Array[] {
    if (end - start === 1) return [];
    const mid = start + split(end - start);
    return index < mid
      ? [...path(index, start, mid), root(mid, end)]
      : [...path(index, mid, end), root(start, mid)];
  }

  function subproof(from: number, start: number, end: number): Uint8Array[] {
    if (from === end) return start === 0 ? [] : [root(start, end)];
    const mid = start + split(end - start);
    return from <= mid
      ? [...subproof(from, start, mid), root(mid, end)]
      : [...subproof(from, mid, end), root(start, mid)];
  }

  return {
    leaf: (index) => root(index, index + 1),
    root,
    inclusion: (index, size) => path(index, 0, size),
    consistency: (from, to) => subproof(from, 0, to),
  };
}

function digest(...parts: (string | Uint8Array)[]): Uint8Array {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return Uint8Array.from(hash.digest());
}

/** The largest power of two smaller than `size`. */
function split(size: number): number {
  return size <= 2 ? 1 : 2 * split(Math.ceil(size / 2));
}
