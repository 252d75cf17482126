/**
 * The front page: what answers at this address, for a person who opened it in a browser.
 *
 * Says what discovery says and nothing more, so it can be as public. Links are relative: the service
 * may stand below a path of a proxy. A mounted service knows its path, and its page may be asked for without
 * the last slash, so its links contain the path.
 *
 * @module
 */

import { escapeHtml } from '../openapi/html.ts';
import { type Operation, type OperationName, operations } from '../protocol/operations.ts';
import type { Discovery } from '../protocol/trust.ts';
import type { Runtime } from '../service/runtime.ts';

/** Ink on paper, thin rules between sections, in light and dark. */
export const FRONT_STYLE = `
:root { color-scheme: light dark; --paper: #f8f8f5; --raised: #ffffff; --ink: #17191c;
  --muted: #565b63; --line: #dcdcd6; --act: #1f4bb8; }
@media (prefers-color-scheme: dark) { :root { --paper: #121416; --raised: #1a1d20; --ink: #eceef0;
  --muted: #a9afb7; --line: #34393e; --act: #9dbbff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: break-word;
  font: 1rem/1.5 -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; }
header { padding: .5rem 1rem; background: var(--raised); border-bottom: 1px solid var(--line);
  color: var(--muted); font-size: .8125rem; }
header b { color: var(--ink); font-size: 1rem; margin-inline-end: .25rem; }
main { max-width: 46rem; margin: 0 auto; padding: 1rem 1rem 2.5rem; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.2; letter-spacing: -.015em; }
h2 { margin: 0; font-size: 1rem; }
p { margin: .75rem 0 0; }
section { margin-top: 1rem; padding-top: .75rem; border-top: 1px solid var(--line); }
dl { margin: .5rem 0 0; display: grid; gap: 0 1.5rem; }
dt, dd { margin: 0; padding-block: .25rem; }
dd { color: var(--muted); padding-top: 0; }
a { color: var(--act); text-underline-offset: .15em; }
code { font: .8125rem ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px; border-radius: 3px; }
@media (min-width: 60rem) {
  h1 { font-size: 2rem; }
  header, main { padding-inline: 1.5rem; }
  dl { grid-template-columns: 14rem minmax(0, 1fr); }
  dd { padding-top: .25rem; }
}
`;

interface FrontFacts {
  /** Operations that ask for a credential here, although their row asks for none. */
  readonly gated?: readonly OperationName[];
  readonly basePath?: string;
  /** Whether people can sign in here. */
  readonly hasSignIn?: boolean;
  /** The same, or at the app around the service. */
  readonly hasConsole?: boolean;
  /** What an operator can do where they cannot. */
  readonly advice?: string;
}

export function frontPage(
  { service_id, protocol, capabilities, ...found }: Discovery,
  {
    gated = [],
    basePath = '',
    hasSignIn = false,
    hasConsole = hasSignIn,
    advice = '',
  }: FrontFacts = {},
): string {
  const linked = (path: string, summary: string) => linkTo(basePath, path, summary);
  const count = Object.keys(capabilities).length;
  const offered =
    gated.length > 0 ? 'capabilities' : count === 1 ? 'one capability' : `${count} capabilities`;
  return framed(
    service_id,
    protocol,
    `<h1>${escapeHtml(service_id)}</h1>
<p>This service offers ${offered} to automated agents.${gated.length > 0 ? ' Callers with a credential can list them.' : ''}
It checks the authority of the caller before each call acts.</p>
<section>
<h2>For people</h2>
${hasConsole ? '' : `<p>${NO_SIGN_IN} ${escapeHtml(advice)}</p>`}
<dl>${hasSignIn ? linked('/sign-in', 'Sign in, see the agents that act for you, and end them') : ''}
${hasConsole ? linked('/console/', 'Decide requests, watch and end agents, verify the log') : ''}
${linked('/docs', 'Every operation of the API, with examples')}</dl>
</section>
<section>
<h2>For programs</h2>
<dl>${documentsOf(found.endpoints, gated)
      .map(({ path, summary }) => linked(path, summary))
      .join('\n')}
${linked('/openapi.json', 'The API as OpenAPI 3.1')}</dl>
</section>
${surfacesOf(found.surfaces ?? {})}`,
  );
}

const NO_SIGN_IN = 'People cannot sign in here, so there is no console.';

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

/** What a browser sees at the address of a page for people, where people cannot sign in. */
export function noSignInPage(serviceId: string, advice: string): string {
  return framed(
    serviceId,
    '',
    `<h1>There is no console here</h1>
<p>${NO_SIGN_IN} Automated agents and programs call <b>${escapeHtml(serviceId)}</b> with a credential.</p>
<section>
<h2>For the operator</h2>
<p>${escapeHtml(advice)}</p>
</section>`,
  );
}

/** What a browser sees instead of a page for people: why it cannot be shown, and the way to the others. */
export function refusalPage(serviceId: string, why: string, start: string): string {
  return framed(
    serviceId,
    '',
    `<h1>This page cannot be shown</h1>
<p>${escapeHtml(why)}.</p>
<p><a href="${escapeHtml(start)}">To the start of ${escapeHtml(serviceId)}</a></p>`,
  );
}

function framed(title: string, about: string, main: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${FRONT_STYLE}</style>
</head>
<body>
<header><b>Writ</b> ${escapeHtml(about)}</header>
<main>
${main}
</main>
</body>
</html>
`;
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

function linkTo(basePath: string, path: string, summary: string): string {
  const link = `${basePath === '' ? '.' : basePath}${path}`;
  return `<dt><a href="${escapeHtml(link)}">${escapeHtml(basePath + path)}</a></dt><dd>${escapeHtml(summary)}</dd>`;
}

/** Other protocols take requests that a browser does not send, so they are named and not linked. */
function surfacesOf(surfaces: Readonly<Record<string, string>>): string {
  const rows = Object.entries(surfaces).map(
    ([name, path]) => `<dt>${escapeHtml(name)}</dt><dd><code>${escapeHtml(path)}</code></dd>`,
  );
  if (rows.length === 0) return '';
  return `<section>\n<h2>Other protocols</h2>\n<dl>${rows.join('\n')}</dl>\n</section>`;
}
