/**
 * A copy of a record with more fields, or others.
 *
 * The same as `{ ...record, field }`, which the engine of Node 20 runs without its usual shortcuts: some
 * two microseconds for each field after the spread, and garbage that only a full collection frees. What
 * every call or every row of a list passes through uses this instead.
 *
 * @module
 */

export function amended<Record extends object, Fields extends object>(
  record: Record,
  fields: Fields,
): Omit<Record, keyof Fields> & Fields {
  return Object.assign({}, record, fields);
}
