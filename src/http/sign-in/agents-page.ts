/**
 * "My agents": the delegations that a person gave, and the browsers where they are signed in. Each can be ended.
 *
 * Ending takes a second page, which shows what ends with it. Both pages work without a script.
 *
 * @module
 */

import { text } from '../../openapi/html.ts';
import type { AgentsView, AgentView } from '../../service/sign-in/agents.ts';
import { agentNode, HATCH, nameList } from './agent-view.ts';
import { claimed, claimedText, type Frame, form, hidden, page, shown } from './frame.ts';
import { browserWords } from './names.ts';
import { time, total } from './values.ts';

export function agentsPage(frame: Frame, view: AgentsView): string {
  const { now, agents, ended } = view;
  const main = `${HATCH}
<div class="head"><h1>My agents</h1>${stopLink(frame, agents)}</div>
<section aria-labelledby="h-active"><h2 id="h-active">Active</h2>
${agents.length === 0 ? NO_AGENTS : agents.map((agent) => agentNode(agent, now, endLink(frame, agent))).join('\n')}</section>
<section aria-labelledby="h-ended"><h2 id="h-ended">Ended</h2>
${ended.length === 0 ? '<p>None has ended.</p>' : ended.map((agent) => agentNode(agent, now, '')).join('\n')}</section>
${sessionList(frame, view)}`;
  return page(frame, { title: 'My agents', main });
}

const NO_AGENTS =
  '<p>No agent acts for you. One appears here when you add this service to a program and let it act.</p>';

function stopLink({ basePath }: Frame, all: readonly AgentView[]): string {
  if (all.length < 2) return '';
  const words = `Stop all ${agents(countAll(all), 'agent')}…`;
  return `<a class="button danger" href="${text(`${basePath}/agents/stop`)}">${words}</a>`;
}

/** With their sub-agents. */
function countAll(all: readonly AgentView[]): number {
  return all.reduce((sum, { subAgentsCount }) => sum + 1 + subAgentsCount, 0);
}

function endLink({ basePath }: Frame, { id, name, subject }: AgentView): string {
  const href = `${basePath}/agents/end?${new URLSearchParams({ agent: id })}`;
  const which = `${claimedText(name)} ${claimedText(subject)}`;
  return `<a class="button danger" href="${text(href)}">End agent…<span class="vh"> ${text(which)}</span></a>`;
}

function sessionList(frame: Frame, { sessions, now }: AgentsView): string {
  const rows = sessions.map(({ id, userAgent, since, isThis }) => {
    const browser = browserWords(userAgent);
    const here = isThis ? ' <span class="pill good">This browser</span>' : '';
    const button = `${hidden('session', id)}<button class="text">Sign out<span class="vh"> of ${text(claimedText(browser))}</span></button>`;
    return `<li class="head"><p>${shown(browser)}${here}<br><span class="small">Signed in ${time(since, now)}</span></p>
${form(frame, '/sign-out', button)}</li>`;
  });
  const everywhere = `${hidden('everywhere', 'yes')}<button>Sign out everywhere</button>`;
  return `<section aria-labelledby="h-sessions"><h2 id="h-sessions">Where you are signed in</h2>
<ul class="sessions">${rows.join('\n')}</ul>
<p class="small muted">Signing out ends no agent.</p>
${form(frame, '/sign-out', everywhere)}</section>`;
}

interface EndAgentView {
  readonly agent: AgentView;
}

/** Asks before one agent ends. */
export function endAgentPage(frame: Frame, { agent }: EndAgentView): string {
  const { id, name, subject, subAgents, subAgentsCount } = agent;
  const many = 1 + subAgentsCount;
  const content = `${hidden('agent', id)}
<p><span class="effect final">${many === 1 ? 'It stops' : 'They stop'} now, for good.</span> Nothing that ${many === 1 ? 'it' : 'they'} did is undone.</p>
<dl class="facts">
<dt>Ends</dt><dd>${claimed(name)} <code>${shown(subject)}</code></dd>
${subAgentsCount === 0 ? '' : `<dt>With it</dt><dd>${nameList(subAgents, subAgentsCount)}</dd>`}
${moneyRows([agent])}</dl>
${confirmRow(frame, many)}`;
  const withIt = subAgentsCount === 0 ? '' : ` and its ${agents(subAgentsCount, 'sub-agent')}`;
  const main = `<h1>End ${claimed(name)}${withIt}?</h1>
${form(frame, '/agents/end', content)}`;
  return page(frame, { title: `End “${claimedText(name)}”`, main, isNarrow: true });
}

interface StopAllView {
  readonly agents: readonly AgentView[];
}

/** Asks before all agents of a person end. */
export function stopAllPage(frame: Frame, view: StopAllView): string {
  const many = countAll(view.agents);
  const rows = view.agents.map(({ name, subject, subAgentsCount }) => {
    const withIt = subAgentsCount === 0 ? '' : ` with ${agents(subAgentsCount, 'sub-agent')}`;
    return `<li>${claimed(name)} <code>${shown(subject)}</code>${withIt}</li>`;
  });
  const content = `<p><span class="effect final">They stop now, for good.</span> Nothing that they did is undone.</p>
<dl class="facts"><dt>Ends</dt><dd><ul>${rows.join('\n')}</ul></dd>
${moneyRows(view.agents)}</dl>
${confirmRow(frame, many)}`;
  const main = `<h1>Stop all ${agents(many, 'agent')}?</h1>
${form(frame, '/agents/stop', content)}`;
  return page(frame, { title: 'Stop all agents', main, isNarrow: true });
}

/** The safe way comes first. */
function confirmRow({ basePath }: Frame, many: number): string {
  const keep = many === 1 ? 'Keep it' : 'Keep them';
  return `<div class="decide"><p class="small">A call that is running now may still finish.</p>
<div class="row"><a class="button" href="${text(`${basePath}/agents`)}">${keep}</a>
<button class="danger">${many === 1 ? 'End agent' : `End ${many} agents`}</button></div></div>`;
}

/** What stays spent, by currency, and what running calls may still spend. */
function moneyRows(all: readonly AgentView[]): string {
  const budgets = all.flatMap(({ budget }) => (budget ? [budget] : []));
  // Without a limit nothing counts what was spent.
  if (budgets.length < all.length) return '';
  const spent = total(budgets.map(({ spent: amount, currency }) => ({ amount, currency })));
  const reserved = total(budgets.map(({ reserved: amount, currency }) => ({ amount, currency })));
  return `<dt>Stays</dt><dd>${spent === '' ? 'Nothing was spent.' : `${spent} stays spent.`}</dd>
${reserved === '' ? '' : `<dt>Running</dt><dd>${reserved} is reserved for calls that are running.</dd>`}`;
}

function agents(many: number, word: string): string {
  return many === 1 ? `1 ${word}` : `${many} ${word}s`;
}
