/**
 * Text that other people, agents and clients wrote: characters that are invisible, reorder the text or imitate
 * others stand as marks in their place.
 *
 * The text is isolated, so that its direction cannot reach the text around it.
 *
 * @module
 */

import { isMark, piecesOf } from '../../domain/decision/hidden.ts';

export function Shown({ text }: { readonly text: string }) {
  return <bdi>{piecesOf(text).map((piece) => (isMark(piece) ? <Mark of={piece} /> : piece))}</bdi>;
}

function Mark({ of }: { readonly of: string }) {
  return <span class="ctl">{of}</span>;
}
