/**
 * Runs the travel desk and says how to talk to it; with `--stdio`, on standard input and output;
 * with `--workers N`, by so many processes.
 *
 * @module
 */

import { type RunningService, serve, serveStdio } from 'writ';
import { DEMO_IDENTITIES, DEMO_SIGN_IN, OIDC_ENTITLEMENTS, travelDesk } from './service.ts';

try {
  const settings = {
    identities: DEMO_IDENTITIES,
    entitlements: OIDC_ENTITLEMENTS,
    sign_in: DEMO_SIGN_IN,
  };
  if (process.argv.includes('--stdio')) {
    await serveStdio(travelDesk, { settings });
  } else {
    const environment = { ...process.env, ...workersAsked(process.argv) };
    const running = await serve(travelDesk, { settings, environment });
    if (!running.isWorker) process.stdout.write(welcome(running));
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** `--workers N`: so many processes behind the port. */
function workersAsked(args: readonly string[]): { WRIT_WORKERS?: string } {
  const place = args.indexOf('--workers');
  return place < 0 ? {} : { WRIT_WORKERS: args[place + 1] ?? '' };
}

function welcome({ url, pagesUrl, config }: RunningService): string {
  const demo = config.identities.filter((identity) => identity.demo);
  const width = Math.max(0, ...demo.map(({ key = '' }) => key.length));
  const lines = demo.map(
    ({ key = '', principal, scopes }) =>
      `    ${key.padEnd(width)}  ${principal} (${scopes.join(', ')})`,
  );
  const person = demo.find(({ principal }) => principal.startsWith('human:'));
  const credentials = [
    ...(demo.length > 0
      ? ['  Demo credentials (accepted on this machine only):', ...lines, '']
      : []),
    ...(person
      ? [`  People: open ${pagesUrl}/console/ and sign in, for example with ${person.key}.`]
      : []),
    ...(person ? [`  Agents: add ${url}/mcp to an MCP client; docs/sign-in.md says how.`, ''] : []),
  ];
  return `
  travel-desk is listening on ${url}

${credentials.map((line) => `${line}\n`).join('')}  Try:
    curl -s ${url}/.well-known/svc
    curl -si ${url}/svc/manifest | grep -i x-svc-signature
`;
}
