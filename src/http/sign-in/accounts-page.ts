/**
 * "Accounts": the logins of a person at other services that agents of the person use. Each is connected and
 * disconnected here.
 *
 * @module
 */

import { escapeHtml } from '../../openapi/html.ts';
import type { AccountsView, AccountView } from '../../service/accounts/accounts.ts';
import { foreignHtml, icon } from '../page/frame.ts';
import { type Frame, form, page } from './frame.ts';
import { time } from './values.ts';

export function accountsPage(frame: Frame, { accounts, now }: AccountsView): string {
  const rows = accounts.map((account) => accountRow(frame, account, now));
  const main = `<h1>Accounts</h1>
<p class="lead">Your agents use these accounts of yours at other services. No agent sees your password or a key of an account.</p>
<ul class="list">${rows.join('\n')}</ul>
<p class="small muted">An account is disconnected when your last agent has ended. Signing out disconnects none.</p>`;
  return page(frame, { title: 'Accounts', main });
}

/**
 * The way to the other service, which the browser takes by itself. A page and no redirect: Chromium holds the answer to
 * a form to `form-action` through every further redirect, and other services redirect to hosts that no policy can name.
 */
export function leavingPage(frame: Frame, location: string): string {
  const { host } = new URL(location);
  const main = `<h1>Log in at the other service</h1>
<p><a class="button act" rel="noreferrer" href="${escapeHtml(location)}">Go on to ${foreignHtml(host)}</a></p>`;
  return page(frame, { title: 'Log in at the other service', main });
}

const STATE = {
  connected: '<span class="pill good">Connected</span>',
  expired: '<span class="pill off">Expired</span>',
  none: '<span class="pill off">Not connected</span>',
} as const satisfies Record<AccountView['state'], string>;

function accountRow(frame: Frame, account: AccountView, now: Date): string {
  const { name, title, authorize, state, since } = account;
  const isConnected = state === 'connected';
  const when = since && state !== 'none' ? `<p>Since ${time(since, now)}</p>` : '';
  const which = `<span class="vh"> ${foreignHtml(title)}</span>`;
  const look = isConnected ? 'little' : 'little act';
  const connect = `<button class="${look}">${state === 'none' ? 'Connect' : 'Connect again'}${which}</button>`;
  const end = `<button class="little">Disconnect${which}</button>`;
  return `<li>${icon('key')}<div class="body"><h2>${foreignHtml(title)} ${STATE[state]}</h2>${when}
<p>${scopeWords(account)}</p>
<p>You log in at ${foreignHtml(new URL(authorize).host)}</p></div>
<div class="side">${form(frame, `/accounts/${escapeHtml(name)}/connect`, connect)}
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
