/**
 * Activity: the log as it grows, and a search in it. With an id in the address, one invocation.
 *
 * The filters are in the address, so a search can be linked and the buttons of the browser lead through its pages.
 *
 * @module
 */

import '../style/activity.css';
import { route } from '../router.ts';
import { DaysChart } from './activity/days.tsx';
import { Entries } from './activity/entries.tsx';
import { FilterForm } from './activity/filter-form.tsx';
import { queryFilters } from './activity/filters.ts';
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
  const chart = <DaysChart key={`days ${search}`} capability={capability} tokenId={tokenId} />;
  const isAbout = capability !== undefined || tokenId !== undefined;
  return (
    <>
      <h1>Activity</h1>
      <FilterForm key={`form ${search}`} filters={filters} />
      {isAbout ? chart : null}
      <Entries key={`${search} ${cursor ?? ''}`} filters={filters} cursor={cursor} />
      {isAbout ? null : chart}
    </>
  );
}
