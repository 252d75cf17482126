/**
 * The consent page: a person decides what a client may do for them, within which limits and for how long.
 *
 * Shows what is true of the client before what it asks for. Works without a script: the buttons that tick boxes, and
 * what must be filled in, are answered with the same page and the person's entries.
 *
 * @module
 */

import type { ConsentOption } from '../../domain/sign-in/consent.ts';
import type { Choice } from '../../domain/sign-in/consent-form.ts';
import { FREE } from '../../domain/sign-in/consent-words.ts';
import { countText } from '../../domain/values/count-text.ts';
import { escapeHtml } from '../../openapi/html.ts';
import type { ConsentView } from '../../service/sign-in/authorize.ts';
import { claimed, claimedText, evidence, foreignHtml, icon, notice } from '../page/frame.ts';
import { type Frame, form, hidden, page, problemNotice } from './frame.ts';
import { clientWords } from './names.ts';
import { moneyHtml } from './values.ts';

/** What the service offers, and the fields that the form carries on. */
export interface ConsentPageView extends ConsentView {
  readonly hidden: Readonly<Record<string, string>>;
}

export function consentPage(frame: Frame, view: ConsentPageView): string {
  const { client, problem } = view;
  const name = client.isVerified ? foreignHtml(client.name) : claimed(client.name);
  const main = `<h1 class="ask">Let ${name} act for you at <bdi>${escapeHtml(frame.service)}</bdi>?</h1>
${clientFacts(frame, view)}
${problemNotice(problem)}
${notice('warn', '<b>Go on only if you started this yourself,</b> a moment ago.')}
${form(frame, '/authorize', consentForm(frame, view))}
${consentEvidence(view)}`;
  return page(frame, { title: `Let “${claimedText(client.name)}” act for you?`, main });
}

function clientFacts({ service }: Frame, { client, before }: ConsentPageView): string {
  const { isVerified, answersTo } = client;
  const name = isVerified
    ? `<span class="pill good">Registered</span> An operator of ${escapeHtml(service)} entered this client.${answersTo.isLoopback ? ' Any program on this computer can claim to be it.' : ''}`
    : '<span class="pill warn">Not verified</span> It gave itself this name. Any program can do that.';
  const earlier =
    before === undefined
      ? ''
      : `<dt>${icon('clock')}Before</dt><dd>${foreignHtml(before, TEXT_LENGTH_MAX)} <small>None of it is filled in below.</small></dd>`;
  return `<dl class="facts wide brief write">
<dt>${icon('agent')}Who</dt><dd>${name}</dd>
<dt>${icon('external')}Answers to</dt><dd>${answerHost(answersTo)}</dd>
${earlier}</dl>`;
}

const TEXT_LENGTH_MAX = 400;

function answerHost({ isLoopback, host }: ConsentPageView['client']['answersTo']): string {
  const hostHtml = `<code>${foreignHtml(host, TEXT_LENGTH_MAX)}</code>`;
  if (isLoopback) return `A program on this computer, ${hostHtml}`;
  return host.endsWith(':')
    ? `The app on this device that opens ${hostHtml}`
    : `The server ${hostHtml}`;
}

/** The button that Enter presses comes first in a form: it shows the page again, and decides nothing. */
const ENTER = '<button hidden name="answer" value="kept" formnovalidate>Show again</button>';

function consentForm(frame: Frame, view: ConsentPageView): string {
  const kept = Object.entries(view.hidden).map(([name, value]) => hidden(name, value));
  return `${kept.join('')}${ENTER}
${capabilities(view)}
${limits(view)}
<p>${icon('stop')} It can never approve anything, raise these limits, act after you end it, or do what you may not do yourself. End it at any time in <a href="${escapeHtml(`${frame.basePath}/agents`)}">My agents</a>.</p>
<div class="row"><button name="answer" value="refuse" formnovalidate>Refuse</button>
<button name="answer" value="allow" class="act" formnovalidate>Let it act</button></div>`;
}

/** Scopes that are listed; more are counted. */
const SCOPES_MAX = 30;

function consentEvidence({ client, options, neverGiven }: ConsentPageView): string {
  const asked = options.filter(({ isAsked }) => isAsked);
  const scopes = [...new Set([...asked.flatMap(({ scope }) => scope), ...neverGiven])];
  const listed = scopes.slice(0, SCOPES_MAX).map((each) => `<code>${foreignHtml(each)}</code>`);
  const more = scopes.length - listed.length;
  return evidence('client, scopes', {
    Client: clientWords(client.id),
    'Asks for': scopes.length === 0 ? 'no scope' : listed.join(' '),
    ...(more > 0 && { 'And more': String(more) }),
  });
}

/** What the client asks for comes first. What it does not ask for can be opened. */
function capabilities({ options, neverGiven }: ConsentPageView): string {
  const numbered = options.map((option, index) => ({ option, html: optionRow(option, index) }));
  const asked = numbered.filter(({ option }) => option.isAsked);
  const rest = asked.length === 0 ? [] : numbered.filter(({ option }) => !option.isAsked);
  const isOpen = rest.some(({ option }) => option.isChosen);
  const first = asked.length === 0 ? numbered : asked;
  const more =
    rest.length === 0
      ? ''
      : `<details${isOpen ? ' open' : ''}><summary class="more">${TURN}<span>${countText(rest.length, 'capability', 'capabilities')} that it does not ask for</span></summary>
${rows(rest.map(({ html }) => html))}</details>`;
  return `<fieldset class="panel"><legend class="vh">What may it do?</legend>
<div class="head mid"><h2 aria-hidden="true">What may it do?</h2> ${options.length > 1 ? TICKS : ''}</div>
<p class="small muted">${askedWords(asked.length, options.length)}</p>
${rows([...first.map(({ html }) => html), ...neverGiven.map(neverRow)])}
${more}</fieldset>`;
}

const TURN = icon('chevron', { look: 'turn' });

const TICKS = `<span class="row" role="group" aria-label="Tick">${[
  ['all', 'All'],
  ['reads', 'All that read'],
  ['none', 'None'],
]
  .map(([value, label]) => {
    return `<button class="little" name="answer" value="${value}" formnovalidate>${label}</button>`;
  })
  .join(' ')}</span>`;

function askedWords(asked: number, all: number): string {
  if (all === 0) return 'There is nothing here that you can let it do.';
  const what =
    asked === 0
      ? 'It does not say what it needs.'
      : `It asks for ${asked} of ${countText(all, 'capability', 'capabilities')}.`;
  return `${what} Only what reads is ticked beforehand.`;
}

function rows(items: readonly string[]): string {
  return items.length === 0 ? '' : `<ul>${items.join('\n')}</ul>`;
}

function optionRow(option: ConsentOption, index: number): string {
  const { name, title, blocked, cost, isChosen } = option;
  const head = `<b><bdi>${escapeHtml(title)}</bdi></b>`;
  const { about, described } = aboutOf(option, `about-${index}`);
  if (blocked !== undefined) {
    return `<li class="opt">${CROSS}<div>${head}<br><span class="small">${escapeHtml(blocked)}</span>${about}</div></li>`;
  }
  const ticked = isChosen ? ' checked' : '';
  const costs = cost === FREE ? '' : ' data-costs';
  const id = `c-${index}`;
  return `<li class="opt"><input type="checkbox" name="c" value="${escapeHtml(name)}"${ticked}${costs} id="${id}"${described}>
<div><label for="${id}">${head}<br><span class="small">${effectWords(option)}</span></label>${about}</div></li>`;
}

/** In characters: a description that is longer is folded. */
const SHORT_MAX = 120;

function aboutOf({ description }: ConsentOption, id: string) {
  if (description === '') return { about: '', described: '' };
  const text = `<small id="${id}"><bdi>${escapeHtml(description)}</bdi></small>`;
  if (description.length <= SHORT_MAX) {
    return { about: `<br>${text}`, described: ` aria-describedby="${id}"` };
  }
  const about = `<details><summary class="more">${TURN}<span>What it does</span></summary>${text}</details>`;
  return { about, described: '' };
}

const CROSS = `<span class="none">${icon('cross')}</span>`;

const EFFECT_ICONS = {
  reads: 'read',
  changes: 'write',
  undo: 'reversible',
  final: 'irreversible',
} as const satisfies Record<ConsentOption['effect']['kind'], Parameters<typeof icon>[0]>;

function effectWords({ effect, cost, approval, alone }: ConsentOption): string {
  const look = effect.kind === 'final' ? 'effect final' : 'effect';
  const terms = [approval, alone].map((each) =>
    each === undefined ? '' : `<br>${escapeHtml(each)}`,
  );
  return `<span class="${look}">${icon(EFFECT_ICONS[effect.kind])} ${escapeHtml(effect.words)}</span> · ${moneyHtml(cost)}${terms.join('')}`;
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
  return `<fieldset class="panel"><legend class="vh">Within which limits?</legend>
<h2 aria-hidden="true">Within which limits?</h2>
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
  return `<select name="currency" aria-label="Currency">${optionTags(choices)}</select>`;
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
