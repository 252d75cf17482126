/**
 * The front page: what answers at this address, for a person who opened it in a browser.
 *
 * Says what discovery and readiness say and nothing more, so it can be as public. Links are relative: the service
 * may stand below a path of a proxy. A mounted service knows its path, and its page may be asked for without
 * the last slash, so its links contain the path.
 *
 * @module
 */

import { titleOf } from '../../domain/sign-in/consent-words.ts';
import { countText } from '../../domain/values/count-text.ts';
import { escapeHtml } from '../../openapi/html.ts';
import { type Operation, type OperationName, operations } from '../../protocol/operations.ts';
import type { CapabilitySummary, Discovery } from '../../protocol/trust.ts';
import type { Runtime } from '../../service/runtime.ts';
import { brand, foreignHtml, framed, icon, notice } from './frame.ts';

interface FrontFacts {
  /** Operations that ask for a credential here, although their row asks for none. */
  readonly gated?: readonly OperationName[];
  readonly basePath?: string;
  /** The address of the service, as programs use it. */
  readonly baseUrl?: string;
  /** Whether people can sign in here. */
  readonly hasSignIn?: boolean;
  /** The same, or at the app around the service. */
  readonly hasConsole?: boolean;
  /** What an operator can do where they cannot. */
  readonly advice?: string;
  /** Why the service is not ready. */
  readonly unready?: readonly string[];
}

export function frontPage(discovery: Discovery, facts: FrontFacts = {}): string {
  const { service_id } = discovery;
  const { basePath = '', unready = [] } = facts;
  const isReady = unready.length === 0;
  const state = isReady
    ? `<span class="pill good">${icon('check')} Ready</span>`
    : `<span class="pill bad">${icon('warning')} Not ready</span>`;
  const main = `<div class="head mid">${brand()}${state}</div>
<h1 class="ask">${escapeHtml(service_id)}</h1>
<p class="lead">Automated agents act for people here. The service checks the authority, the budget and the approvals of each call before it acts.</p>
${isReady ? '' : notReady(unready)}
${waysOf(facts)}
${connection(discovery, facts)}
${offered(discovery, facts)}
${forPrograms(discovery, facts)}`;
  return framed({ title: service_id, basePath: basePath === '' ? '.' : basePath, main });
}

/** Reasons that are listed. */
const REASONS_MAX = 5;

function notReady(reasons: readonly string[]): string {
  const listed = reasons.slice(0, REASONS_MAX).map((each) => foreignHtml(each, 300));
  return notice('bad', `<b>Not ready.</b> Calls may be refused: ${listed.join('; ')}.`);
}

function waysOf(facts: FrontFacts): string {
  const { hasSignIn = false, hasConsole = hasSignIn, advice = '' } = facts;
  const docs = button(facts, { path: '/docs', label: 'Documentation' });
  if (!hasConsole) {
    return `<p>People cannot sign in here, so there is no console. ${escapeHtml(advice)}</p>
<div class="row">${docs}</div>`;
  }
  const log = `${icon('chain')} Verify the log`;
  return `<div class="row">${button(facts, { path: '/console/', label: 'Open the console', isFirst: true })}
${docs} ${button(facts, { path: '/console/trust', label: log })}</div>`;
}

interface Button {
  readonly path: string;
  /** HTML. */
  readonly label: string;
  readonly isFirst?: boolean;
}

function button(facts: FrontFacts, { path, label, isFirst }: Button): string {
  return `<a class="button${isFirst ? ' act' : ''}" href="${linkOf(facts, path)}">${label}</a>`;
}

function linkOf({ basePath = '' }: FrontFacts, path: string): string {
  return escapeHtml(`${basePath === '' ? '.' : basePath}${path}`);
}

/** For the program of an agent, where it can be told an address. */
function connection({ surfaces = {} }: Discovery, facts: FrontFacts): string {
  const { basePath = '', baseUrl, hasSignIn = false } = facts;
  const { mcp } = surfaces;
  if (baseUrl === undefined || (mcp === undefined && !hasSignIn)) return '';
  const asks = hasSignIn
    ? 'It asks you to sign in and to set its limits.'
    : 'It sends a token that the operator of the service gives you.';
  const overMcp =
    mcp === undefined
      ? ''
      : `<p><b>Over MCP.</b> Give your client this address. ${asks}</p>
${command(baseUrl + mcp.slice(basePath.length))}`;
  const terminal = hasSignIn
    ? `<p><b>From a terminal</b></p>\n${command(`npx writ login --service ${baseUrl}`)}`
    : '';
  const agents = hasSignIn
    ? `<p class="small muted">You see the agents that act for you, and end them, in <a href="${linkOf(facts, '/sign-in')}">My agents</a>.</p>`
    : '';
  return `<section aria-labelledby="h-connect"><h2 id="h-connect">Connect an agent</h2>
<div class="panel">${overMcp}\n${terminal}</div>
${agents}</section>`;
}

function command(text: string): string {
  return `<p class="cmd"><code>${escapeHtml(text)}</code></p>`;
}

type EffectType = CapabilitySummary['side_effect']['type'];

const EFFECTS = {
  read: { icon: 'read', look: '', says: 'Reads', rest: 'that only read' },
  transactional: {
    icon: 'reversible',
    look: '',
    says: 'Can be undone',
    rest: 'that can be undone',
  },
  write: { icon: 'write', look: '', says: 'Changes something', rest: 'that change something' },
  irreversible: {
    icon: 'irreversible',
    look: 'final-icon',
    says: 'Cannot be undone',
    rest: 'that cannot be undone',
  },
} as const satisfies Record<EffectType, object>;

/** Capabilities that a row names. */
const NAMED_MAX = 4;

function offered({ capabilities }: Discovery, facts: FrontFacts): string {
  const { gated = [], hasSignIn = false, hasConsole = hasSignIn } = facts;
  const all = Object.entries(capabilities);
  if (gated.includes('manifest')) {
    return '<p class="muted">Callers with a credential can list what agents can do here.</p>';
  }
  if (all.length === 0) return '';
  const rows = (Object.keys(EFFECTS) as EffectType[]).map((type) =>
    effectRow(
      type,
      all.filter(([, { side_effect }]) => side_effect.type === type),
    ),
  );
  const count = countText(all.length, 'capability', 'capabilities');
  const more = hasConsole
    ? `<p class="small"><a href="${linkOf(facts, '/console/capabilities')}">What each one does</a></p>`
    : '';
  return `<section aria-labelledby="h-can"><div class="head"><h2 id="h-can">What agents can do here</h2> <small>${count}</small></div>
<ul class="list">${rows.join('')}</ul>
${more}</section>`;
}

function effectRow(type: EffectType, found: readonly [string, CapabilitySummary][]): string {
  if (found.length === 0) return '';
  const { icon: name, look, says, rest } = EFFECTS[type];
  const titles = found.slice(0, NAMED_MAX).map(([id]) => titleOf(id));
  const others = found.length - titles.length;
  const [first = '', ...following] = titles;
  const words = [first, ...following.map((each) => each.toLowerCase())].join(', ');
  const cost = found.some(([, { financial }]) => financial) ? 'some cost money' : 'free';
  return `<li>${icon(name, { look, says })}<div class="body"><h3>${foreignHtml(words, 300)}${others > 0 ? ` and ${others} more` : ''}</h3>
<p>${found.length} ${rest}</p></div><div class="side"><span class="muted">${cost}</span></div></li>`;
}

function forPrograms({ protocol, endpoints, surfaces = {} }: Discovery, facts: FrontFacts): string {
  const { basePath = '', gated = [] } = facts;
  const linked = [
    ...documentsOf(endpoints, gated).map(({ path, summary }) => ({ path, summary })),
    { path: '/openapi.json', summary: 'The API as OpenAPI 3.1' },
  ].map(({ path, summary }) => {
    const shown = `<code>${escapeHtml(basePath + path)}</code>`;
    return row(`<a href="${linkOf(facts, path)}">${shown}</a>`, escapeHtml(summary));
  });
  // Other protocols take requests that a browser does not send, so they are named and not linked.
  const others = Object.entries(surfaces).map(([name, path]) =>
    row(`<code>${escapeHtml(path)}</code>`, `Another protocol: ${escapeHtml(name)}`),
  );
  const rows = [...linked, ...others];
  return `<details class="panel"><summary>${icon('tool')}<span>For programs</span> <small>${escapeHtml(protocol)}, ${countText(rows.length, 'address', 'addresses')}</small></summary>
<table><thead><tr><th scope="col">Address</th><th scope="col">What it answers</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table></details>`;
}

function row(address: string, answers: string): string {
  return `<tr><td>${address}</td><td>${answers}</td></tr>`;
}

/** The documents that a browser can open: fetched by address alone, without a credential. */
function documentsOf(
  endpoints: Discovery['endpoints'],
  gated: readonly OperationName[],
): Operation[] {
  const all = Object.entries(operations) as [OperationName, Operation][];
  return all
    .filter(([name]) => !gated.includes(name))
    .map(([, operation]) => operation)
    .filter(({ method, path, auth, endpoint }) => {
      const isOpen = method === 'GET' && (auth === 'none' || auth === 'optional');
      return isOpen && !path.includes('{') && Object.hasOwn(endpoints, endpoint);
    });
}

/** For the operator: what makes the pages for people appear. */
export function signInAdvice({ basePath, config }: Pick<Runtime, 'basePath' | 'config'>): string {
  const isMounted = basePath !== '';
  const found =
    isMounted && config.public_url === undefined
      ? 'The service is in an app and does not know its address: public_url is missing. '
      : '';
  const app = isMounted
    ? ' The people of the app come in with the option identify of mount() (docs/mounting.md, "The pages").'
    : '';
  return `${found}${ADVICE}${app}`;
}

const ADVICE =
  'To let people in, set public_url to an https address with a name, and invite them with "writ people invite" (docs/sign-in.md, "People without a provider"). On a loopback address restart the service after the first invitation.';
