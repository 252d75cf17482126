/**
 * Shows what was loaded. When it cannot be loaded again, what was there stays below the reason.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { Failed, type Loaded, Loading } from '../parts/loaded.tsx';

interface ReadyProps<T> {
  readonly of: Loaded<T>;
  /** Begins a sentence: "The list of freezes". */
  readonly what: string;
  readonly children: (value: T) => ComponentChildren;
}

export function Ready<T>({ of, what, children }: ReadyProps<T>) {
  if (of.state === 'ready') return <>{children(of.value)}</>;
  if (of.state === 'loading') {
    return <Loading what={what.charAt(0).toLowerCase() + what.slice(1)} />;
  }
  return (
    <>
      <Failed what={what} why={of.why} again={of.again} />
      {of.value === undefined ? null : children(of.value)}
    </>
  );
}
