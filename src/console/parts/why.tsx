/**
 * Why an act failed, read out as soon as it is known.
 *
 * @module
 */

import { Shown } from './foreign-text.tsx';

/** Always in the page: a screen reader announces what changes in a place that it knows. */
export function Why({ of }: { readonly of: string | undefined }) {
  return (
    <div role="alert">
      {of === undefined ? null : (
        <p class="notice bad">
          <Shown text={of} />
        </p>
      )}
    </div>
  );
}
