/**
 * Where the tools come from, and every tool of the policy: its effect, when a person is asked, its cost and its state.
 *
 * @module
 */

import { useState } from 'preact/hooks';
import { approvalWords, costWords, titleOf } from '../../../domain/sign-in/consent-words.ts';
import type { CapabilityDeclaration } from '../../../protocol/capability.ts';
import type { ToolReviews } from '../../../protocol/console/reviews.ts';
import { Code, effectLook, Pill, Shown } from '../../parts/elements.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty } from '../../parts/loaded.tsx';
import { Row } from '../../parts/panels.tsx';
import { hrefOf, route } from '../../router.ts';
import { durationWords } from '../capabilities/words.ts';
import { counted } from '../counted.ts';
import { Paged } from '../operations/turning.tsx';

export type Declarations = Readonly<Record<string, CapabilityDeclaration>>;

export function Servers({ of }: { readonly of: ToolReviews['servers'] }) {
  return (
    <section aria-labelledby="h-servers">
      <h2 id="h-servers">Servers</h2>
      <ul class="list">
        {of.map(({ where, tools }) => (
          <Row
            key={where}
            icon={/^https?:/.test(where) ? 'external' : 'tool'}
            title={<Code text={where} />}
            side={
              tools === null ? (
                <Pill state="danger">
                  <Icon name="cross" /> Not reachable
                </Pill>
              ) : (
                <Pill state="good">
                  <Icon name="check" /> Connected
                </Pill>
              )
            }
          >
            <p>
              {tools === null
                ? 'It does not list its tools: the log of the guard says why. Calls fail until it does.'
                : `It has ${counted(tools, 'tool')}. One that your policy does not name is off.`}
            </p>
          </Row>
        ))}
      </ul>
    </section>
  );
}

/** A tool of the policy: offered with its declaration, or off. */
interface Tool {
  readonly name: string;
  readonly declaration?: CapabilityDeclaration;
  /** Why it is off. */
  readonly why?: string;
}

const FILTERS = {
  all: { words: 'All', has: () => true },
  ask: { words: 'Ask a person', has: ({ declaration }: Tool) => Boolean(declaration?.approval) },
  final: {
    words: 'Cannot be undone',
    has: ({ declaration }: Tool) => declaration?.side_effect.type === 'irreversible',
  },
  off: { words: 'Off', has: ({ why }: Tool) => why !== undefined },
} as const;

interface AllProps {
  readonly of: Declarations;
  readonly off: ToolReviews['off'];
}

export function AllTools({ of, off }: AllProps) {
  const [search, seek] = useState('');
  const chosen = route.value.query.get('show') ?? 'all';
  const show = Object.hasOwn(FILTERS, chosen) ? (chosen as keyof typeof FILTERS) : 'all';
  const all: Tool[] = [
    ...Object.entries(of).map(([name, declaration]) => ({ name, declaration })),
    ...off,
  ];
  const found = all.filter((tool) => FILTERS[show].has(tool) && isSought(tool, search));
  return (
    <section aria-labelledby="h-all">
      <h2 id="h-all">All tools</h2>
      <div class="row">
        <label class="find">
          <span class="vh">Search the tools</span>
          <Icon name="search" />
          <input
            type="search"
            placeholder="Name or what it does"
            value={search}
            onInput={(event) => seek(event.currentTarget.value)}
          />
        </label>
        <fieldset class="chips">
          <legend class="vh">Show</legend>
          {Object.entries(FILTERS).map(([name, { words, has }]) => (
            <a
              key={name}
              href={hrefOf('tools', undefined, name === 'all' ? undefined : { show: name })}
              aria-current={name === show ? 'true' : undefined}
            >
              {words} {all.filter(has).length}
            </a>
          ))}
        </fieldset>
      </div>
      {found.length === 0 ? (
        <Empty>No tool is like this. A shorter word finds more.</Empty>
      ) : (
        <Paged key={`${show} ${search}`} what="tools" items={found} size={50}>
          {(page) => (
            <ul class="list">
              {page.map((tool) => (
                <ToolRow key={tool.name} of={tool} />
              ))}
            </ul>
          )}
        </Paged>
      )}
    </section>
  );
}

function isSought({ name, declaration, why }: Tool, search: string): boolean {
  const plain = (text: string) =>
    text
      .toLowerCase()
      .replace(/[_.\s-]+/g, ' ')
      .trim();
  return plain(`${name} ${declaration?.description ?? why ?? ''}`).includes(plain(search));
}

function ToolRow({ of: { name, declaration, why } }: { readonly of: Tool }) {
  const title = (
    <>
      {titleOf(name)} <code class="muted">{name}</code>
    </>
  );
  if (!declaration) {
    return (
      <Row icon="stop" title={title} side={<Pill state="off">Off</Pill>}>
        <p>
          <Shown text={why ?? ''} />
        </p>
      </Row>
    );
  }
  const { words, icon, isFinal } = effectLook(declaration.side_effect);
  const { rate_limit: rate, cost } = declaration;
  const rule = approvalWords({ ...declaration, name }) ?? 'Runs without asking';
  const limit = rate && `at most ${counted(rate.limit, 'call')} in ${durationWords(rate.window)}`;
  return (
    <Row
      href={hrefOf('capabilities', name)}
      icon={icon}
      says={words}
      isFinal={isFinal}
      title={title}
      side={
        <Pill state="good">
          <Icon name="check" /> On
        </Pill>
      }
    >
      <p>{[rule, costWords(cost), limit].filter(Boolean).join(' · ')}</p>
    </Row>
  );
}
