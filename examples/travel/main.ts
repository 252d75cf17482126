/**
 * Runs the travel desk and says how to talk to it.
 *
 * @module
 */

import { serve } from 'writ';
import { DEMO_IDENTITIES, OIDC_ENTITLEMENTS, travelDesk } from './service.ts';

try {
  const { url } = await serve(travelDesk, {
    settings: { identities: DEMO_IDENTITIES, entitlements: OIDC_ENTITLEMENTS },
  });
  process.stdout.write(welcome(url));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

function welcome(url: string): string {
  const width = Math.max(...DEMO_IDENTITIES.map(({ key }) => key.length));
  return `
  travel-desk is listening on ${url}

  Demo credentials (accepted on this machine only):
${DEMO_IDENTITIES.map(({ key, principal, scopes }) => `    ${key.padEnd(width)}  ${principal} (${scopes.join(', ')})`).join('\n')}

  Try:
    curl -s ${url}/.well-known/svc
    curl -si ${url}/svc/manifest | grep -i x-svc-signature
`;
}
