/**
 * The title of the page in tabs, bookmarks and screen readers, and what follows the one that is shown.
 *
 * @module
 */

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/** What the view that is shown calls itself; without it the frame uses the name of the view. */
export const ownTitle = signal<string | undefined>(undefined);

/** Where the page of one thing stands in its list, and the next one. */
interface Neighbour {
  readonly place: string;
  readonly next: string | undefined;
}

export const neighbour = signal<Neighbour | undefined>(undefined);

export function useTitle(words: string | undefined): void {
  useEffect(() => {
    ownTitle.value = words;
    return () => {
      ownTitle.value = undefined;
    };
  }, [words]);
}
