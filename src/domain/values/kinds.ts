/**
 * Words for the kinds of values that a schema expects, for messages about settings and declarations.
 *
 * @module
 */

/** By the name that zod gives a type. */
export const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};
