/**
 * The front page: what answers at this address, for a person who opened it in a browser.
 *
 * Says what discovery says and nothing more, so it can be as public. Links are relative: the service
 * may stand below a path of a proxy.
 *
 * @module
 */

import { text } from '../openapi/html.ts';
import { type Operation, type OperationName, operations } from '../protocol/operations.ts';
import type { Discovery } from '../protocol/trust.ts';
import { STYLE } from './front-page-style.ts';

/** `gated` operations ask for a credential here, although their row asks for none. */
export function frontPage(
  { service_id, protocol, capabilities, ...found }: Discovery,
  gated: readonly OperationName[] = [],
): string {
  const count = Object.keys(capabilities).length;
  const offered =
    gated.length > 0 ? 'capabilities' : count === 1 ? 'one capability' : `${count} capabilities`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(service_id)}</title>
<style>${STYLE}</style>
</head>
<body>
<header><b>Writ</b> ${text(protocol)}</header>
<main>
<h1>${text(service_id)}</h1>
<p>This service offers ${offered} to automated agents.${gated.length > 0 ? ' It tells which to callers with a credential.' : ''}
It checks the authority of the caller before each call acts.</p>
<section>
<h2>For people</h2>
<dl>${linked('/docs', 'Every operation of the API, with examples')}</dl>
</section>
<section>
<h2>For programs</h2>
<dl>${documentsOf(found.endpoints, gated).join('\n')}
${linked('/openapi.json', 'The API as OpenAPI 3.1')}</dl>
</section>
${surfacesOf(found.surfaces ?? {})}
</main>
</body>
</html>
`;
}

/** The documents that a browser can open: fetched by address alone, without a credential. */
function documentsOf(endpoints: Discovery['endpoints'], gated: readonly OperationName[]): string[] {
  const all = Object.entries(operations) as [OperationName, Operation][];
  return all
    .filter(([name]) => !gated.includes(name))
    .map(([, operation]) => operation)
    .filter(({ method, path, auth, endpoint }) => {
      const isOpen = method === 'GET' && (auth === 'none' || auth === 'optional');
      return isOpen && !path.includes('{') && Object.hasOwn(endpoints, endpoint);
    })
    .map(({ path, summary }) => linked(path, summary));
}

function linked(path: string, summary: string): string {
  return `<dt><a href=".${text(path)}">${text(path)}</a></dt><dd>${text(summary)}</dd>`;
}

/** Other protocols take requests that a browser does not send, so they are named and not linked. */
function surfacesOf(surfaces: Readonly<Record<string, string>>): string {
  const rows = Object.entries(surfaces).map(
    ([name, path]) => `<dt>${text(name)}</dt><dd><code>${text(path)}</code></dd>`,
  );
  if (rows.length === 0) return '';
  return `<section>\n<h2>Other protocols</h2>\n<dl>${rows.join('\n')}</dl>\n</section>`;
}
