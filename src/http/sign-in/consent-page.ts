/**
 * The consent page: a person decides what a client may do for them, within which limits and for how long.
 *
 * Shows what is true of the client before what it asks for. Works without a script: what must be filled in
 * is checked when the form arrives, and the page comes back with the problem and the person's entries.
 *
 * @module
 */

import type { ConsentOption } from '../../domain/sign-in/consent.ts';
import type { Choice } from '../../domain/sign-in/consent-form.ts';
import { FREE } from '../../domain/sign-in/consent-words.ts';
import { escapeHtml } from '../../openapi/html.ts';
import type { ConsentView } from '../../service/sign-in/authorize.ts';
import {
  claimed,
  claimedText,
  type Frame,
  foreignHtml,
  form,
  hidden,
  page,
  problemNotice,
} from './frame.ts';
import { clientWords } from './names.ts';
import { moneyHtml } from './values.ts';

/** What the service offers, and the fields that the form carries on. */
export interface ConsentPageView extends ConsentView {
  readonly hidden: Readonly<Record<string, string>>;
}

export function consentPage(frame: Frame, view: ConsentPageView): string {
  const { client, problem } = view;
  const title = `“${claimedText(client.name)}” wants to act for you`;
  const who = frame.person === undefined ? 'you' : foreignHtml(frame.person);
  const name = client.isVerified ? foreignHtml(client.name) : claimed(client.name);
  const main = `<h1>${name} wants to act for ${who} at <bdi>${escapeHtml(frame.service)}</bdi></h1>
${problemNotice(problem)}
${clientFacts(frame, view)}
<p class="notice">Go on only if you started this yourself just now.</p>
${form(frame, '/authorize', consentForm(frame, view))}`;
  return page(frame, { title, main, isNarrow: true });
}

function clientFacts({ service }: Frame, { client, before }: ConsentPageView): string {
  const name = client.isVerified
    ? `<span class="pill good">Registered</span> <small>An operator of ${escapeHtml(service)} entered this client.${client.answersTo.isLoopback ? ' Any program on this computer can claim to be it.' : ''}</small>`
    : '<span class="pill warn">Not verified</span> <small>Any program can give itself this name.</small>';
  const earlier =
    before === undefined
      ? ''
      : `<dt>Before</dt><dd>${foreignHtml(before, TEXT_LENGTH_MAX)} <small>None of it is filled in below.</small></dd>`;
  return `<dl class="facts">
<dt>Name</dt><dd>${name}</dd>
<dt>Answer to</dt><dd>${answerHost(client.answersTo)}</dd>
<dt>Client</dt><dd>${clientWords(client.id)}</dd>
${earlier}</dl>`;
}

const TEXT_LENGTH_MAX = 400;

function answerHost({ isLoopback, host }: ConsentPageView['client']['answersTo']): string {
  const hostHtml = `<code>${foreignHtml(host, TEXT_LENGTH_MAX)}</code>`;
  if (isLoopback) return `This computer ${hostHtml}`;
  return host.endsWith(':')
    ? `The app on this device that opens ${hostHtml}`
    : `The server ${hostHtml}`;
}

function consentForm(frame: Frame, view: ConsentPageView): string {
  const kept = Object.entries(view.hidden).map(([name, value]) => hidden(name, value));
  return `${kept.join('')}
<section>${capabilities(view)}</section>
<section>${limits(view)}</section>
<section><h2>What it can never do</h2>
<p>It can never approve anything, raise these limits, act after you end it, or do what you may not do yourself.</p></section>
<div class="decide">
<p class="small">You can end it any time in <a href="${escapeHtml(`${frame.basePath}/agents`)}">My agents</a>.</p>
<div class="row"><button name="answer" value="refuse" formnovalidate>Refuse</button>
<button name="answer" value="allow" class="act" formnovalidate>Let it act</button></div>
</div>`;
}

/** What the client asks for comes first. What it does not ask for can be opened. */
function capabilities({ options, neverGiven }: ConsentPageView): string {
  const asked = options.filter(({ isAsked }) => isAsked);
  const others = options.filter(({ isAsked }) => !isAsked);
  const rest = asked.length === 0 ? [] : others;
  const isOpen = rest.some(({ isChosen }) => isChosen);
  const listed = [
    ...(asked.length === 0 ? options : asked).map(optionRow),
    ...neverGiven.map(neverRow),
  ];
  const more =
    rest.length === 0
      ? ''
      : `<details${isOpen ? ' open' : ''}><summary>${count(rest.length, 'capability', 'capabilities')} that it does not ask for</summary>
${rows(rest.map(optionRow))}</details>`;
  return `<fieldset><legend>What may it do?</legend>
<p class="small muted">${askedWords(asked.length, options.length)}</p>
${rows(listed)}
${more}</fieldset>`;
}

function askedWords(asked: number, all: number): string {
  if (all === 0) return 'There is nothing here that you can let it do.';
  const what =
    asked === 0
      ? 'It does not say what it needs.'
      : `It asks for ${asked} of ${count(all, 'capability', 'capabilities')}.`;
  return `${what} Only what reads is ticked beforehand.`;
}

function count(many: number, one: string, several: string): string {
  return `${many} ${many === 1 ? one : several}`;
}

function rows(items: readonly string[]): string {
  return items.length === 0 ? '' : `<ul class="opts">${items.join('\n')}</ul>`;
}

function optionRow(option: ConsentOption): string {
  const { name, title, description, scope, blocked, cost, isChosen } = option;
  const scopes = scope.map((each) => `<code class="muted">${escapeHtml(each)}</code>`).join(' ');
  const head = `<b><bdi>${escapeHtml(title)}</bdi></b> ${scopes}`;
  const about =
    description === '' ? '' : `<br><small><bdi>${escapeHtml(description)}</bdi></small>`;
  if (blocked !== undefined) {
    return `<li class="opt">${CROSS}<span>${head}${about}<br><span class="small">${escapeHtml(blocked)}</span></span></li>`;
  }
  const ticked = isChosen ? ' checked' : '';
  const costs = cost === FREE ? '' : ' data-costs';
  return `<li><label class="opt"><input type="checkbox" name="c" value="${escapeHtml(name)}"${ticked}${costs}>
<span>${head}${about}<br><span class="small">${effectWords(option)}</span></span></label></li>`;
}

const CROSS = '<span class="none" aria-hidden="true">✕</span>';

function effectWords({ effect, cost, approval, alone }: ConsentOption): string {
  const kind = effect.kind === 'changes' ? 'effect' : `effect ${effect.kind}`;
  const terms = [approval, alone].map((each) =>
    each === undefined ? '' : `<br>${escapeHtml(each)}`,
  );
  return `<span class="${kind}">${escapeHtml(effect.words)}</span> · ${moneyHtml(cost)}${terms.join('')}`;
}

function rightOf(scope: string): string {
  if (scope.startsWith('operator:')) return 'Operate the service';
  return scope.startsWith('approver:') ? 'Approve requests' : 'Rights beyond this list';
}

function neverRow(scope: string): string {
  return `<li class="opt">${CROSS}<span><b>${rightOf(scope)}</b> <code class="muted">${foreignHtml(scope)}</code><br>
<span class="small">It asks for this. Consent can never give it.</span></span></li>`;
}

function limits(view: ConsentPageView): string {
  return `<fieldset><legend>Within which limits?</legend>
<div class="fields">${limitField(view)}
${choiceField('until', 'Until', view.untils, `Then it ends by itself.${askedFor(view.askedUntil)}`)}
${purposeField(view.purpose)}
${choiceField('pass', 'May it pass this on?', view.passOn, 'Sub-agents share the same limits.')}
</div></fieldset>`;
}

function limitField(view: ConsentPageView): string {
  const { currencies, chosenCurrency, limit, suggestedLimit } = view;
  if (currencies.length === 0) {
    return '<div class="field"><p>Nothing here costs money.</p></div>';
  }
  // The pattern is for the style alone, which shows what is needed while the limit is 0. 0 is a limit, too: no button
  // validates the form, a screen reader does not call it invalid, and Firefox draws no red edge.
  const hint = suggestedLimit === undefined ? '' : ` It suggests ${moneyHtml(suggestedLimit)}.`;
  return `<div class="field"><label for="limit">Spend at most, in total</label>
<span class="row"><input class="amount" id="limit" name="limit" inputmode="decimal" maxlength="32" value="${escapeHtml(limit)}"
 pattern=".*[1-9].*" aria-invalid="false" aria-describedby="limit-hint limit-needs"> ${currencyField(currencies, chosenCurrency)}</span>
<small id="limit-hint">All its sub-agents included. 0 means that it cannot spend.${hint}</small>
<p class="needs small warn" id="limit-needs">What you ticked costs money: the limit has to be above 0.</p></div>`;
}

function currencyField(currencies: readonly string[], chosen: string): string {
  if (currencies.length === 1) {
    const [only = ''] = currencies;
    return `${hidden('currency', only)}<span class="money">${escapeHtml(only)}</span>`;
  }
  const choices = currencies.map((each) => ({
    value: each,
    label: each,
    isSelected: each === chosen,
  }));
  return `<select class="currency" name="currency" aria-label="Currency">${optionTags(choices)}</select>`;
}

function askedFor(until: string | undefined): string {
  return until === undefined ? '' : ` It asks for ${foreignHtml(until)}.`;
}

function purposeField(purpose: string): string {
  const seen = foreignHtml(purpose, TEXT_LENGTH_MAX);
  const hasHidden = seen.includes('class="ctl"');
  const warning = hasHidden
    ? `<p class="small warn" id="for-seen">This text has hidden characters: ${seen}</p>`
    : '';
  return `<div class="field"><label for="for">For</label>
<input id="for" name="for" value="${escapeHtml(purpose)}" maxlength="200" dir="auto" aria-describedby="for-hint${hasHidden ? ' for-seen' : ''}">
<small id="for-hint">What this is about, in your words, such as March offsite. The log keeps it.</small>${warning}</div>`;
}

/** `hint` is HTML. */
function choiceField(name: string, label: string, choices: readonly Choice[], hint: string) {
  return `<div class="field"><label for="${name}">${label}</label>
<select id="${name}" name="${name}" aria-describedby="${name}-hint">${optionTags(choices)}</select>
<small id="${name}-hint">${hint}</small></div>`;
}

function optionTags(choices: readonly Choice[]): string {
  return choices
    .map(({ value, label, isSelected }) => {
      const selected = isSelected ? ' selected' : '';
      return `<option value="${escapeHtml(value)}"${selected}>${escapeHtml(label)}</option>`;
    })
    .join('');
}
