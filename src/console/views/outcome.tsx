/**
 * What an act of the person did, where the person acted. It takes the focus, because the button that was pressed
 * may be gone.
 *
 * @module
 */

import { useEffect, useRef } from 'preact/hooks';
import { Shown } from '../parts/elements.tsx';
import { Notice } from '../parts/panels.tsx';

export interface Done {
  readonly words: string;
  /** Whether a part of it could not be done. */
  readonly isPartial?: boolean;
}

/** `of` is undefined until something was done. */
export function Outcome({ of }: { readonly of: Done | undefined }) {
  const notice = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!of) return;
    const take = () => notice.current?.focus();
    // A dialog that closes returns the focus to its button first. Until then nothing outside it takes the focus.
    const dialog = document.querySelector('dialog[open]');
    if (dialog) dialog.addEventListener('close', take, { once: true });
    else take();
  }, [of]);
  return (
    <div ref={notice} tabIndex={-1} role="status">
      {of ? (
        <Notice state={of.isPartial ? 'warn' : 'good'}>
          <Shown text={of.words} />
        </Notice>
      ) : null}
    </div>
  );
}
