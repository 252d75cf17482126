/**
 * One delegation that a person gave, as the pages show it: who holds it, what it may do, what is left of it.
 *
 * @module
 */

import { text } from '../../openapi/html.ts';
import type { AgentView } from '../../service/sign-in/agents.ts';
import { claimed, claimedText, shown } from './frame.ts';
import { browserWords, clientWords } from './names.ts';
import { amountText, money, time } from './values.ts';

/** The hatching of a bar. Each page with bars has it once. */
export const HATCH = `<svg class="vh" aria-hidden="true"><defs>
<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern>
</defs></svg>`;

const STATE = {
  active: '<span class="pill good">Active</span>',
  ended: '<span class="pill off">Ended</span>',
  expired: '<span class="pill off">Expired</span>',
} as const satisfies Record<AgentView['state'], string>;

/** An article about one agent. `acts` is HTML: what the person can do about it. */
export function agentNode(agent: AgentView, now: Date, acts: string): string {
  const kind = acts === '' ? 'node brief' : 'node';
  const id = `a-${agent.id.replace(/[^\w-]/g, '_')}`;
  return `<article class="${kind}" aria-labelledby="${id}">
<div><h3 id="${id}">${claimed(agent.name)} ${STATE[agent.state]}</h3>
<p class="small"><code>${shown(agent.subject)}</code></p>
<p class="small">${capabilityWords(agent)}</p>
${subAgentWords(agent)}
<p class="small muted">Client: ${clientWords(agent.clientId)}<br>
Answers to: ${shown(agent.answersTo)}<br>
Allowed in: ${shown(browserWords(agent.userAgent))}</p></div>
<div>${budgetFigure(agent)}${debtWords(agent)}</div>
<dl class="facts small">${factRows(agent, now)}</dl>
${acts === '' ? '' : `<div class="acts">${acts}</div>`}
</article>`;
}

/** Names that are listed; more are counted. */
const NAMES_MAX = 12;

export function nameList(names: readonly string[], all: number = names.length): string {
  const listed = names.slice(0, NAMES_MAX).map((name) => `<b>${shown(name)}</b>`);
  const more = all - listed.length;
  return [...listed, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

function capabilityWords({ capabilities, state }: AgentView): string {
  if (capabilities.length === 0) return 'It may use no capability.';
  return `${state === 'active' ? 'May' : 'Could'} use ${nameList(capabilities)}.`;
}

function subAgentWords({ subAgents, subAgentsCount }: AgentView): string {
  if (subAgentsCount === 0) return '';
  const what = subAgentsCount === 1 ? '1 sub-agent' : `${subAgentsCount} sub-agents`;
  return `<p class="small">${what} within the same limits: ${nameList(subAgents, subAgentsCount)}.</p>`;
}

function budgetFigure({ name, budget }: AgentView): string {
  if (!budget) return '<p class="small">It has no limit of money.</p>';
  if (budget.max === 0) return '<p class="small">It cannot spend money.</p>';
  const { currency, max, spent, reserved, left } = budget;
  const amount = (each: number) => text(amountText(each, currency));
  const words = `of ${amount(max)} ${text(currency)}, ${amount(spent)} spent, ${amount(reserved)} reserved, ${amount(left)} left`;
  const solid = share(spent, max);
  const hatched = Math.min(share(reserved, max), 100 - solid);
  return `<figure><svg class="bar" role="img" aria-label="Limit of ${text(claimedText(name))}: ${words}">
<rect class="spent" width="${solid}%" height="100%"/><rect fill="url(#hatch)" x="${solid}%" width="${hatched}%" height="100%"/></svg>
<dl class="split">
<div><dt class="spent">Spent</dt><dd class="money">${amount(spent)}</dd></div>
<div><dt class="held">Reserved</dt><dd class="money">${amount(reserved)}</dd></div>
<div><dt>Left</dt><dd class="money">${amount(left)}</dd></div>
<div><dt class="sum">Limit</dt><dd>${money(max, currency)}</dd></div>
</dl></figure>`;
}

/** In percent, with one decimal. */
function share(part: number, whole: number): number {
  const percent = Math.round((1_000 * part) / whole) / 10;
  return Math.min(100, Math.max(0, percent));
}

function debtWords({ debts }: AgentView): string {
  if (debts.length === 0) return '';
  const owed = debts.map(({ amount, currency }) => money(amount, currency)).join(', ');
  return `<p class="notice warn small">Calls cost ${owed} more than was reserved.</p>`;
}

function refusalWords({ refusalsToday: count, isWholeDay }: AgentView): string {
  if (isWholeDay) return count === 0 ? 'None today' : `${count} today`;
  return count === 0 ? 'None among your newest calls' : `At least ${count} today`;
}

function factRows(agent: AgentView, now: Date) {
  const { purpose, lastAct, since, until, state } = agent;
  const none = agent.isWhole ? 'None yet' : 'None among your newest calls';
  const act = lastAct
    ? `${lastAct.capability === undefined ? '' : `${shown(lastAct.capability)}: `}${shown(lastAct.outcome)}<br>${time(lastAct.at, now)}`
    : none;
  const rows: [term: string, value: string][] = [
    ['For', purpose === undefined ? 'No purpose given' : shown(purpose)],
    ['Last act', act],
    ['Refused', refusalWords(agent)],
    ['Since', time(since, now)],
  ];
  if (state !== 'ended') rows.push([state === 'active' ? 'Ends' : 'Expired', time(until, now)]);
  return rows.map(([term, value]) => `<dt>${term}</dt><dd>${value}</dd>`).join('\n');
}
