/**
 * The parameters of a call as a table with a formatted and an exact form.
 *
 * @module
 */

import type { Fact } from '../../domain/decision/pieces.ts';
import { Marked } from './words.tsx';

interface FactTableProps {
  readonly of: readonly Fact[];
  readonly heads: readonly [string, string];
  /** Whether the first cell of a row names it. */
  readonly isNamed?: boolean;
}

export function FactTable({ of, heads, isNamed = true }: FactTableProps) {
  const First = isNamed ? 'th' : 'td';
  return (
    <table>
      <thead>
        <tr>
          {heads.map((head) => (
            <th scope="col" key={head}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {of.map(({ label, words }, at) => (
          <tr key={at}>
            <First {...(isNamed ? { scope: 'row' as const } : {})}>
              <Marked of={label} />
            </First>
            <td>
              <Marked of={words} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export const PARAMETER_HEADS = ['Name', 'Value, and exactly as stored'] as const;
