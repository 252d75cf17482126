/**
 * A passkey device that Chromium simulates: it recognises its person, and keeps the keys that pages ask it for.
 *
 * @module
 */

import type { CDPSession, Page } from 'playwright-core';

export interface Device {
  readonly session: CDPSession;
  readonly id: string;
  /** How often its keys have signed. */
  signatures(): Promise<number>;
}

/** To this page alone. */
export async function plugIn(page: Page): Promise<Device> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  });
  return {
    session,
    id: authenticatorId,
    async signatures() {
      const { credentials } = await session.send('WebAuthn.getCredentials', { authenticatorId });
      return credentials.reduce((sum, { signCount }) => sum + signCount, 0);
    },
  };
}
