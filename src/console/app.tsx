/**
 * The frame around every view: navigation, the state of the connection, and the person.
 *
 * @module
 */

import { base } from './api.ts';
import { connection, heardAt, now, pulse, startLive } from './live.ts';
import { loadMe, me } from './me.ts';
import { hrefOf, place, startRouting } from './router.ts';
import { VIEWS } from './views.ts';

startRouting();
startLive();
void loadMe();

export function App() {
  const person = me.value;
  if (!person) return <p class="loading">Loading who is signed in…</p>;
  const shown = VIEWS.filter(({ isFor }) => isFor(person));
  const current = shown.find(({ name }) => name === place.value.view) ?? shown[0];
  const pending = pulse.value?.pending ?? 0;
  return (
    <>
      <a class="vh" href="#main">
        Skip to the page
      </a>
      <header class="top">
        <p>
          <b>Writ</b> {person.service}
        </p>
        <nav aria-label="Console">
          {shown.map(({ name, title }) => (
            <a
              key={name}
              href={hrefOf(name)}
              aria-current={name === current?.name ? 'page' : undefined}
            >
              {title}
              {name === 'approvals' && pending > 0 ? ` (${pending})` : ''}
            </a>
          ))}
        </nav>
        <p>
          <span class={connection.value === 'live' ? 'live' : 'live lost'}>
            {connection.value === 'live'
              ? `Live, ${new Date(now.value).toISOString()}`
              : `Reconnecting. This is the state of ${new Date(heardAt.value).toISOString()}`}
          </span>{' '}
          <a href={`${base}/agents`}>{person.principal.replace(/^human:/, '')}</a>
        </p>
      </header>
      <main id="main">{current ? <current.View key={current.name} /> : null}</main>
    </>
  );
}
