/**
 * The page where a person signs in: with an identity provider, with a passkey, or with a demo key on loopback.
 *
 * Providers are links, not forms: the way leads to another origin, to which the policy lets no form lead.
 *
 * @module
 */

import { escapeHtml } from '../../openapi/html.ts';
import type { SignInQuestion } from '../../service/people/passkey-sign-in.ts';
import { type Frame, foreignHtml, form, hidden, page, problemNotice } from './frame.ts';
import { PASSKEY_SCRIPT, passkeyForm } from './passkey-page.ts';

interface SignInView {
  readonly providers: readonly { readonly id: string; readonly label: string }[];
  /** Absent where the address of the service cannot have passkeys. */
  readonly question?: SignInQuestion | undefined;
  /** Whether a demo key is accepted. */
  readonly takesKey: boolean;
  /** The path that the person came for. */
  readonly returnTo: string;
  /** Of the app around the service, where it signs people in to the console. */
  readonly appOrigin?: string | undefined;
  readonly problem?: string | undefined;
}

export function signInPage(frame: Frame, view: SignInView): string {
  const { providers, takesKey, question, returnTo, problem } = view;
  const isFirst = providers.length === 0 && !takesKey;
  const title = `Sign in to ${frame.service}`;
  const main = `<h1>Sign in to <bdi>${escapeHtml(frame.service)}</bdi></h1>
${problemNotice(problem)}
<p>Here you decide what an agent may do for you, and end it.</p>
${appNotice(frame, view)}
${providerLinks(frame, view)}
${question ? passkeyForm(frame, question, { returnTo, isFirst }) : ''}
${takesKey ? keyForm(frame, view) : ''}
${isFirst && !question ? '<p>There is no way to sign in here. An operator of the service can configure one.</p>' : ''}`;
  return page(frame, { title, main, isNarrow: true, ...(question && { script: PASSKEY_SCRIPT }) });
}

function appNotice({ basePath }: Frame, { appOrigin, returnTo }: SignInView): string {
  if (appOrigin === undefined || !returnTo.startsWith('/console/')) return '';
  const again = `<a href="${escapeHtml(basePath + returnTo)}">open the page again</a>`;
  return `<p>If you have an account in the app at <bdi>${escapeHtml(appOrigin)}</bdi>, sign in there, then ${again}.</p>`;
}

function providerLinks({ basePath }: Frame, { providers, returnTo }: SignInView): string {
  if (providers.length === 0) return '';
  const links = providers.map(({ id, label }, index) => {
    const query = new URLSearchParams({ provider: id, return_to: returnTo });
    const kind = index === 0 ? 'button act' : 'button';
    const href = escapeHtml(`${basePath}/sign-in/start?${query}`);
    return `<li><a class="${kind}" href="${href}"><span>Sign in with ${foreignHtml(label)}</span></a></li>`;
  });
  return `<ul class="row">${links.join('\n')}</ul>`;
}

function keyForm(frame: Frame, { providers, returnTo }: SignInView): string {
  const kind = providers.length === 0 ? ' class="act"' : '';
  const fields = `${hidden('return_to', returnTo)}
<div class="field"><label for="key">Demo key</label>
<input id="key" name="key" type="password" required maxlength="512" autocomplete="off" autocapitalize="off"
 spellcheck="false" aria-describedby="key-hint">
<small id="key-hint">A key of a person in the configuration of this service. It is accepted on this computer only.</small></div>
<div class="row"><button${kind}>Sign in with this key</button></div>`;
  return `<section aria-labelledby="h-key"><h2 id="h-key">With a demo key</h2>
${form(frame, '/sign-in', fields)}</section>`;
}
