/**
 * Copies of records: what enters the simulated store and what leaves it never share an object with the rows.
 *
 * @module
 */

/** A copy of plain data: objects, lists, times and bytes. */
export function copyOf<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  return copied(value) as Value;
}

/** A copy that several readers may share, because none of them can change it. Times stay changeable. */
export function frozenCopy<Value extends object>(value: Value): Value {
  return frozen(copyOf(value));
}

export function copiesOf<Value>(values: Iterable<Value>): Value[] {
  return Array.from(values, (value) => copyOf(value));
}

function copied(value: object): object {
  if (Array.isArray(value)) return value.map((item) => copyOf(item));
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof Uint8Array) return new Uint8Array(value);
  // The spread makes an own property of every name, also of "__proto__", and the loop only replaces those.
  const copy: Record<string, unknown> = { ...value };
  for (const name in copy) {
    const item = copy[name];
    if (typeof item === 'object' && item !== null) copy[name] = copied(item);
  }
  return copy;
}

function frozen<Value extends object>(value: Value): Value {
  if (value instanceof Date || value instanceof Uint8Array) return value;
  for (const item of Object.values(value)) {
    if (typeof item === 'object' && item !== null) frozen(item);
  }
  return Object.freeze(value);
}
