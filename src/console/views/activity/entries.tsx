/**
 * A page of entries as stories: newest first, live on the first page, older pages by their cursor.
 *
 * @module
 */

import { exact } from '../../../domain/values/time-words.ts';
import type { AuditAnswer, AuditEntry } from '../../../protocol/audit.ts';
import { ask, now, pulse } from '../../api.ts';
import { Empty, Failed, Loading, useLoaded } from '../../parts/loaded.tsx';
import { Evidence } from '../../parts/panels.tsx';
import { hrefOf } from '../../router.ts';
import type { Declarations } from '../agents/details.tsx';
import { counted } from '../counted.ts';
import { type Filters, PAGE_SIZE, searchedTo } from './filters.ts';
import { type Story, storiesOf } from './story.ts';
import { StoryRow } from './story-row.tsx';
import { type Tail, useTail } from './tail.ts';

interface EntriesProps {
  readonly filters: Filters;
  readonly cursor: string | undefined;
}

export function Entries({ filters, cursor }: EntriesProps) {
  const tail = useTail(filters, cursor);
  const { loaded, shown } = tail;
  return (
    <section aria-label="Stories of the log">
      <div class="head mid">
        <small>One row for one story of this page, newest first. Times are in UTC.</small>
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
        <button type="button" class="little" onClick={loaded.again}>
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
      <button type="button" class="little" onClick={() => turn(!isOn)}>
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
  const catalog = useLoaded(() => ask('manifest', {}), []);
  const declarations = catalog.state === 'ready' ? catalog.value.capabilities : undefined;
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <>
      {entries.length === 0 && next_cursor === null ? (
        <Empty>{isOlder ? NONE.older : isFiltered ? NONE.found : NONE.atAll}</Empty>
      ) : (
        <Stories entries={entries} tail={tail} declarations={declarations} />
      )}
      {next_cursor === null ? null : (
        <Onward cursor={next_cursor} found={entries.length} filters={filters} />
      )}
      {entries.length === 0 ? null : <PageEvidence of={entries} />}
    </>
  );
}

interface StoriesProps {
  readonly entries: readonly AuditEntry[];
  readonly tail: Tail;
  readonly declarations: Declarations | undefined;
}

/** Under the day of their newest entries. */
function Stories({ entries, tail, declarations }: StoriesProps) {
  const days = new Map<string, Story[]>();
  for (const story of storiesOf(entries)) {
    const day = story.entries[0]?.timestamp.slice(0, 10) ?? '';
    days.set(day, [...(days.get(day) ?? []), story]);
  }
  const today = new Date(now.value).toISOString().slice(0, 10);
  return (
    <div ref={tail.list} class="stack" onPointerLeave={tail.onLeave} onFocusOut={tail.onLeave}>
      {[...days].map(([day, stories]) => (
        <section key={day} class="group" aria-labelledby={`h-${day}`}>
          <h2 id={`h-${day}`}>{day === today ? 'Today' : dayOf(`${day}T00:00:00Z`)}</h2>
          <ul class="list" aria-label={`Stories of ${day}, newest first`}>
            {stories.map((story) => (
              <StoryRow
                key={story.entries.at(-1)?.entry_id}
                of={story}
                declarations={declarations}
              />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** "Tue 17 Nov 2026". */
function dayOf(at: string): string {
  return exact(at).split(',')[0] ?? at;
}

/** Only a sealed log can be verified. */
function PageEvidence({ of }: { readonly of: readonly AuditEntry[] }) {
  const [newest, oldest] = [of[0], of.at(-1)].map((entry) => entry?.sequence.toLocaleString('en'));
  const checkpoint = pulse.value?.checkpoint;
  return (
    <Evidence result={`${counted(of.length, 'entry', 'entries')}, ${oldest} to ${newest}`}>
      <p class="small">
        Each entry opens into all its fields, with the way to its proof.{' '}
        {checkpoint ? (
          <a href={hrefOf('trust')}>The last checkpoint is {checkpoint.sequence}</a>
        ) : (
          'No checkpoint covers the log.'
        )}
      </p>
    </Evidence>
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
