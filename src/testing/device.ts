/**
 * A virtual device with a passkey for each test person, who uses the console as in a browser.
 *
 * @module
 */

import { pagesUrl } from '../address/host.ts';
import { decisionChallenge } from '../domain/passkey/decision.ts';
import type { ConsoleInput, ConsoleMethodName } from '../protocol/console/methods.ts';
import type { ConsoleAnswers } from '../protocol/console/views.ts';
import type { PasskeyProof } from '../protocol/passkey.ts';
import { perform } from '../service/operations/operations.ts';
import type { Runtime } from '../service/runtime.ts';
import { type SoftwareKey, softwareKey } from './authenticator.ts';

/** Signs the approval of a request as a person does on its page. */
export type SignApproval = (
  approval: Omit<ConsoleInput<'decision.challenge'>, 'decision'>,
) => Promise<PasskeyProof>;

/** The device of this person. It enrols its passkey at the first decision. */
export function deviceOf(runtime: Runtime, principal: string): SignApproval {
  const ask = consoleOf(runtime, principal);
  const origin = () => new URL(pagesUrl(runtime.baseUrl())).origin;
  let enrolled: Promise<SoftwareKey> | undefined;

  async function enrol(): Promise<SoftwareKey> {
    const { challenge, rp_id } = await ask('passkeys.begin', {});
    const key = softwareKey();
    const made = key.register({
      rpId: rp_id,
      origin: origin(),
      challenge: Buffer.from(challenge, 'base64url'),
    });
    await ask('passkeys.add', { label: 'the device of a test', challenge, ...made });
    return key;
  }

  return async (approval) => {
    enrolled ??= enrol().catch((error) => {
      enrolled = undefined;
      throw error;
    });
    const key = await enrolled;
    const { payload, rp_id } = await ask('decision.challenge', {
      ...approval,
      decision: 'approve',
    });
    const asked = { rpId: rp_id, origin: origin(), challenge: decisionChallenge(payload) };
    return { ...key.assert(asked), nonce: payload.nonce };
  };
}

/** Asks the methods of the console as this person, who has just signed in. */
function consoleOf(runtime: Runtime, principal: string) {
  const { console, platform } = runtime;
  return async <Name extends ConsoleMethodName>(
    name: Name,
    input: ConsoleInput<Name>,
  ): Promise<ConsoleAnswers[Name]> => {
    const rule = await console?.ofApp(() => principal);
    const person = {
      principal,
      scopes: rule?.entitlement.scopes,
      signed_in_at: new Date(platform.now()),
    };
    const signedIn = await console?.ofApp(() => person);
    const method = console?.methods[name];
    if (!signedIn || !method) throw new Error(`Cannot use a passkey as ${principal}`);
    const { session, entitlement } = signedIn;
    const asking = {
      session,
      bearer: () => undefined,
      bySession: async () => entitlement,
      input: () => input,
    };
    const answer = await perform(name, () => method(asking), asking, runtime);
    if ('failure' in answer && answer.failure) throw new Error(answer.failure.detail);
    return ('body' in answer ? answer.body : {}) as ConsoleAnswers[Name];
  };
}
