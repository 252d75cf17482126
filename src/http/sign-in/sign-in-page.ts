/**
 * The page where a person signs in: with an identity provider, with a passkey, or with a key on loopback.
 *
 * The way that most people use comes first, as the one blue button: a provider, else a key where one is taken, else a
 * passkey. Below a provider the key is folded. Providers are links, not forms: the way leads to another origin, to which
 * the policy lets no form lead.
 *
 * @module
 */

import { escapeHtml } from '../../openapi/html.ts';
import type { SignInQuestion } from '../../service/people/passkey-sign-in.ts';
import { BIG_MARK, foreignHtml, icon } from '../page/frame.ts';
import { type Frame, form, hidden, page, problemNotice } from './frame.ts';
import { PASSKEY_SCRIPT, passkeyForm } from './passkey-page.ts';

interface SignInView {
  readonly providers: readonly { readonly id: string; readonly label: string }[];
  /** Absent where the address of the service cannot have passkeys. */
  readonly question?: SignInQuestion | undefined;
  /** Whether a key is accepted. */
  readonly takesKey: boolean;
  /** The path that the person came for. */
  readonly returnTo: string;
  /** Where the pages of the service are. */
  readonly host: string;
  /** Of the app around the service, where it signs people in to the console. */
  readonly appOrigin?: string | undefined;
  readonly problem?: string | undefined;
}

export function signInPage(frame: Frame, view: SignInView): string {
  const { question, host, problem } = view;
  const title = `Sign in to ${frame.service}`;
  const ways = waysIn(frame, view);
  const main = `<div class="stack">${BIG_MARK}
<h1>Sign in to <bdi>${escapeHtml(frame.service)}</bdi></h1>
<p class="muted">You decide what agents may do for you, and stop them.${backWords(view)}</p></div>
${problemNotice(problem)}
${appNotice(frame, view)}
<div class="panel">${ways.length === 0 ? NO_WAY : ways.join('\n')}</div>
<p class="small muted">This page is at <b>${escapeHtml(host)}</b>: compare it with the address that your browser shows. Writ never asks for a code that an agent gave you.</p>`;
  return page(frame, { title, main, isSlim: true, ...(question && { script: PASSKEY_SCRIPT }) });
}

const NO_WAY =
  '<p>There is no way to sign in here. An operator of the service can configure one.</p>';

function backWords({ returnTo }: SignInView): string {
  if (returnTo.startsWith('/authorize?')) return ' Then you decide on the request of the program.';
  return returnTo === '/agents' ? '' : ' After this you come back to the page that you opened.';
}

function appNotice({ basePath }: Frame, { appOrigin, returnTo }: SignInView): string {
  if (appOrigin === undefined || !returnTo.startsWith('/console/')) return '';
  const again = `<a href="${escapeHtml(basePath + returnTo)}">open the page again</a>`;
  return `<p>If you have an account in the app at <bdi>${escapeHtml(appOrigin)}</bdi>, sign in there, then ${again}.</p>`;
}

const OR = '<p class="or">or</p>';

/** HTML, in the order in which the page shows them. */
function waysIn(frame: Frame, view: SignInView): string[] {
  const { providers, question, takesKey, returnTo } = view;
  const isFirst = providers.length === 0 && !takesKey;
  const passkey = question && passkeyForm(frame, question, { returnTo, isFirst });
  const key = takesKey ? keyForm(frame, view) : undefined;
  if (providers.length === 0) return joined([key, passkey]);
  return [...joined([providerLinks(frame, view), passkey]), ...(key ? [folded(key, view)] : [])];
}

function joined(ways: readonly (string | undefined)[]): string[] {
  const offered = ways.filter((way) => way !== undefined);
  return offered.flatMap((way, index) => (index === 0 ? [way] : [OR, way]));
}

function providerLinks({ basePath }: Frame, { providers, returnTo }: SignInView): string {
  const links = providers.map(({ id, label }, index) => {
    const query = new URLSearchParams({ provider: id, return_to: returnTo });
    const kind = index === 0 ? 'button act' : 'button';
    const href = escapeHtml(`${basePath}/sign-in/start?${query}`);
    return `<a class="${kind}" href="${href}">${icon('person')} <span>Continue with ${foreignHtml(label)}</span></a>`;
  });
  return links.join('\n');
}

function keyForm(frame: Frame, { providers, returnTo }: SignInView): string {
  const kind = providers.length === 0 ? ' class="act"' : '';
  const fields = `${hidden('return_to', returnTo)}
<div class="field"><label for="key">Key</label>
<input id="key" name="key" type="password" required maxlength="512" autocomplete="off" autocapitalize="off"
 spellcheck="false" aria-describedby="key-hint">
<small id="key-hint">It is taken on this computer only. The owner of a guard has it in <code>.writ/guard-owner.key</code>, the owner of a service that <code>writ init</code> made in <code>owner.key</code>.</small></div>
<button${kind}>${icon('key')} Sign in with this key</button>`;
  return form(frame, '/sign-in', fields);
}

/** Open after a problem, which may be that of the key. */
function folded(key: string, { problem }: SignInView): string {
  const open = problem === undefined ? '' : ' open';
  return `<details${open}><summary class="more">${icon('chevron', { look: 'turn' })}<span>Sign in with a key</span></summary>
${key}</details>`;
}
