/**
 * The view Operations: the state of the service, and what operators do about it. Each block loads by itself.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import type { Me, Operations, OperatorRight } from '../../protocol/console/views.ts';
import { ask } from '../api.ts';
import { me } from '../me.ts';
import { type Loaded, Loading, useLoaded } from '../parts/loaded.tsx';
import { growth } from './growth.ts';
import { Deliveries } from './operations/deliveries.tsx';
import { Freezes } from './operations/freezes.tsx';
import { Health } from './operations/health.tsx';
import { Identities } from './operations/identities.tsx';
import { Indeterminate } from './operations/indeterminate.tsx';
import { Keys } from './operations/keys.tsx';
import { Log } from './operations/log.tsx';
import { Sessions } from './operations/sessions.tsx';
import { Ready } from './ready.tsx';

export function OperationsView() {
  const person = me.value;
  return (
    <>
      <h1>Operations</h1>
      {person ? <Blocks person={person} /> : <Loading what="what you may do" />}
    </>
  );
}

interface BlockContext {
  readonly person: Me;
  /** One answer that several blocks show a part of. */
  readonly state: Loaded<Operations | undefined>;
}

interface BlockProps {
  /** Also its place in the page. */
  readonly name: string;
  readonly title: string;
  /** The right that reading it needs. */
  readonly needs: OperatorRight;
  show(context: BlockContext): ComponentChildren;
}

const BLOCKS: readonly BlockProps[] = [
  {
    name: 'health',
    title: 'Health',
    needs: 'read',
    show: ({ state }) => <Part of={state}>{(now) => <Health of={now} />}</Part>,
  },
  {
    name: 'log',
    title: 'Log',
    needs: 'read',
    show: ({ person, state }) => (
      <Part of={state}>{({ log }) => <Log of={log} person={person} onSealed={state.again} />}</Part>
    ),
  },
  {
    name: 'unknown',
    title: 'Calls of unknown outcome',
    needs: 'indeterminate',
    show: ({ person }) => <Indeterminate person={person} />,
  },
  {
    name: 'freezes',
    title: 'Freezes',
    needs: 'frozen',
    show: ({ person }) => <Freezes person={person} />,
  },
  { name: 'deliveries', title: 'Deliveries', needs: 'deliveries', show: () => <Deliveries /> },
  {
    name: 'keys',
    title: 'Keys',
    needs: 'read',
    show: ({ state }) => (
      <Part of={state}>
        {({ keys, settings }) => (
          <Keys of={keys} areInEnvironment={settings.keys === 'environment'} />
        )}
      </Part>
    ),
  },
  { name: 'identities', title: 'Identities', needs: 'read', show: () => <Identities /> },
  {
    name: 'sessions',
    title: 'Sessions',
    needs: 'read',
    show: ({ person }) => <Sessions mayEnd={person.operates.includes('revoke')} />,
  },
];

function Blocks({ person }: { readonly person: Me }) {
  const mayRead = person.operates.includes('read');
  const state = useLoaded<Operations | undefined>(
    () => (mayRead ? ask('operations', {}) : Promise.resolve(undefined)),
    [mayRead, growth.value],
  );
  const lacking = BLOCKS.filter(({ needs }) => !person.operates.includes(needs));
  return (
    <>
      {BLOCKS.filter((block) => !lacking.includes(block)).map((block) => (
        <section key={block.name} aria-labelledby={`h-${block.name}`}>
          <h2 id={`h-${block.name}`}>{block.title}</h2>
          {block.show({ person, state })}
        </section>
      ))}
      {lacking.length > 0 ? <Lacking blocks={lacking} /> : null}
    </>
  );
}

interface PartProps {
  readonly of: Loaded<Operations | undefined>;
  readonly children: (state: Operations) => ComponentChildren;
}

function Part({ of, children }: PartProps) {
  return (
    <Ready of={of} what="The state of the service">
      {(state) => (state ? children(state) : null)}
    </Ready>
  );
}

function Lacking({ blocks }: { readonly blocks: readonly BlockProps[] }) {
  return (
    <section aria-labelledby="h-lacking">
      <h2 id="h-lacking">Not shown to you</h2>
      <p>A person who configures the identities of this service can grant you the scopes.</p>
      <ul>
        {blocks.map(({ name, title, needs }) => (
          <li key={name}>
            {title}: needs <code>operator:{needs}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
