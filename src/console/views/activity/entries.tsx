/**
 * A page of entries: newest first, live on the first page, older pages by their cursor.
 *
 * @module
 */

import type { AuditAnswer, AuditEntry } from '../../../protocol/audit.ts';
import { pulse } from '../../api.ts';
import { Empty, Failed, Loading } from '../../parts/loaded.tsx';
import { hrefOf } from '../../router.ts';
import { counted } from '../counted.ts';
import { EntryRow } from './entry-row.tsx';
import { type Filters, PAGE_SIZE, searchedTo } from './filters.ts';
import { type Tail, useTail } from './tail.ts';

interface EntriesProps {
  readonly filters: Filters;
  readonly cursor: string | undefined;
}

export function Entries({ filters, cursor }: EntriesProps) {
  const tail = useTail(filters, cursor);
  const { loaded, shown } = tail;
  return (
    <section aria-labelledby="h-entries">
      <div class="head">
        <h2 id="h-entries">{cursor === undefined ? 'Newest entries' : 'Older entries'}</h2>
        {cursor === undefined ? (
          <TailBar tail={tail} />
        ) : (
          <a href={hrefOf('activity', undefined, { ...filters })}>Back to the newest</a>
        )}
      </div>
      {shown ? (
        <Page of={shown} tail={tail} filters={filters} isOlder={cursor !== undefined} />
      ) : null}
      {loaded.state === 'failed' ? (
        <Failed what="The log" why={loaded.why} again={loaded.again} />
      ) : null}
      {loaded.state === 'loading' ? <Loading what="entries" /> : null}
    </section>
  );
}

/** Keeps its height, whatever it says. */
function TailBar({ tail }: { readonly tail: Tail }) {
  const { isOn, isLong, fresh, hasMore, turn, showFresh, loaded } = tail;
  if (isLong) {
    return (
      <p class="tail">
        <small>This search reads much of the log, so it is not live.</small>
        <button type="button" onClick={loaded.again}>
          Search again
        </button>
      </p>
    );
  }
  const amount = hasMore
    ? `${fresh} or more new entries`
    : counted(fresh, 'new entry', 'new entries');
  return (
    <p class="tail">
      {fresh > 0 ? (
        <button type="button" class="text" onClick={showFresh}>
          Show {amount}
        </button>
      ) : (
        <small>{isOn ? 'New entries appear on top.' : 'New entries wait.'}</small>
      )}
      <button type="button" onClick={() => turn(!isOn)}>
        {isOn ? 'Pause' : 'Resume'}
        <span class="vh"> the live list</span>
      </button>
    </p>
  );
}

interface PageProps {
  readonly of: AuditAnswer;
  readonly tail: Tail;
  readonly filters: Filters;
  readonly isOlder: boolean;
}

const NONE = {
  older: 'No older entry matches.',
  found: 'No entry matches this search. Each filter must match exactly; remove one to find more.',
  atAll:
    'The log has no entry that you may see. Calls of your agents appear here; an operator with the scope operator:audit sees those of everyone.',
} as const;

function Page({ of: { entries, next_cursor }, tail, filters, isOlder }: PageProps) {
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <>
      {entries.length === 0 && next_cursor === null ? (
        <Empty>{isOlder ? NONE.older : isFiltered ? NONE.found : NONE.atAll}</Empty>
      ) : (
        <EntryList entries={entries} tail={tail} />
      )}
      {next_cursor === null ? null : (
        <Onward cursor={next_cursor} found={entries.length} filters={filters} />
      )}
    </>
  );
}

function EntryList({ entries, tail }: { entries: readonly AuditEntry[]; tail: Tail }) {
  return (
    <ol
      class="log"
      aria-label="Entries, newest first"
      ref={tail.list}
      onPointerLeave={tail.onLeave}
      onFocusOut={tail.onLeave}
    >
      {entries.map((entry) => (
        <EntryRow key={entry.entry_id} entry={entry} />
      ))}
    </ol>
  );
}

interface OnwardProps {
  readonly cursor: string;
  readonly found: number;
  readonly filters: Filters;
}

/** A search that found little stops before it has read the whole log, and says how far it got. */
function Onward({ cursor, found, filters }: OnwardProps) {
  const href = hrefOf('activity', undefined, { ...filters, cursor });
  const reached = searchedTo(cursor);
  const isFull = found >= PAGE_SIZE;
  return (
    <p class="row onward">
      {isFull ? null : (
        <span>
          {found === 0 ? 'No match so far. ' : ''}
          {reached === undefined
            ? 'Older entries were not read yet.'
            : `Read back to entry ${reached.toLocaleString('en')}${ofAll()}.`}
        </span>
      )}
      <a href={href}>{found === 0 ? 'Search on' : 'Older'}</a>
    </p>
  );
}

function ofAll(): string {
  const all = pulse.value?.entries;
  return all === undefined ? '' : ` of ${all.toLocaleString('en')}`;
}
