/**
 * Values that fight back when they are looked at, for tests of whatever takes values of author code.
 *
 * @module
 */

export interface HostileValue {
  readonly name: string;
  /** A new one each time: some of them change when they are looked at. */
  make(): unknown;
}

/** Throws something that is no error, which is what code that expects errors trips over. */
function refuse(): never {
  throw null;
}

const ALL_TRAPS: ProxyHandler<object> = {
  get: refuse,
  set: refuse,
  has: refuse,
  ownKeys: refuse,
  getPrototypeOf: refuse,
  getOwnPropertyDescriptor: refuse,
  apply: refuse,
  construct: refuse,
};

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

/** An object that answers each question otherwise the next time. */
function shifting(): object {
  let asked = 0;
  const answers = ['text', 5, {}, [], null, undefined];
  return new Proxy(
    {},
    {
      get: () => answers[asked++ % answers.length],
      ownKeys: () => [`a${asked++}`],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: asked++ }),
    },
  );
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
  { name: 'a Proxy that throws at every look', make: () => new Proxy({}, ALL_TRAPS) },
  { name: 'a Proxy of an error that throws', make: () => new Proxy(new Error('x'), ALL_TRAPS) },
  { name: 'a Proxy of a function that throws', make: () => new Proxy(refuse, ALL_TRAPS) },
  { name: 'a revoked Proxy', make: () => revoked({}) },
  { name: 'a revoked Proxy of a list', make: () => revoked([]) },
  { name: 'an object that changes when it is looked at', make: shifting },
  { name: 'a toJSON that throws null', make: () => ({ toJSON: refuse }) },
  { name: 'a toJSON without end', make: () => ({ toJSON: () => ({ again: cyclic() }) }) },
  {
    name: 'a getter that throws',
    make: () => Object.defineProperty({}, 'x', { enumerable: true, get: refuse }),
  },
  {
    name: 'a toString and a toPrimitive that throw',
    make: () => ({ toString: refuse, valueOf: refuse, [Symbol.toPrimitive]: refuse }),
  },
  {
    name: 'an error whose members throw',
    make: () =>
      Object.defineProperties(new Error('x'), {
        // First: to replace it makes the engine look at the others once more.
        stack: { get: refuse },
        message: { get: refuse },
        name: { get: refuse },
        cause: { get: refuse },
        code: { get: refuse },
        type: { get: refuse },
      }),
  },
  {
    name: 'an error whose members are not texts',
    make: () => Object.assign(new Error('x'), { message: {}, name: [], stack: 5, cause: refuse }),
  },
  { name: 'a then that throws', make: () => Object.defineProperty({}, 'then', { get: refuse }) },
  // biome-ignore lint/suspicious/noThenProperty: such an object is what this is about.
  { name: 'a then that throws when it is called', make: () => ({ then: refuse }) },
  {
    name: 'a thenable that resolves with itself',
    make: () => ({
      // biome-ignore lint/suspicious/noThenProperty: such an object is what this is about.
      then(resolve: (value: unknown) => void) {
        resolve(this);
      },
    }),
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
