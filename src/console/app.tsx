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
import { Hatching } from './parts/budget.tsx';
import { Code, Shown } from './parts/elements.tsx';
import { CancelInvitation } from './parts/invitation.tsx';
import { Failed, Loading, useLoaded } from './parts/loaded.tsx';
import { ownTitle } from './parts/title.ts';
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
      <Hatching />
      <header class="top">
        <p>
          <b>Writ</b> {person ? <Shown text={person.service} /> : null}
        </p>
        {person ? <Navigation person={person} /> : null}
        {person ? <Account person={person} /> : null}
      </header>
      <main id="main">
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
          {view.title}
          {view.name === 'approvals' ? <Pending /> : null}
        </a>
      ))}
    </nav>
  );
}

function Pending() {
  const { pending = 0, pending_max = 0 } = pulse.value ?? {};
  if (pending === 0) return null;
  return <> ({pending >= pending_max ? `${pending_max} or more` : pending})</>;
}

/** Sessions end on a page that works without a script; one of the app around the service ends there. */
function Account({ person }: { readonly person: Me }) {
  return (
    <p>
      <Shown text={personOf(person.principal)} /> · <a href={hrefOf('passkeys')}>Passkeys</a>
      {person.session.is_of_app ? null : (
        <>
          {' · '}
          <a href={`${base}/agents`}>Sign out…</a>
        </>
      )}
    </p>
  );
}

function Connection() {
  if (connection.value === 'over') return <SessionOver />;
  const heard = heardAt.value;
  if (connection.value === 'live') {
    const words = heard === 0 ? 'Connecting' : `Live, checked ${clockOf(new Date(heard))}`;
    return (
      <p class="crumb">
        <Trail />
        <span class={heard === 0 ? 'live lost' : 'live'}>{words}</span>
      </p>
    );
  }
  const state =
    heard === 0
      ? ''
      : ` This is the state of ${clockOf(new Date(heard))}, ${spanWords(now.value - heard)} ago.`;
  return (
    <p class="crumb" role="status">
      <Trail />
      <span class="live lost">Reconnecting.{state}</span>
    </p>
  );
}

/** The way back from a page of one thing to its list. */
function Trail() {
  const { view, id } = route.value;
  const found = VIEWS.find(({ name }) => name === view);
  if (!found || id === undefined) return <span />;
  return (
    <span>
      <a href={hrefOf(found.name)}>{found.title}</a> / <Code text={id} />
    </span>
  );
}

function SessionOver() {
  const here = location.pathname.slice(base.length) + location.search;
  const href = `${base}/sign-in?${new URLSearchParams({ return_to: here })}`;
  return (
    <p class="notice warn" role="alert">
      <b>Your session is over.</b> What you see may be out of date.{' '}
      <a href={href}>Sign in again and come back here</a>
    </p>
  );
}

/** A key that no other key confirmed may be somebody else's: the person learns of it on every page. */
function WaitingKeys({ person }: { readonly person: Me }) {
  const waiting = person.passkeys.filter(isWaiting);
  return (
    <>
      {waiting.map(({ credential_id, label, created_at, usable_from }) => (
        <p key={credential_id} class="notice warn">
          <b>A new passkey waits.</b>{' '}
          <q>
            <Shown text={label} />
          </q>{' '}
          was added on {exact(created_at)} and counts from {exact(usable_from)} on. If you did not
          add it, <a href={hrefOf('passkeys')}>remove it now</a>.
        </p>
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
          <div key={invitation_id} class="notice warn" role="alert">
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
          </div>
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
