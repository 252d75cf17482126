/**
 * The first page of the log while it grows.
 *
 * Each time the log grew, the whole page is asked for again, so it never has more rows than a page. The new page
 * is shown at once only where nothing moves under the reader: the tail is on, the window is at its top, and neither
 * the pointer nor the focus is in the list. Otherwise it waits, and the page says how many entries are new.
 *
 * @module
 */

import { useComputed } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { AuditAnswer } from '../../../protocol/audit.ts';
import { ask, pulse } from '../../api.ts';
import { announce } from '../../parts/announce.ts';
import { type Loaded, useLoaded } from '../../parts/loaded.tsx';
import { counted } from '../counted.ts';
import { type Filters, filterQuery, PAGE_SIZE } from './filters.ts';

export interface Tail {
  readonly loaded: Loaded<AuditAnswer>;
  /** The page that the reader sees. */
  readonly shown: AuditAnswer | undefined;
  /** Entries that are newer than the shown ones. */
  readonly fresh: number;
  /** There may be more than `fresh`: no shown entry is on the new page. */
  readonly hasMore: boolean;
  readonly isOn: boolean;
  /** A search that reads much of the log to fill a page is not repeated each time the log grows. */
  readonly isLong: boolean;
  readonly list: RefObject<HTMLDivElement | null>;
  turn(on: boolean): void;
  showFresh(): void;
  /** Called when the pointer or the focus leaves the list. */
  onLeave(): void;
}

export function useTail(filters: Filters, cursor: string | undefined): Tail {
  const isFirst = cursor === undefined;
  const grown = useComputed(() => (isFirst ? pulse.value?.entries : undefined));
  const isLong = useRef(false);
  const asked = useRef(grown.value);
  if (!isLong.current) asked.current = grown.value;
  const loaded = useLoaded(() => pageOf(filters, cursor), [asked.current]);
  const newest = loaded.state === 'loading' ? undefined : loaded.value;
  isLong.current = newest !== undefined && isLongSearch(newest);
  const [shown, setShown] = useState<AuditAnswer | undefined>(undefined);
  const [isOn, turn] = useState(isFirst);
  const list = useRef<HTMLDivElement>(null);
  const fresh = freshIn(newest, shown);

  const isHeld = () => shown && fresh > 0 && !(isOn && isAtRest(list.current));
  const settle = () => {
    if (newest && newest !== shown && !isHeld()) setShown(newest);
  };
  useEffect(() => {
    settle();
    addEventListener('scroll', settle, { passive: true });
    return () => removeEventListener('scroll', settle);
  }, [newest, shown, isOn]);
  useEffect(() => {
    const words = counted(fresh, 'new entry', 'new entries');
    if (fresh > 0) announce(isHeld() ? `${words} can be shown` : words);
  }, [fresh]);

  return {
    loaded,
    shown: shown ?? newest,
    fresh,
    hasMore: fresh > 0 && fresh === newest?.entries.length && newest.next_cursor !== null,
    isOn,
    isLong: isLong.current,
    list,
    turn,
    showFresh: () => setShown(newest),
    onLeave: () => setTimeout(settle),
  };
}

function pageOf(
  { token_id, ...filters }: Filters,
  cursor: string | undefined,
): Promise<AuditAnswer> {
  const query = filterQuery(filters, cursor);
  if (token_id === undefined) return ask('audit.query', query);
  return ask('activity.entries', { ...query, token_id });
}

function isLongSearch({ entries, next_cursor }: AuditAnswer): boolean {
  return next_cursor !== null && entries.length < PAGE_SIZE;
}

function freshIn(newest: AuditAnswer | undefined, shown: AuditAnswer | undefined): number {
  if (!newest || !shown) return 0;
  const top = shown.entries[0]?.sequence ?? -1;
  return newest.entries.filter(({ sequence }) => sequence > top).length;
}

/** Pixels: a window that is scrolled by less counts as at its top. */
const TOP_PX = 8;

function isAtRest(list: HTMLElement | null): boolean {
  return scrollY < TOP_PX && !list?.matches(':hover, :focus-within');
}
