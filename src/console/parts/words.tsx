/**
 * Words with marks, as `domain/decision` makes them, on a page.
 *
 * @module
 */

import { jsonWords, type Piece, type Words } from '../../domain/decision/pieces.ts';
import { shortTime } from '../../domain/values/time-words.ts';
import { now } from '../live.ts';
import { hrefOf } from '../router.ts';
import { Chain } from './chain.tsx';
import { Shown } from './foreign-text.tsx';
import { Hash } from './hash.tsx';
import { Amount } from './money.tsx';
import { Ago, Left } from './time.tsx';

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
