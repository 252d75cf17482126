/**
 * Version ranges: does a package's `engines.node` admit a version?
 *
 * Understands the forms that occur in locks (alternatives, comparators, carets, tildes, x-ranges,
 * hyphens) and refuses to guess at any other, so that a new form fails a test rather than passes it.
 * Prereleases are such a form: no range on Node's releases has reason to name one.
 *
 * @module
 */

type Version = readonly [major: number, minor: number, patch: number];

/** From the lower bound up to, and not including, the upper one. */
interface Interval {
  readonly from: Version;
  readonly below: Version;
}

const ZERO: Version = [0, 0, 0];
const NO_END: Version = [Number.POSITIVE_INFINITY, 0, 0];

export function admits(range: string, version: string): boolean {
  const wanted = exactVersion(version);
  return range.split('||').some((alternative) => {
    return intervalsOf(alternative.trim()).every(
      ({ from, below }) => compare(from, wanted) <= 0 && compare(wanted, below) < 0,
    );
  });
}

/** All of these must hold. */
function intervalsOf(alternative: string): Interval[] {
  const [low, high, ...rest] = alternative.split(/\s+-\s+/);
  if (low !== undefined && high !== undefined && rest.length === 0) {
    return [{ from: partial(low).from, below: partial(high).below }];
  }

  // Blanks may stand between an operator and its version (">= 18"), and between comparators.
  const comparators = alternative.replaceAll(/([<>=^~])\s+/g, '$1').split(/\s+/);
  return comparators.map(intervalOf);
}

function intervalOf(comparator: string): Interval {
  const [, operator = '', text = ''] = /^(>=|<=|>|<|=|\^|~)?(.*)$/.exec(comparator) ?? [];
  const { from, below } = partial(text);
  switch (operator) {
    case '>=':
      return { from, below: NO_END };
    case '>':
      return { from: below, below: NO_END };
    case '<':
      return { from: ZERO, below: from };
    case '<=':
      return { from: ZERO, below };
    case '^':
      return { from, below: caretEnd(from, below) };
    case '~':
      return { from, below: tildeEnd(from, below) };
    default:
      return { from, below };
  }
}

/** A version that may leave off its tail, or put x there, means all that begin so. */
function partial(text: string): Interval {
  const match = /^v?(?:(\d+|[xX*])(?:\.(\d+|[xX*])(?:\.(\d+|[xX*]))?)?)?$/.exec(text);
  if (match === null) throw new Error(`Cannot read version range: "${text}"`);

  const given = match.slice(1).filter((part) => part !== undefined);
  const open = given.findIndex((part) => /[xX*]/.test(part));
  const [major, minor, patch] = (open === -1 ? given : given.slice(0, open)).map(Number);
  if (major === undefined) return { from: ZERO, below: NO_END };
  if (minor === undefined) return { from: [major, 0, 0], below: [major + 1, 0, 0] };
  if (patch === undefined) return { from: [major, minor, 0], below: [major, minor + 1, 0] };
  return { from: [major, minor, patch], below: [major, minor, patch + 1] };
}

/** A caret lets everything change but the first number that is not zero. */
function caretEnd([major, minor]: Version, below: Version): Version {
  if (major > 0) return [major + 1, 0, 0];
  return minor > 0 ? [0, minor + 1, 0] : below;
}

/** A tilde lets the patch change, and the minor when it was left off. */
function tildeEnd([major, minor]: Version, below: Version): Version {
  return below[0] > major ? below : [major, minor + 1, 0];
}

function exactVersion(text: string): Version {
  const [major, minor, patch] = text.split('.').map(Number);
  if (major === undefined || minor === undefined || patch === undefined) {
    throw new Error(`Cannot read version: "${text}"`);
  }
  return [major, minor, patch];
}

function compare(a: Version, b: Version): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}
