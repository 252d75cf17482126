/**
 * Arguments as node's `parseArgs` reads them, with one difference: a value may start with a dash.
 * One thumbprint in 64 starts with a dash.
 *
 * @module
 */

import type { ParseArgsConfig } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;

/** Reads `--pin -x` as `--pin=-x`, but never takes an option of the command as a value. */
export function joinedValues(args: readonly string[], options: Options): string[] {
  const texts: string[] = [];
  let takesValue = false;
  for (const arg of args) {
    const isOdd = takesValue && /^-./.test(arg) && optionOf(arg, options) === undefined;
    texts.push(isOdd ? `${texts.pop()}=${arg}` : arg);
    takesValue = !takesValue && !arg.includes('=') && optionOf(arg, options)?.type === 'string';
  }
  return texts;
}

function optionOf(arg: string, options: Options): Options[string] | undefined {
  return Object.entries(options).find(
    ([name, { short }]) => arg === `-${short}` || arg.split('=', 1)[0] === `--${name}`,
  )?.[1];
}
