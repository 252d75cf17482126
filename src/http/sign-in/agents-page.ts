/**
 * "My agents" without a script: the delegations that a person gave, and the browsers where they are signed in. Each
 * can be ended; ending an agent takes a second page. What agents did, passed on and were refused is on the console.
 *
 * @module
 */

import { countText } from '../../domain/values/count-text.ts';
import { escapeHtml } from '../../openapi/html.ts';
import type { AgentsView, AgentView } from '../../service/sign-in/agents.ts';
import { claimed, claimedText, foreignHtml, icon } from '../page/frame.ts';
import { type Frame, form, hidden, page } from './frame.ts';
import { browserWords, clientWords } from './names.ts';
import { money, time } from './values.ts';

export function agentsPage(frame: Frame, { now, agents, sessions }: AgentsView): string {
  const rows = agents.map((agent) => agentRow(frame, agent, now));
  const main = `<div class="head mid"><h1>My agents</h1>${stopLink(frame, agents.length)}</div>
${rows.length === 0 ? NO_AGENTS : `<ul class="list">${rows.join('\n')}</ul>`}
<p class="small muted">What each agent did, passed on and was refused is on <a href="${escapeHtml(`${frame.basePath}/console/agents`)}">the console</a>, with the agents that have ended.</p>
${sessionList(frame, sessions, now)}`;
  return page(frame, { title: 'My agents', main });
}

const NO_AGENTS = `<div class="panel empty">${icon('agent')}
<p>No agent acts for you. One appears here when you add this service to a program and let it act.</p></div>`;

function stopLink({ basePath }: Frame, many: number): string {
  if (many < 2) return '';
  return `<a class="button danger" href="${escapeHtml(`${basePath}/agents/stop`)}">Stop all ${many} agents…</a>`;
}

function agentRow({ basePath }: Frame, agent: AgentView, now: Date): string {
  const { id, tokenId, name, subject, purpose, since, until } = agent;
  const details = `${basePath}/console/agents/${encodeURIComponent(tokenId)}`;
  const end = `${basePath}/agents/end?${new URLSearchParams({ agent: id })}`;
  const which = `<span class="vh"> ${escapeHtml(`${claimedText(name)} ${claimedText(subject)}`)}</span>`;
  return `<li>${icon('agent')}<div class="body"><h2>${claimed(name)}</h2>
<p><code>${foreignHtml(subject)}</code>${purpose === undefined ? '' : `, for ${foreignHtml(purpose)}`}</p>
<p>${budgetWords(agent)}</p>
<p>Since ${time(since, now)}, ends ${time(until, now)}</p>
<details><summary class="more">${icon('chevron', { look: 'turn' })}<span>Where you allowed it${which}</span></summary>
<p>Client: ${clientWords(agent.clientId)}<br>
Answers to: ${foreignHtml(agent.answersTo)}<br>
Allowed in: ${foreignHtml(browserWords(agent.userAgent))}</p></details></div>
<div class="side"><a class="button little" href="${escapeHtml(details)}">What it did${which}</a>
<a class="button little danger" href="${escapeHtml(end)}">End agent…${which}</a></div></li>`;
}

function budgetWords({ budget }: AgentView): string {
  if (!budget) return 'It has no limit of money.';
  const { currency, max, spent, reserved } = budget;
  if (max === 0) return 'It cannot spend money.';
  const held = reserved === 0 ? '' : `, ${money(reserved, currency)} reserved`;
  return `${money(spent, currency)} of ${money(max, currency)} spent${held}`;
}

function sessionList(frame: Frame, sessions: AgentsView['sessions'], now: Date): string {
  const rows = sessions.map(({ id, userAgent, since, isThis }) => {
    const browser = browserWords(userAgent);
    const here = isThis ? ' <span class="pill good">This browser</span>' : '';
    const button = `${hidden('session', id)}<button class="little">Sign out<span class="vh"> of ${escapeHtml(claimedText(browser))}</span></button>`;
    return `<li>${icon('person')}<div class="body"><h3>${foreignHtml(browser)}${here}</h3><p>Signed in ${time(since, now)}</p></div>
<div class="side">${form(frame, '/sign-out', button)}</div></li>`;
  });
  const everywhere = `${hidden('everywhere', 'yes')}<button>Sign out everywhere</button>`;
  return `<section aria-labelledby="h-sessions"><h2 id="h-sessions">Where you are signed in</h2>
<ul class="list">${rows.join('\n')}</ul>
<p class="small muted">Signing out ends no agent.</p>
${form(frame, '/sign-out', everywhere)}</section>`;
}

/** Asks before one agent ends. */
export function endAgentPage(frame: Frame, agent: AgentView): string {
  return endingPage(frame, {
    path: '/agents/end',
    title: `End “${claimedText(agent.name)}”`,
    agents: [agent],
    content: hidden('agent', agent.id),
  });
}

/** Asks before all agents of a person end. */
export function stopAllPage(frame: Frame, agents: readonly AgentView[]): string {
  const title = `Stop all ${countText(agents.length, 'agent')}`;
  return endingPage(frame, { path: '/agents/stop', title, agents, content: '' });
}

interface Ending {
  readonly path: `/${string}`;
  readonly title: string;
  readonly agents: readonly AgentView[];
  /** HTML, inside the form. */
  readonly content: string;
}

/** The safe way comes first. */
function endingPage(frame: Frame, { path, title, agents, content }: Ending): string {
  const rows = agents.map(
    (agent) =>
      `<li>${claimed(agent.name)} <code>${foreignHtml(agent.subject)}</code><br>${budgetWords(agent)}</li>`,
  );
  const fields = `${content}<dl class="facts brief final"><dt>Ends</dt><dd><ul>${rows.join('\n')}</ul></dd>
<dt>With it</dt><dd>Every sub-agent below.</dd></dl>
<p><span class="effect final">${icon('irreversible')} They stop now, for good.</span> Nothing that they did is undone, and what is spent stays spent. A call that is running now may still finish.</p>
<div class="row"><a class="button" href="${escapeHtml(`${frame.basePath}/agents`)}">${agents.length === 1 ? 'Keep it running' : 'Keep them running'}</a>
<button class="danger">${agents.length === 1 ? 'End agent' : `End ${agents.length} agents`}</button></div>`;
  const main = `<h1 class="ask">${escapeHtml(title)}?</h1>\n${form(frame, path, fields)}`;
  return page(frame, { title, main });
}
