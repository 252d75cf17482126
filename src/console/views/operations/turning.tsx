/**
 * Pages of a list within a view: by the cursors of the service, or of a list that came whole.
 *
 * @module
 */

import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

interface TurningProps {
  readonly what: string;
  /** The cursors of the pages after the first, up to the one that is shown. */
  readonly cursors: Signal<readonly string[]>;
  readonly next: string | null;
}

export function Turning({ what, cursors, next }: TurningProps) {
  return (
    <Turn
      what={what}
      onBack={
        cursors.value.length === 0
          ? undefined
          : () => {
              cursors.value = cursors.value.slice(0, -1);
            }
      }
      onNext={
        next === null
          ? undefined
          : () => {
              cursors.value = [...cursors.value, next];
            }
      }
    />
  );
}

interface PagedProps<T> {
  readonly what: string;
  readonly items: readonly T[];
  /** Items of one page. */
  readonly size?: number;
  readonly children: (page: readonly T[]) => ComponentChildren;
}

export function Paged<T>({ what, items, size = 10, children }: PagedProps<T>) {
  const [asked, turnTo] = useState(0);
  const last = Math.max(0, Math.ceil(items.length / size) - 1);
  const page = Math.min(asked, last);
  return (
    <>
      {children(items.slice(page * size, (page + 1) * size))}
      {last > 0 ? (
        <p class="small muted">
          {page * size + 1} to {Math.min((page + 1) * size, items.length)} of {items.length}
        </p>
      ) : null}
      <Turn
        what={what}
        onBack={page > 0 ? () => turnTo(page - 1) : undefined}
        onNext={page < last ? () => turnTo(page + 1) : undefined}
      />
    </>
  );
}

interface TurnProps {
  readonly what: string;
  readonly onBack: (() => void) | undefined;
  readonly onNext: (() => void) | undefined;
}

function Turn({ what, onBack, onNext }: TurnProps) {
  if (!onBack && !onNext) return null;
  return (
    <p class="row">
      <button type="button" disabled={!onBack} onClick={onBack}>
        Previous {what}
      </button>
      <button type="button" disabled={!onNext} onClick={onNext}>
        Next {what}
      </button>
    </p>
  );
}
