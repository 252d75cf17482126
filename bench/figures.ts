/**
 * A figure that stands alone, and what is wanted of it.
 *
 * @module
 */

export interface Figure {
  readonly name: string;
  readonly figure: string;
  readonly wanted: string;
}

export function figure(name: string, told: string, wanted: string): Figure {
  return { name, figure: told, wanted };
}
