/**
 * The title of a capability: the question that a person answers, with the names of inputs in braces.
 *
 * @module
 */

import { type FaultRule, fault, similar } from './fault.ts';

/** Text of the author, or the name of an input whose value stands in its place. */
export type TitlePart = string | { readonly input: string };

/** "Refund {amount}" is "Refund " and the input "amount". */
export function titleParts(title: string): TitlePart[] {
  return title
    .split(/(\{[^{}]*\})/)
    .filter((part) => part !== '')
    .map((part) =>
      part.startsWith('{') && part.endsWith('}') ? { input: part.slice(1, -1) } : part,
    );
}

/** A misspelt name would leave the value out of every question that a person answers. */
export const titleFaults: FaultRule = ({ name, title = '', inputs }) => {
  const names = inputs.map((input) => input.name);
  return titleParts(title).flatMap((part) => {
    if (typeof part === 'string') {
      if (!/[{}]/.test(part)) return [];
      return [fault(name, 'title', 'a brace has no partner', 'the name of an input in { and }')];
    }
    if (names.includes(part.input)) return [];
    const known = names.length > 0 ? `one of ${names.join(', ')}` : 'no name in braces';
    const write = similar(part.input, names) ?? known;
    return [
      {
        ...fault(name, 'title', `"${part.input}" is not an input`, write),
        written: `has {${part.input}}`,
      },
    ];
  });
};
