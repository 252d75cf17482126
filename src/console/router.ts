/**
 * Which view an address has. Links inside the console change the address without loading the page again.
 *
 * @module
 */

import { signal } from '@preact/signals';
import { base } from './api.ts';

export interface Route {
  /** Such as `approvals`; empty for the start. */
  readonly view: string;
  readonly id: string | undefined;
  readonly query: URLSearchParams;
}

export const route = signal(routeOf(location));

/** The address of a view. */
export function hrefOf(
  view: string,
  id?: string,
  query?: Readonly<Record<string, string>>,
): string {
  const path = `${base}/console/${view}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`;
  const text = new URLSearchParams(query).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Shows the view of an address, as a click on a link to it does. */
export function go(href: string): void {
  history.pushState(null, '', href);
  route.value = routeOf(location);
  scrollTo(0, 0);
}

/** Handles the clicks on all links of the console, and the buttons of the browser. */
export function startRouting(): void {
  addEventListener('popstate', () => {
    route.value = routeOf(location);
  });
  addEventListener('click', (event) => {
    const link = (event.target as Element | null)?.closest?.('a');
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (!link.pathname.startsWith(`${base}/console/`) || link.pathname.endsWith('.html')) return;
    if (link.pathname === location.pathname && link.hash) return;
    event.preventDefault();
    go(link.href);
  });
}

function routeOf({ pathname, search }: Location): Route {
  const [view = '', id] = pathname.slice(`${base}/console/`.length).split('/');
  return {
    view,
    id: id === undefined || id === '' ? undefined : decodeURIComponent(id),
    query: new URLSearchParams(search),
  };
}
