/**
 * A copy of a record with added or replaced fields.
 *
 * Equivalent to `{ ...record, field }`, which Node 20 runs slowly: about two microseconds for each field
 * after the spread, and garbage that only a full collection frees. Code that every call or every row of a
 * list passes through uses this instead.
 *
 * @module
 */

export function amended<Record extends object, Fields extends object>(
  record: Record,
  fields: Fields,
): Omit<Record, keyof Fields> & Fields {
  return Object.assign({}, record, fields);
}
