/**
 * The view Operations: the state of the service, and what operators do about it. Each block loads by itself.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Me, Operations, OperatorRight } from '../../protocol/console/views.ts';
import { ask, me } from '../api.ts';
import { Ago, Fact, Heads, Pill, Shown } from '../parts/elements.tsx';
import { type Loaded, Loading, Ready, useLoaded, whyOf } from '../parts/loaded.tsx';
import { hrefOf } from '../router.ts';
import { growth } from './growth.ts';
import { Deliveries } from './operations/deliveries.tsx';
import { Freezes } from './operations/freezes.tsx';
import { Identities } from './operations/identities.tsx';
import { Indeterminate } from './operations/indeterminate.tsx';
import { Keys } from './operations/keys.tsx';
import { People } from './operations/people.tsx';
import { Sessions } from './operations/sessions.tsx';
import { type Done, Outcome } from './outcome.tsx';

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
  { name: 'people', title: 'People', needs: 'identities', show: () => <People /> },
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

/** Health: whether the service takes work, what runs, and how it is set. */
function Health({ of }: { readonly of: Operations }) {
  const { unready, version, node, store, started_at, settings } = of;
  return (
    <>
      {unready.length === 0 ? (
        <p>
          <Pill state="good">Ready</Pill> The service takes work.
        </p>
      ) : (
        <div class="notice bad" role="status">
          <h3>The service does not take work</h3>
          <ul>
            {unready.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        </div>
      )}
      <dl class="facts small">
        <Fact term="Writ" is={version} />
        <Fact term="Node" is={node} />
        <Fact term="Store" is={store} />
        <Fact term="Started" is={<Ago at={started_at} />} />
      </dl>
      <Settings of={settings} />
    </>
  );
}

function Settings({ of }: { readonly of: Operations['settings'] }) {
  const names = Object.keys(of).sort();
  if (names.length === 0) return null;
  return (
    <details>
      <summary>All {names.length} settings that are not secret</summary>
      <table>
        <Heads of={['Setting', 'Value']} />
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <th scope="row">
                <code>{name}</code>
              </th>
              <td>
                <code>{String(of[name])}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

interface LogProps {
  readonly of: Operations['log'];
  readonly person: Me;
  /** Loads the state again. */
  onSealed(): void;
}

/** The log: its length, its last checkpoint, what waits to be sealed, and why sealing is refused. */
function Log({ of, person, onSealed }: LogProps) {
  const { entries, waiting, is_anchored, refused, checkpoint, witnesses } = of;
  return (
    <>
      {refused === null ? null : (
        <div class="notice bad" role="status">
          <h3>The service seals no checkpoint</h3>
          <p>
            <Shown text={refused} />
          </p>
        </div>
      )}
      <dl class="facts small">
        <Fact term="Entries">
          {entries.toLocaleString('en')}
          {waiting === 0
            ? ''
            : `, and ${waiting.toLocaleString('en')} that wait for their place in the tree`}
        </Fact>
        <Fact term="Sealed" is={<Sealed isAnchored={is_anchored} checkpoint={checkpoint} />} />
        <Fact term="Witnesses">
          {witnesses.length === 0
            ? 'None. An operator names them in the settings of the service.'
            : witnesses.map((witness) => <p key={witness}>{witness}</p>)}
        </Fact>
      </dl>
      {is_anchored && person.operates.includes('checkpoints') ? (
        <SealNow onSealed={onSealed} />
      ) : null}
    </>
  );
}

function Sealed({
  isAnchored,
  checkpoint,
}: {
  readonly isAnchored: boolean;
  readonly checkpoint: Operations['log']['checkpoint'];
}) {
  if (!isAnchored) return <>This service does not seal its log.</>;
  if (!checkpoint) return <>No checkpoint yet</>;
  return (
    <>
      <a href={hrefOf('trust')}>Checkpoint {checkpoint.sequence}</a>{' '}
      <Ago at={checkpoint.created_at} />
    </>
  );
}

function SealNow({ onSealed }: Pick<LogProps, 'onSealed'>) {
  const isBusy = useSignal(false);
  const done = useSignal<Done | undefined>(undefined);
  const seal = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    try {
      const { checkpoint } = await ask('operator.checkpoints', {});
      const count = checkpoint.entry_count.toLocaleString('en');
      done.value = { words: `Checkpoint ${checkpoint.sequence} covers ${count} entries.` };
      onSealed();
    } catch (error) {
      done.value = { words: whyOf(error), isPartial: true };
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <>
      <button type="button" aria-disabled={isBusy.value} onClick={() => void seal()}>
        Seal a checkpoint now
      </button>
      <Outcome of={done.value} />
    </>
  );
}
