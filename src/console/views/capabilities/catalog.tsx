/**
 * The catalog: what each capability does, costs and needs, by its effect, in pages, and how all of them relate.
 *
 * @module
 */

import { approvalWords, costWords, FREE, titleOf } from '../../../domain/sign-in/consent-words.ts';
import type { CapabilityDeclaration } from '../../../protocol/capability.ts';
import { ask } from '../../api.ts';
import { effectLook, Shown } from '../../parts/elements.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Ready, useLoaded } from '../../parts/loaded.tsx';
import { Fold, Row } from '../../parts/panels.tsx';
import { go, hrefOf } from '../../router.ts';
import type { Declarations } from '../agents/details.tsx';
import { EFFECTS } from '../agents/words.ts';
import { Relations } from './graph.tsx';

type Named = readonly [name: string, declaration: CapabilityDeclaration];

interface CatalogProps {
  readonly of: Declarations;
  readonly query: URLSearchParams;
}

/** Capabilities of one page. */
const PAGE_SIZE = 50;

/** The last effect of the list is the first group: what cannot be undone. */
const GROUPS = [...EFFECTS].reverse();

/** What else the list can be limited to. */
const ONLY: Readonly<
  Record<string, readonly [words: string, has: (of: CapabilityDeclaration) => boolean]>
> = {
  all: ['All', () => true],
  money: ['Costs money', ({ cost }) => costWords(cost) !== FREE],
  approval: ['Asks a person', ({ approval }) => approval !== undefined],
};

export function Catalog({ of, query }: CatalogProps) {
  const search = query.get('name')?.trim() ?? '';
  const only = query.get('only') ?? 'all';
  const from = Math.max(0, Math.floor(Number(query.get('from')) || 0));
  const all = Object.entries(of);
  const named = all.filter(([name]) => matches(name, search));
  const [, has] = ONLY[only] ?? ['', () => true];
  const found = GROUPS.flatMap((type) =>
    named.filter(([, each]) => each.side_effect.type === type && has(each)),
  );
  const page = found.slice(from, from + PAGE_SIZE);
  return (
    <>
      <div class="head mid">
        <h1>Capabilities</h1>
        <p class="small muted">
          {all.length}: {GROUPS.map((type) => countIn(all, type)).join(', ')}
        </p>
      </div>
      <Filters key={search} search={search} only={only} of={named} />
      {page.length === 0 ? (
        <Empty>
          {all.length > 0
            ? 'No capability matches. A shorter part of the name, or All, finds more.'
            : 'This service declares no capability. Its author adds them.'}
        </Empty>
      ) : null}
      {GROUPS.map((type) => (
        <Group key={type} type={type} found={found} page={page} />
      ))}
      <Pages search={search} only={only} from={from} count={found.length} />
      {search === '' && from === 0 ? <WholeGraph /> : null}
    </>
  );
}

const isOf =
  (type: (typeof EFFECTS)[number]) =>
  ([, { side_effect }]: Named) =>
    side_effect.type === type;

const COUNTED = {
  irreversible: 'cannot be undone',
  transactional: 'can be undone',
  write: 'change something',
  read: 'read',
} as const;

/** "5 cannot be undone". */
function countIn(all: readonly Named[], type: (typeof EFFECTS)[number]): string {
  return `${all.filter(isOf(type)).length} ${COUNTED[type]}`;
}

/** By name, with or without its underscores. */
function matches(name: string, search: string): boolean {
  const plain = (text: string) => text.toLowerCase().replace(/[_.\s-]+/g, ' ');
  return plain(name).includes(plain(search));
}

interface FiltersProps {
  readonly search: string;
  readonly only: string;
  readonly of: readonly Named[];
}

function Filters({ search, only, of }: FiltersProps) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    go(
      pageOf(String(new FormData(event.currentTarget as HTMLFormElement).get('name') ?? ''), only),
    );
  };
  return (
    <search aria-label="Search the catalog">
      <form class="row" onSubmit={submit}>
        <label class="find">
          <span class="vh">Name contains</span>
          <Icon name="search" />
          <input
            type="search"
            name="name"
            defaultValue={search}
            maxLength={128}
            autocomplete="off"
            placeholder="Part of a name"
          />
        </label>
        <button type="submit" class="little">
          Search the catalog
        </button>
        <nav class="chips" aria-label="Kinds of capabilities">
          {Object.entries(ONLY).map(([name, [words, has]]) => (
            <a
              key={name}
              href={pageOf(search, name)}
              {...(name === only && { 'aria-current': true })}
            >
              {words} {of.filter(([, each]) => has(each)).length}
            </a>
          ))}
        </nav>
        {search === '' ? null : <a href={hrefOf('capabilities')}>Show all</a>}
      </form>
    </search>
  );
}

function pageOf(search: string, only: string, from = 0): string {
  return hrefOf('capabilities', undefined, {
    ...(search.trim() !== '' && { name: search.trim() }),
    ...(only !== 'all' && { only }),
    ...(from > 0 && { from: String(from) }),
  });
}

interface GroupProps {
  readonly type: (typeof EFFECTS)[number];
  readonly found: readonly Named[];
  readonly page: readonly Named[];
}

function Group({ type, found, page }: GroupProps) {
  const shown = page.filter(isOf(type));
  const all = found.filter(isOf(type)).length;
  if (shown.length === 0) return null;
  return (
    <section class="group" aria-labelledby={`h-${type}`}>
      <div class="head">
        <h2 id={`h-${type}`}>{effectLook({ type }).words}</h2>
        <small>{shown.length === all ? all : `${all}, of which ${shown.length} are shown`}</small>
      </div>
      <ul class="list">
        {shown.map(([name, declaration]) => (
          <CapabilityRow key={name} name={name} declaration={declaration} />
        ))}
      </ul>
    </section>
  );
}

function CapabilityRow({
  name,
  declaration,
}: {
  name: string;
  declaration: CapabilityDeclaration;
}) {
  const { description, side_effect, cost, minimum_scope, inputs } = declaration;
  const { words, ...look } = effectLook(side_effect);
  const approval = approvalWords({ ...declaration, name });
  return (
    <Row
      {...look}
      says={words}
      href={hrefOf('capabilities', name)}
      title={
        <>
          {titleOf(name)} <code class="muted">{name}</code>
        </>
      }
      side={<span class="nb">{costWords(cost)}</span>}
    >
      <p>
        <Shown text={description} />
      </p>
      <p>
        {approval === undefined ? null : <b>{approval}. </b>}
        {side_effect.compensation === undefined
          ? null
          : `Undo: ${titleOf(side_effect.compensation)}. `}
        Needs {minimum_scope.length === 0 ? 'no scope' : <code>{minimum_scope.join(', ')}</code>}
        {inputs.length === 0 ? null : ', takes '}
        {inputs.length === 0 ? null : <code>{inputs.map((each) => each.name).join(', ')}</code>}
      </p>
    </Row>
  );
}

interface PagesProps {
  readonly search: string;
  readonly only: string;
  readonly from: number;
  readonly count: number;
}

function Pages({ search, only, from, count }: PagesProps) {
  if (count <= PAGE_SIZE) return null;
  const end = Math.min(count, from + PAGE_SIZE);
  return (
    <p class="row">
      <span>
        {from + 1} to {end} of {count}
      </span>
      {from > 0 ? <a href={pageOf(search, only, from - PAGE_SIZE)}>Before</a> : null}
      {end < count ? <a href={pageOf(search, only, end)}>Next</a> : null}
    </p>
  );
}

function WholeGraph() {
  const loaded = useLoaded(() => ask('graph', {}), []);
  return (
    <div class="folds">
      <Fold title="How they relate">
        <Ready of={loaded} what="The graph" loading="the relations">
          {(graph) => <Relations of={graph} />}
        </Ready>
      </Fold>
    </div>
  );
}
