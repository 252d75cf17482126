/**
 * The frame around every view: navigation, the state of the connection, the person, and notices that concern every
 * view.
 *
 * @module
 */

import { signal, useSignalEffect } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { personOf } from '../domain/decision/values.ts';
import { clockOf, exact, spanWords } from '../domain/values/time-words.ts';
import type { Me } from '../protocol/console/views.ts';
import { base, connection, heardAt, loadMe, me, now, pulse, startLive } from './api.ts';
import { announced } from './parts/announce.ts';
import { Shown } from './parts/elements.tsx';
import { Icon } from './parts/icon.tsx';
import { CancelInvitation } from './parts/invitation.tsx';
import { Failed, Loading, useLoaded } from './parts/loaded.tsx';
import { Notice } from './parts/panels.tsx';
import { neighbour, ownTitle } from './parts/title.ts';
import { isWaiting } from './parts/waiting-key.ts';
import { hrefOf, route, startRouting } from './router.ts';
import { VIEWS, type View } from './views.ts';

startRouting();
startLive();

export function App() {
  const loading = useLoaded(loadMe, []);
  const person = me.value;
  return (
    <>
      <a class="vh" href="#main">
        Skip to the page
      </a>
      <header class="rail">
        <Brand service={person?.service} />
        {person ? <Places person={person} /> : null}
      </header>
      <main id="main">
        <Trail />
        <Connection />
        {person ? <WaitingKeys person={person} /> : null}
        {person ? <Recoveries /> : null}
        {person ? <Current person={person} /> : null}
        {!person && loading.state === 'loading' ? <Loading what="who is signed in" /> : null}
        {!person && loading.state === 'failed' ? (
          <>
            <h1>The console did not load</h1>
            <Failed what="Who is signed in" why={loading.why} again={loading.again} />
          </>
        ) : null}
      </main>
      <p class="vh" role="status">
        {announced}
      </p>
    </>
  );
}

/** The view of the address; the start has the first one that the person can use. */
function currentOf(person: Me): View | undefined {
  const { view } = route.value;
  if (view === '') return VIEWS.find(({ isFor }) => isFor(person));
  return VIEWS.find(({ name }) => name === view);
}

function Brand({ service }: { readonly service: string | undefined }) {
  return (
    <a class="brand" href={hrefOf('')}>
      <svg class="mark" aria-hidden="true">
        <use href="#i-mark" />
      </svg>
      <span>
        <b>Writ</b>{' '}
        {service === undefined ? null : (
          <span>
            <Shown text={service} />
          </span>
        )}
      </span>
    </a>
  );
}

/** On a phone they open from the bar, and close when one is chosen. */
function Places({ person }: { readonly person: Me }) {
  const places = useRef<HTMLDivElement>(null);
  useSignalEffect(() => {
    if (route.value && places.current?.matches(':popover-open')) places.current.hidePopover();
  });
  const [first] = VIEWS.filter(({ count }) => count);
  return (
    <>
      <button type="button" class="menu little" popovertarget="places">
        Menu {first?.isFor(person) ? <Counted view={first} /> : null}
      </button>
      <div class="places" id="places" popover="auto" ref={places}>
        <Navigation person={person} />
        <div class="who">
          <Live />
          <Account person={person} />
        </div>
      </div>
    </>
  );
}

function Navigation({ person }: { readonly person: Me }) {
  const current = currentOf(person);
  return (
    <nav aria-label="Console">
      {VIEWS.filter((view) => view.isFor(person) && view.name !== 'passkeys').map((view) => (
        <a
          key={view.name}
          href={hrefOf(view.name)}
          aria-current={view === current ? 'page' : undefined}
        >
          <Icon name={view.icon} />
          <span class="name">{view.title}</span> <Counted view={view} />
        </a>
      ))}
    </nav>
  );
}

function Counted({ view }: { readonly view: View }) {
  const count = pulse.value && view.count?.(pulse.value);
  if (!count) return null;
  return (
    <span class={`count ${count.look}`}>
      {count.digits} <span class="vh">{count.words}</span>
    </span>
  );
}

/** Sessions end on a page that works without a script; one of the app around the service ends there. */
function Account({ person }: { readonly person: Me }) {
  return (
    <>
      <p>
        <b>
          <Shown text={personOf(person.principal)} />
        </b>
      </p>
      <a href={hrefOf('passkeys')}>
        <Icon name="passkey" /> Passkeys
      </a>
      {person.session.is_of_app ? null : (
        <a href={`${base}/agents`}>
          <Icon name="external" /> Sign out…
        </a>
      )}
    </>
  );
}

function Live() {
  const heard = heardAt.value;
  if (connection.value === 'live' && heard > 0) {
    return (
      <p>
        <span class="live">Live, checked {clockOf(new Date(heard))}</span>
      </p>
    );
  }
  return (
    <p>
      <span class="live lost">{connection.value === 'live' ? 'Connecting' : 'Not connected'}</span>
    </p>
  );
}

/** What is shown may be out of date. */
function Connection() {
  if (connection.value === 'over') return <SessionOver />;
  if (connection.value === 'live') return null;
  const heard = heardAt.value;
  const state =
    heard === 0
      ? ''
      : ` This is the state of ${clockOf(new Date(heard))}, ${spanWords(now.value - heard)} ago.`;
  return (
    <p class="crumb" role="status">
      <span class="live lost">Reconnecting.{state}</span>
    </p>
  );
}

/** The way back from a page of one thing to its list. */
function Trail() {
  const { view, id } = route.value;
  const found = VIEWS.find(({ name }) => name === view);
  if (!found || id === undefined) return null;
  return (
    <p class="crumb">
      <a href={hrefOf(found.name)}>{found.title}</a>
      {neighbour.value ? (
        <span>
          {neighbour.value.place}{' '}
          {neighbour.value.next === undefined ? null : (
            <a href={hrefOf(found.name, neighbour.value.next)}>
              Next <Icon name="chevron" />
            </a>
          )}
        </span>
      ) : null}
    </p>
  );
}

function SessionOver() {
  const here = location.pathname.slice(base.length) + location.search;
  const href = `${base}/sign-in?${new URLSearchParams({ return_to: here })}`;
  return (
    <Notice state="warn" isAlert>
      <b>Your session is over.</b> What you see may be out of date.{' '}
      <a href={href}>Sign in again and come back here</a>
    </Notice>
  );
}

/** A key that no other key confirmed may be somebody else's: the person learns of it on every page. */
function WaitingKeys({ person }: { readonly person: Me }) {
  const waiting = person.passkeys.filter(isWaiting);
  return (
    <>
      {waiting.map(({ credential_id, label, created_at, usable_from }) => (
        <Notice key={credential_id} state="warn">
          <b>A new passkey waits.</b>{' '}
          <q>
            <Shown text={label} />
          </q>{' '}
          was added on {exact(created_at)} and counts from {exact(usable_from)} on. If you did not
          add it, <a href={hrefOf('passkeys')}>remove it now</a>.
        </Notice>
      ))}
    </>
  );
}

/** An invitation of a person who may approve may be an attack: that person and the other approvers learn of it on every page. */
function Recoveries() {
  return (
    <>
      {(pulse.value?.recoveries ?? []).map(
        ({ invitation_id, principal, invited_by, waits_until }) => (
          <Notice key={invitation_id} state="warn" isAlert>
            <p>
              <b>
                <Shown text={personOf(principal)} /> is invited again
              </b>{' '}
              by <Shown text={personOf(invited_by)} />
              {waits_until === null
                ? ' and can make a new passkey.'
                : `, and has a new passkey that can approve from ${exact(waits_until)} on.`}{' '}
              If nobody lost a device, cancel it.
            </p>
            <CancelInvitation of={invitation_id} class="danger">
              Cancel it
            </CancelInvitation>
          </Notice>
        ),
      )}
    </>
  );
}

/** Views that were loaded, by name. */
const components = signal<ReadonlyMap<string, ComponentType>>(new Map());

async function loadView(view: View | undefined): Promise<void> {
  if (!view || components.value.has(view.name)) return;
  const component = await view.load();
  components.value = new Map(components.value).set(view.name, component);
}

function Current({ person }: { readonly person: Me }) {
  const view = currentOf(person);
  const loading = useLoaded(() => loadView(view), [view]);
  const Component = view && components.value.get(view.name);
  useHeadingFocus(Component);
  useSignalEffect(() => {
    const words = ownTitle.value ?? currentOf(person)?.title ?? 'No such page';
    document.title = `${words} · ${person.service}`;
  });
  if (!view) return <NoSuchPage />;
  if (!view.isFor(person) && view.lack !== undefined) return <NotFor view={view} />;
  if (Component) return <Component key={view.name} />;
  if (loading.state !== 'failed') return <Loading what={view.title} />;
  const why = 'the files of the page could not be read, perhaps because the service was updated';
  return <Failed what={`The page ${view.title}`} why={why} again={() => location.reload()} />;
}

/** After a navigation the focus moves to the heading; the first page keeps the browser's own focus. */
function useHeadingFocus(component: ComponentType | undefined): void {
  const last = useRef(route.value);
  useEffect(() => {
    if (last.current === route.value) return;
    const heading = document.querySelector<HTMLElement>('main h1');
    if (!heading) return;
    last.current = route.value;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }, [component, route.value]);
}

function NoSuchPage() {
  return (
    <>
      <h1>There is no such page</h1>
      <p>
        The console has no page at this address. <a href={hrefOf('')}>Go to the first page</a>
      </p>
    </>
  );
}

function NotFor({ view }: { readonly view: View }) {
  return (
    <>
      <h1>{view.title}</h1>
      <p>{view.lack}</p>
    </>
  );
}
