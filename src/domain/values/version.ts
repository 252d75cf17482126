/**
 * Semantic versions: their order, and whether a version lies in the range that a caller was built for.
 *
 * Ranges are the common subset: `1.2.3`, `^1.2.3`, `~1.2`, `>=1.2 <2`, `1.x`, `*`, joined by `||`. A range
 * that cannot be read admits no version.
 *
 * @module
 */

/** Characters. Longer than any range a person writes; a longer text is not read. */
const RANGE_LENGTH_MAX = 256;

interface Version {
  readonly numbers: readonly [number, number, number];
  readonly prerelease: string;
}

export function satisfies(version: string, range: string): boolean {
  const parsed = parseVersion(version);
  if (!parsed || range.length > RANGE_LENGTH_MAX) return false;
  if (range.trim() === '') return admitsAll(['*'], parsed);
  return range.split('||').some((part) => {
    // A space may separate an operator from its version.
    const words = part
      .replaceAll(/([\^~<>=])\s+/g, '$1')
      .trim()
      .split(/\s+/);
    return admitsAll(words, parsed);
  });
}

function admitsAll(words: readonly string[], version: Version): boolean {
  const wanted = words.map(parseWord);
  if (!wanted.every((word) => word !== undefined)) return false;
  // A prerelease is admitted only by a range that names a prerelease of the same version.
  const named = wanted.some((word) => word.prerelease && sameNumbers(word, version));
  if (version.prerelease && !named) return false;
  return wanted.every((word) => admits(word, version));
}

function sameNumbers(one: Version, other: Version): boolean {
  return one.numbers.every((part, index) => part === other.numbers[index]);
}

interface Word extends Partial {
  readonly sign: string;
}

function parseWord(word: string): Word | undefined {
  const [, sign = '', text = ''] = /^(\^|~|>=|<=|>|<|=)?v?(.*)$/.exec(word) ?? [];
  const parsed = parsePartial(text);
  return parsed && { ...parsed, sign };
}

function admits(wanted: Word, version: Version): boolean {
  const order = compare(version, wanted);
  switch (wanted.sign) {
    case '>=':
      return order >= 0;
    case '>':
      return wanted.given === 3 ? order > 0 : compare(version, nextOf(wanted, wanted.given)) >= 0;
    case '<':
      return order < 0;
    case '<=':
      return wanted.given === 3 ? order <= 0 : compare(version, nextOf(wanted, wanted.given)) < 0;
    case '^':
      return order >= 0 && compare(version, nextOf(wanted, caretCount(wanted))) < 0;
    case '~':
      return order >= 0 && compare(version, nextOf(wanted, Math.min(wanted.given, 2))) < 0;
    default:
      if (wanted.given === 3) return order === 0;
      return order >= 0 && compare(version, nextOf(wanted, wanted.given)) < 0;
  }
}

interface Partial extends Version {
  /** How many of the three numbers were written. */
  readonly given: number;
}

function parsePartial(text: string): Partial | undefined {
  if (/^[*xX]$/.test(text)) {
    return { numbers: [0, 0, 0], prerelease: '', given: 0 };
  }
  const match =
    /^(0|[1-9]\d{0,9})(?:\.(?:(0|[1-9]\d{0,9})|[*xX]))?(?:\.(?:(0|[1-9]\d{0,9})|[*xX]))?(?:-([0-9A-Za-z.-]+))?$/.exec(
      text,
    );
  if (!match) return undefined;
  const [, major, minor, patch, prerelease = ''] = match;
  const given = minor === undefined ? 1 : patch === undefined ? 2 : 3;
  if (prerelease && given < 3) return undefined;
  const numbers = [major, minor, given === 3 ? patch : undefined].map((part) => Number(part ?? 0));
  return { numbers: numbers as [number, number, number], prerelease, given };
}

function parseVersion(text: string): Version | undefined {
  const parsed = parsePartial(text);
  return parsed?.given === 3 ? parsed : undefined;
}

/** `^0.2.3` allows patches only: below 1.0.0 every minor version may break. */
function caretCount({ numbers: [major, minor], given }: Partial): number {
  if (given === 0) return 0;
  if (major > 0) return 1;
  if (minor > 0) return 2;
  return Math.min(given, 3);
}

/** The first version past everything that shares the first `count` numbers. */
function nextOf({ numbers }: Version, count: number): Version {
  if (count === 0) return { numbers: [Number.POSITIVE_INFINITY, 0, 0], prerelease: '' };
  const next = numbers.map((part, index) => (index < count ? part : 0));
  next[count - 1] = (next[count - 1] ?? 0) + 1;
  // The earliest prerelease of the next version is already past the range.
  return { numbers: next as [number, number, number], prerelease: '0' };
}

function compare(one: Version, other: Version): number {
  for (const [index, part] of one.numbers.entries()) {
    const difference = part - (other.numbers[index] as number);
    if (difference !== 0) return difference;
  }
  if (one.prerelease === other.prerelease) return 0;
  if (!one.prerelease) return 1;
  if (!other.prerelease) return -1;
  return comparePrerelease(one.prerelease.split('.'), other.prerelease.split('.'));
}

function comparePrerelease(one: readonly string[], other: readonly string[]): number {
  for (const [index, part] of one.entries()) {
    const rival = other[index];
    if (rival === undefined) return 1;
    if (part === rival) continue;
    const [a, b] = [numeric(part), numeric(rival)];
    if (a !== undefined && b !== undefined) return a - b;
    if (a !== undefined) return -1;
    if (b !== undefined) return 1;
    return part < rival ? -1 : 1;
  }
  return one.length - other.length;
}

function numeric(text: string): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : undefined;
}
