/**
 * The parts of pages that ask for a passkey: the button of the sign-in page, and the two pages of an enrolment.
 *
 * A form carries what the script needs in its attributes, and sends what the device answered in hidden fields. The script is
 * one text inside the page, named by its digest in the policy. It calls no address itself.
 *
 * @module
 */

import { COSE_ALGORITHMS } from '../../domain/passkey/key.ts';
import { escapeHtml, textHash } from '../../openapi/html.ts';
import { PASSKEY_LABEL_MAX } from '../../protocol/console/methods.ts';
import type { EnrolmentView } from '../../service/people/enrolment.ts';
import type { SignInQuestion } from '../../service/people/passkey-sign-in.ts';
import { BIG_MARK, foreignHtml, icon, notice } from '../page/frame.ts';
import { type Frame, form, hidden, page, problemNotice } from './frame.ts';
import { personName } from './names.ts';

/** Without a script there is no passkey, so the page says so. */
const NO_SCRIPT = `<noscript>${notice('warn', 'A passkey needs JavaScript, and it is off in this browser.')}</noscript>`;

/** Filled by the script when the device does not answer. */
const WHY = '<p class="bad" role="alert" hidden></p>';

/** The button of the sign-in page. */
export function passkeyForm(
  frame: Frame,
  { challenge, rp_id }: SignInQuestion,
  { returnTo, isFirst }: { readonly returnTo: string; readonly isFirst: boolean },
): string {
  const answers = ['credential_id', 'client_data', 'authenticator_data', 'signature'];
  const fields = `${hidden('return_to', returnTo)}${hidden('challenge', challenge)}
${answers.map((name) => hidden(name, '')).join('')}
<button${isFirst ? ' class="act"' : ''}>${icon('passkey')} Use a passkey</button>${WHY}`;
  const asked = { passkey: 'get', challenge, 'rp-id': rp_id };
  return `${asking(form(frame, '/sign-in/passkey', fields), asked)}${NO_SCRIPT}`;
}

/** The page of a link. The script takes the secret from the fragment of the address, which no server sees. */
export function linkPage(frame: Frame, { link = '', problem }: LinkView): string {
  const fields = `<input type="hidden" name="link" value="${escapeHtml(link)}" data-link>
<div class="field"><label for="code">Code</label>
<input id="code" name="code" required inputmode="numeric" pattern="\\s*(\\d\\s*){6}" maxlength="20"
 autocomplete="one-time-code" aria-describedby="code-hint">
<small id="code-hint">Six digits. The person who invited you gives you the code by another way than the link.</small></div>
<button class="act">Continue</button>`;
  const main = `<div class="stack">${BIG_MARK}
<h1>You are invited to <bdi>${escapeHtml(frame.service)}</bdi></h1>
<p class="muted">You make a passkey in this device, and sign in with it from then on. Nothing happens before you go on.</p></div>
${problemNotice(problem)}
${notice('bad', 'The address has no invitation. Open the link that you were given again.', ' data-missing hidden')}
<div class="panel">${form(frame, '/enrol', fields)}${NO_SCRIPT}</div>`;
  return page(frame, { title: 'Invitation', main, isSlim: true, script: PASSKEY_SCRIPT });
}

interface LinkView {
  /** The secret, where the person comes back from a code that was not right. */
  readonly link?: string | undefined;
  readonly problem?: string | undefined;
}

/** The page that makes the passkey. */
export function enrolmentPage(
  frame: Frame,
  { invitation_id, principal, scopes, options }: EnrolmentView,
  device: string,
): string {
  const answers = ['client_data', 'authenticator_data'];
  const fields = `${hidden('invitation', invitation_id)}${hidden('challenge', options.challenge)}
${answers.map((name) => hidden(name, '')).join('')}
<div class="field"><label for="label">Name of this device</label>
<input id="label" name="label" required maxlength="${PASSKEY_LABEL_MAX}" pattern=".*\\S.*" autocomplete="off"
 value="${escapeHtml(device.slice(0, PASSKEY_LABEL_MAX))}" aria-describedby="label-hint">
<small id="label-hint">So that you recognise it when you have several.</small></div>
<button class="act">${icon('passkey')} Make a passkey</button>${WHY}`;
  const asked = {
    passkey: 'create',
    challenge: options.challenge,
    'rp-id': options.rp_id,
    'rp-name': options.rp_name,
    'user-id': options.user_id,
    'user-name': options.user_name,
    exclude: options.exclude.join(' '),
  };
  const main = `<div class="stack">${BIG_MARK}
<h1>Make your passkey</h1>
<p class="muted">Your device asks for your finger, your face or its PIN. If this is not you, close the page and tell the person who invited you.</p></div>
<dl class="facts brief"><dt>You are</dt><dd>${foreignHtml(personName(principal))}</dd>
<dt>You may</dt><dd>${scopesHtml(scopes)}</dd></dl>
<div class="panel">${asking(form(frame, '/enrol/passkey', fields), asked)}${NO_SCRIPT}</div>`;
  return page(frame, {
    title: 'Make your passkey',
    main,
    isSlim: true,
    script: PASSKEY_SCRIPT,
  });
}

function scopesHtml(scopes: readonly string[]): string {
  if (scopes.length === 0) return 'nothing yet';
  return scopes.map((scope) => `<code>${foreignHtml(scope)}</code>`).join(', ');
}

/** The form with what its script reads. */
function asking(html: string, facts: Readonly<Record<string, string>>): string {
  const attributes = Object.entries(facts).map(([name, value]) => {
    return ` data-${name}="${escapeHtml(value)}"`;
  });
  return html.replace('<form', `<form${attributes.join('')}`);
}

/** In milliseconds: people look for their device. */
const WAIT_MS = 120_000;

export const PASSKEY_SCRIPT = `'use strict';
const bytes = (text) => Uint8Array.from(
  atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const known = (id) => ({ type: 'public-key', id: bytes(id) });

function ask({ passkey, challenge, rpId, rpName, userId, userName, exclude }) {
  const asked = { challenge: bytes(challenge), timeout: ${WAIT_MS} };
  if (passkey === 'get') {
    return navigator.credentials.get({ publicKey: { ...asked, rpId, userVerification: 'required' } });
  }
  return navigator.credentials.create({ publicKey: {
    ...asked,
    rp: { id: rpId, name: rpName },
    user: { id: bytes(userId), name: userName, displayName: userName },
    pubKeyCredParams: ${JSON.stringify(Object.values(COSE_ALGORITHMS))}
      .map((alg) => ({ type: 'public-key', alg })),
    excludeCredentials: exclude.split(' ').filter(Boolean).map(known),
    authenticatorSelection: {
      residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
  } });
}

function answer(form, { rawId, response }) {
  const { elements } = form;
  elements.client_data.value = text(response.clientDataJSON);
  elements.authenticator_data.value =
    text(response.authenticatorData ?? response.getAuthenticatorData());
  if (!elements.signature) return;
  elements.credential_id.value = text(rawId);
  elements.signature.value = text(response.signature);
}

const REASONS = {
  NotAllowedError: 'the question was closed, or not answered in time; try again',
  InvalidStateError: 'this device already has a passkey for you here',
  SecurityError: 'the address of this page cannot have passkeys',
  NotSupportedError: 'this device has no passkey of a kind that is accepted',
};

for (const form of document.querySelectorAll('form[data-passkey]')) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const why = form.querySelector('[role=alert]');
    why.hidden = true;
    try {
      if (!window.PublicKeyCredential) throw new Error('this browser has none for this address');
      answer(form, await ask(form.dataset));
      form.submit();
    } catch (error) {
      why.textContent = 'Cannot use a passkey: ' + (REASONS[error.name] ?? error.message);
      why.hidden = false;
    }
  });
}

const link = document.querySelector('[data-link]');
if (link) {
  link.value ||= location.hash.slice(1);
  history.replaceState(null, '', location.pathname);
  const missing = document.querySelector('[data-missing]');
  if (link.value === '') missing.hidden = false;
}
`;

export const PASSKEY_SCRIPT_HASH = textHash(PASSKEY_SCRIPT);
