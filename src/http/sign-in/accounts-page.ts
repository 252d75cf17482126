/**
 * "Accounts": the logins of a person at other services that agents of the person use. Each is connected and
 * disconnected here.
 *
 * @module
 */

import { escapeHtml } from '../../openapi/html.ts';
import type { AccountsView, AccountView } from '../../service/accounts/accounts.ts';
import { type Frame, foreignHtml, form, page } from './frame.ts';
import { time } from './values.ts';

export function accountsPage(frame: Frame, { accounts, now }: AccountsView): string {
  const rows = accounts.map((account) => accountRow(frame, account, now));
  const main = `<h1>Accounts</h1>
<p>Your agents use these accounts of yours at other services. No agent sees your password or a key of an account.</p>
<section aria-labelledby="h-accounts"><h2 id="h-accounts">At other services</h2>
<ul class="sessions">${rows.join('\n')}</ul>
<p class="small muted">An account is disconnected when your last agent has ended. Signing out disconnects none.</p></section>`;
  return page(frame, { title: 'Accounts', main });
}

/**
 * The way to the other service, which the browser takes by itself. A page and no redirect: Chromium holds the answer to
 * a form to `form-action` through every further redirect, and other services redirect to hosts that no policy can name.
 */
export function leavingPage(frame: Frame, location: string): string {
  const { host } = new URL(location);
  const main = `<h1>Log in at the other service</h1>
<p><a class="button" rel="noreferrer" href="${escapeHtml(location)}">Go on to ${foreignHtml(host)}</a></p>`;
  return page(frame, { title: 'Log in at the other service', main, isNarrow: true });
}

const STATE = {
  connected: '<span class="pill good">Connected</span>',
  expired: '<span class="pill off">Expired</span>',
  none: '<span class="pill off">Not connected</span>',
} as const satisfies Record<AccountView['state'], string>;

function accountRow(frame: Frame, account: AccountView, now: Date): string {
  const { name, title, authorize, state, since } = account;
  const isConnected = state === 'connected';
  const when =
    since && state !== 'none' ? `<br><span class="small">Since ${time(since, now)}</span>` : '';
  const which = `<span class="vh"> ${foreignHtml(title)}</span>`;
  const connect = `<button${isConnected ? ' class="text"' : ''}>${state === 'none' ? 'Connect' : 'Connect again'}${which}</button>`;
  const end = `<button class="text">Disconnect${which}</button>`;
  return `<li class="head"><p><b>${foreignHtml(title)}</b> ${STATE[state]}${when}
<br><span class="small">${scopeWords(account)}</span>
<br><span class="small muted">You log in at ${foreignHtml(new URL(authorize).host)}</span></p>
<div class="row">${form(frame, `/accounts/${escapeHtml(name)}/connect`, connect)}
${state === 'none' ? '' : form(frame, `/accounts/${escapeHtml(name)}/disconnect`, end)}</div></li>`;
}

/** Scopes that are listed; more are counted. */
const SCOPES_MAX = 12;

function scopeWords({ scopes, state }: AccountView): string {
  if (scopes.length === 0) return 'No permission is named';
  const listed = scopes.slice(0, SCOPES_MAX).map((scope) => `<code>${foreignHtml(scope)}</code>`);
  const more = scopes.length - listed.length;
  const names = [...listed, ...(more > 0 ? [`${more} more`] : [])].join(', ');
  return `${state === 'none' ? 'Asks for' : 'Allows'} ${names}`;
}
