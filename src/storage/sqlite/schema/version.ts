/**
 * Which SQLite versions are safe with a write-ahead log.
 *
 * Up to 3.51.2, two connections that wrote and checkpointed one file at the same moment could damage it. The
 * fix is in 3.51.3 and was backported to two older lines. Knows no connection: the version is a parameter.
 *
 * @module
 */

/** The first fixed release of each line. Lines between them were never fixed. */
const REPAIRED: readonly (readonly [major: number, minor: number, patch: number])[] = [
  [3, 44, 6],
  [3, 50, 7],
  [3, 51, 3],
];

/** True when this version does not damage a write-ahead log. An unreadable version is not trusted. */
export function isWalSafe(version: string): boolean {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)$/.exec(version)?.map(Number) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return false;

  const line = REPAIRED.find(([ofMajor, ofMinor]) => ofMajor === major && ofMinor === minor);
  if (line) return patch >= line[2];
  return major > 3 || (major === 3 && minor > 51);
}
