/**
 * Values that code with a defect hands over, for tests of whatever takes values of author code.
 *
 * @module
 */

export interface HostileValue {
  readonly name: string;
  make(): unknown;
}

/** Throws something that is no error, which is what code that expects errors trips over. */
function refuse(): never {
  throw null;
}

let manyKeys: object | undefined;

/** Made once: it takes longer to make than to refuse. */
function withManyKeys(): object {
  const keys = () => Array.from({ length: 120_000 }, (_, place) => [`k${place}`, place]);
  manyKeys ??= Object.freeze(Object.fromEntries(keys()));
  return manyKeys as object;
}

function deep(levels: number): object {
  let inner = {};
  for (let level = 0; level < levels; level++) inner = { inner };
  return inner;
}

function cyclic(): object {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}

export const HOSTILE_VALUES: readonly HostileValue[] = [
  { name: 'a toJSON that throws null', make: () => ({ toJSON: refuse }) },
  { name: 'a toJSON without end', make: () => ({ toJSON: () => ({ again: cyclic() }) }) },
  {
    name: 'a getter that throws',
    make: () => Object.defineProperty({}, 'x', { enumerable: true, get: refuse }),
  },
  {
    name: 'an error whose members are not texts',
    make: () => Object.assign(new Error('x'), { message: {}, name: [], stack: 5, cause: refuse }),
  },
  { name: 'an object with very many keys', make: withManyKeys },
  { name: 'an object that is very deep', make: () => deep(5_000) },
  { name: 'a circle', make: cyclic },
  { name: 'a list without end', make: () => new Array(2 ** 32 - 1) },
  { name: 'a text of five megabytes', make: () => 'x'.repeat(5_000_000) },
  { name: 'a text with U+0000', make: () => 'a\0b' },
  { name: 'a text with half a character', make: () => 'a\ud800b' },
  { name: 'a bigint', make: () => 10n },
  { name: 'a symbol', make: () => Symbol('x') },
  { name: 'nothing', make: () => undefined },
  { name: 'null', make: () => null },
];
