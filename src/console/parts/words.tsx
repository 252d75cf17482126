/**
 * Words with marks, as `domain/decision` makes them, on a page.
 *
 * @module
 */

import { type Fact, jsonWords, type Piece, type Words } from '../../domain/decision/pieces.ts';
import { shortTime } from '../../domain/values/time-words.ts';
import { now } from '../api.ts';
import { hrefOf } from '../router.ts';
import { Ago, Amount, Chain, Hash, Heads, Left, Shown } from './elements.tsx';

export function Marked({ of }: { readonly of: Words }) {
  return <>{of.map(elementOf)}</>;
}

function elementOf(piece: Piece) {
  if (typeof piece === 'string') return piece;
  if ('shown' in piece) return <Shown text={piece.shown} />;
  if ('json' in piece) return <Value of={piece.json} />;
  if ('money' in piece) return <Amount of={piece.money} />;
  if ('ago' in piece) return <Ago at={piece.ago} />;
  if ('left' in piece) return <Left until={piece.left} />;
  if ('at' in piece) return <At of={piece.at} />;
  if ('hash' in piece) return <Hash hex={piece.hash} what={piece.what} />;
  if ('chain' in piece) return <Chain of={piece.chain} />;
  if ('request' in piece) {
    return (
      <a href={hrefOf('approvals', piece.request)}>
        <Marked of={piece.of} />
      </a>
    );
  }
  const Element = piece.as;
  return (
    <Element class={piece.look}>
      <Marked of={piece.of} />
    </Element>
  );
}

function At({ of }: { readonly of: string }) {
  return <>{shortTime(of, now.value)}</>;
}

/** JSON of any depth in canonical order, complete. */
export function Value({ of }: { readonly of: unknown }) {
  return (
    <code class="json">
      <Marked of={jsonWords(of)} />
    </code>
  );
}

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
      <Heads of={heads} />
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

export const PARAMETER_HEADS = ['Name', 'Value'] as const;
