/**
 * Activity: the log as it grows, and a search in it. With an id in the address, one invocation.
 *
 * The filters are in the address, so a search can be linked and the buttons of the browser lead through its pages.
 *
 * @module
 */

import '../style/activity.css';
import { useId } from 'preact/hooks';
import { Icon } from '../parts/icon.tsx';
import { go, hrefOf, route } from '../router.ts';
import { DaysOf } from './activity/days.tsx';
import { Entries } from './activity/entries.tsx';
import { type Filters, queryFilters, TYPE_WORDS } from './activity/filters.ts';
import { InvocationPage } from './invocation.tsx';

export function ActivityView() {
  const { id } = route.value;
  return id === undefined ? <Log /> : <InvocationPage key={id} id={id} />;
}

function Log() {
  const { query } = route.value;
  const filters = queryFilters(query);
  const cursor = query.get('cursor') ?? undefined;
  const search = JSON.stringify(filters);
  const { capability, token_id: tokenId } = filters;
  return (
    <>
      <h1>Activity</h1>
      <DaysOf key={`days ${capability} ${tokenId}`} capability={capability} tokenId={tokenId} />
      <FilterForm key={`form ${search}`} filters={filters} />
      <Entries key={`${search} ${cursor ?? ''}`} filters={filters} cursor={cursor} />
    </>
  );
}

/** The form of a search in the log. Sending it changes the address. */
function FilterForm({ filters }: { readonly filters: Filters }) {
  const search = (event: SubmitEvent) => {
    event.preventDefault();
    go(hrefOf('activity', undefined, filtersIn(event.currentTarget as HTMLFormElement)));
  };
  const isSet = Object.keys(filters).length > 0;
  const { entry_type, capability, ...rarer } = filters;
  const isRare = entry_type !== undefined && !(entry_type in CHIPS);
  return (
    <search aria-label="Search the log">
      <form class="filters" onSubmit={search}>
        <div class="row">
          <label class="find">
            <span class="vh">Capability</span>
            <Icon name="search" />
            <input
              {...PLAIN_TEXT}
              type="search"
              name="capability"
              defaultValue={capability}
              placeholder="Name of a capability"
            />
          </label>
          <button type="submit" class="little">
            Search the log
          </button>
          <Chips filters={filters} />
          {isSet ? <a href={hrefOf('activity')}>Show everything</a> : null}
        </div>
        <details open={isRare || Object.keys(rarer).length > 0}>
          <summary class="more">
            <Icon name="chevron" class="turn" /> <span>More filters</span>
          </summary>
          <div class="row">
            <TypeChoice chosen={entry_type} />
            <SinceFilter value={filters.since} />
            <TextFilter name="invocation_id" label="Invocation" value={filters.invocation_id} />
            <TextFilter
              name="client_reference_id"
              label="Reference of the caller"
              value={filters.client_reference_id}
            />
            <TextFilter name="task_id" label="Task" value={filters.task_id} />
            <TextFilter
              name="parent_invocation_id"
              label="Parent invocation"
              value={filters.parent_invocation_id}
            />
            <TextFilter name="token_id" label="Agent, by its token" value={filters.token_id} />
          </div>
        </details>
      </form>
    </search>
  );
}

/** The kinds of entries that people look for. `More filters` has the others. */
const CHIPS = {
  '': 'All',
  invocation: 'Calls',
  approval_request: 'Requests',
  approval_decision: 'Decisions',
  issuance: 'Agents',
  session: 'Sign-ins',
};

function Chips({ filters: { entry_type = '', ...others } }: { readonly filters: Filters }) {
  return (
    <nav class="chips" aria-label="Kinds of entries">
      {Object.entries(CHIPS).map(([type, words]) => (
        <a
          key={type}
          href={hrefOf('activity', undefined, { ...others, ...(type && { entry_type: type }) })}
          {...(type === entry_type && { 'aria-current': true })}
        >
          {words}
        </a>
      ))}
    </nav>
  );
}

function filtersIn(form: HTMLFormElement): Record<string, string> {
  const entered = new URLSearchParams();
  for (const [name, value] of new FormData(form)) entered.set(name, String(value));
  return { ...queryFilters(entered) };
}

function TypeChoice({ chosen }: { readonly chosen: string | undefined }) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>Kind of entry</label>
      <select id={id} name="entry_type">
        <option value="">Everything</option>
        {Object.entries(TYPE_WORDS).map(([type, words]) => (
          <option key={type} value={type} selected={type === chosen}>
            {words}
          </option>
        ))}
      </select>
    </p>
  );
}

/** Ids and names: the browser neither corrects nor remembers them. */
const PLAIN_TEXT = {
  maxLength: 256,
  autocomplete: 'off',
  autocapitalize: 'off',
  spellcheck: false,
} as const;

interface TextFilterProps {
  readonly name: keyof Filters;
  readonly label: string;
  readonly value: string | undefined;
}

function TextFilter({ name, label, value }: TextFilterProps) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input {...PLAIN_TEXT} id={id} name={name} defaultValue={value} />
    </p>
  );
}

function SinceFilter({ value }: { readonly value: string | undefined }) {
  const id = useId();
  return (
    <p class="field">
      <label for={id}>Since, in UTC</label>
      <input id={id} name="since" type="datetime-local" defaultValue={localForm(value)} />
    </p>
  );
}

/** The form that the browser's control takes: minutes, without a zone. A day begins at midnight. */
function localForm(since: string | undefined): string | undefined {
  const found = since && /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?Z?)?$/.exec(since);
  return found ? `${found[1]}T${found[2] ?? '00:00'}` : undefined;
}
