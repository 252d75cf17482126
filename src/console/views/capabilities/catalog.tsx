/**
 * The catalog: what each capability does, costs and needs, in pages, and how all of them relate.
 *
 * @module
 */

import { useId } from 'preact/hooks';
import { approvalWords, costWords, titleOf } from '../../../domain/sign-in/consent-words.ts';
import type { CapabilityDeclaration } from '../../../protocol/capability.ts';
import { ask } from '../../api.ts';
import { Effect, Fact, Shown } from '../../parts/elements.tsx';
import { Empty, Ready, useLoaded } from '../../parts/loaded.tsx';
import { go, hrefOf } from '../../router.ts';
import { counted } from '../counted.ts';
import { Relations } from './graph.tsx';

export type Declarations = Readonly<Record<string, CapabilityDeclaration>>;

interface CatalogProps {
  readonly of: Declarations;
  readonly query: URLSearchParams;
}

/** Capabilities of one page. */
const PAGE_SIZE = 50;

export function Catalog({ of, query }: CatalogProps) {
  const search = query.get('name')?.trim() ?? '';
  const from = Math.max(0, Math.floor(Number(query.get('from')) || 0));
  const all = Object.entries(of);
  const found = all.filter(([name]) => matches(name, search));
  return (
    <>
      <h1>Capabilities</h1>
      <SearchForm key={search} search={search} />
      <section aria-labelledby="h-catalog">
        <div class="head">
          <h2 id="h-catalog">
            {search === ''
              ? counted(all.length, 'capability', 'capabilities')
              : `${found.length} of ${counted(all.length, 'capability', 'capabilities')}`}
          </h2>
        </div>
        <Found found={found.slice(from, from + PAGE_SIZE)} isSearch={search !== ''} />
        <Pages search={search} from={from} count={found.length} />
      </section>
      {search === '' && from === 0 ? <WholeGraph /> : null}
    </>
  );
}

/** By name, with or without its underscores. */
function matches(name: string, search: string): boolean {
  const plain = (text: string) => text.toLowerCase().replace(/[_.\s-]+/g, ' ');
  return plain(name).includes(plain(search));
}

function SearchForm({ search }: { readonly search: string }) {
  const id = useId();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget as HTMLFormElement).get('name') ?? '');
    go(hrefOf('capabilities', undefined, name.trim() === '' ? undefined : { name }));
  };
  return (
    <search aria-label="Search the catalog">
      <form onSubmit={submit}>
        <div class="row">
          <p class="field">
            <label for={id}>Name contains</label>
            <input id={id} name="name" defaultValue={search} maxLength={128} autocomplete="off" />
          </p>
          <button type="submit" class="act">
            Search the catalog
          </button>
          {search === '' ? null : <a href={hrefOf('capabilities')}>Show all</a>}
        </div>
      </form>
    </search>
  );
}

interface FoundProps {
  readonly found: readonly (readonly [string, CapabilityDeclaration])[];
  readonly isSearch: boolean;
}

function Found({ found, isSearch }: FoundProps) {
  if (found.length === 0) {
    return (
      <Empty>
        {isSearch
          ? 'No capability has this in its name. A shorter part of the name finds more.'
          : 'This service declares no capability. Its author adds them.'}
      </Empty>
    );
  }
  return (
    <ul class="rows catalog">
      {found.map(([name, declaration]) => (
        <Row key={name} name={name} declaration={declaration} />
      ))}
    </ul>
  );
}

function Row({ name, declaration }: { name: string; declaration: CapabilityDeclaration }) {
  const { description, side_effect, cost, minimum_scope, inputs } = declaration;
  const approval = approvalWords({ ...declaration, name });
  return (
    <li>
      <div>
        <h3>
          <a href={hrefOf('capabilities', name)}>{titleOf(name)}</a>{' '}
          <code class="muted">{name}</code>
        </h3>
        <p>
          <Shown text={description} />
        </p>
      </div>
      <dl class="facts small">
        <Fact term="Effect" is={<Effect of={side_effect} />} />
        <Fact term="Cost" is={costWords(cost)} />
        <Fact term="Scopes">
          {minimum_scope.length === 0 ? 'none' : <code>{minimum_scope.join(', ')}</code>}
        </Fact>
        <Fact term="Inputs">
          {inputs.length === 0 ? 'none' : <code>{inputs.map((each) => each.name).join(', ')}</code>}
        </Fact>
        {approval === undefined ? null : <Fact term="Approval" is={approval} />}
      </dl>
    </li>
  );
}

interface PagesProps {
  readonly search: string;
  readonly from: number;
  readonly count: number;
}

function Pages({ search, from, count }: PagesProps) {
  if (count <= PAGE_SIZE) return null;
  const to = (start: number) =>
    hrefOf('capabilities', undefined, {
      ...(search !== '' && { name: search }),
      ...(start > 0 && { from: String(start) }),
    });
  const end = Math.min(count, from + PAGE_SIZE);
  return (
    <p class="row">
      <span>
        {from + 1} to {end} of {count}
      </span>
      {from > 0 ? <a href={to(Math.max(0, from - PAGE_SIZE))}>Before</a> : null}
      {end < count ? <a href={to(end)}>Next</a> : null}
    </p>
  );
}

function WholeGraph() {
  const loaded = useLoaded(() => ask('graph', {}), []);
  return (
    <section aria-labelledby="h-graph">
      <h2 id="h-graph">How they relate</h2>
      <Ready of={loaded} what="The graph" loading="the relations">
        {(graph) => <Relations of={graph} />}
      </Ready>
    </section>
  );
}
