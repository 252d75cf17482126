/**
 * A desk whose approvals take passkeys, and people with software authenticators at its console.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { decisionChallenge } from '../../src/domain/passkey/decision.ts';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import type { ConsoleInput } from '../../src/protocol/console/methods.ts';
import type { Challenge, SignedDecision } from '../../src/protocol/console/views.ts';
import type { Passkey } from '../../src/protocol/decision.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import {
  type Algorithm,
  type Asked,
  type SoftwareKey,
  softwareKey,
} from '../../src/testing/authenticator.ts';
import { atConsole, type ConsolePerson } from '../console/person.ts';
import { person } from '../support/person.ts';
import { type Reply, type TestOptions, type TestService, testService } from '../support/world.ts';

export const ANN = 'ann-key';
export const [BOB, CAROL] = ['bob-key', 'carol-key'];
export const RP = { rpId: 'localhost', origin: 'http://localhost' };
export const TERMS = { grant_type: 'one_time' as const };

const GRANT_POLICY = {
  allowed_grant_types: ['one_time' as const, 'session_bound' as const],
  default_grant_type: 'one_time' as const,
  expires_in_seconds: 900,
  max_uses: 3,
};

const plain = (name: string) => ({
  name,
  description: `Tests ${name}`,
  minimum_scope: ['a.use'],
  side_effect: 'irreversible' as const,
  inputs: [{ name: 'amount', type: 'number' as const }],
  handler: () => ({ done: true }),
});
const always = { when: 'always' as const, grant_policy: GRANT_POLICY };

/** The desk; `lax` is the same one with a policy for "pay" that requires no passkey. */
const definitionOf = (policy: 'strict' | 'lax') =>
  createService({
    id: 'passkey-desk',
    trust: { level: 'anchored', anchoring: { cadence: 'PT1H' } },
    capabilities: [
      defineCapability({
        ...plain('pay'),
        approval: {
          ...always,
          ...(policy === 'strict' && { require: 'passkey' }),
          preview: (parameters) => ({ action: 'Pay', ...parameters }),
        },
      }),
      defineCapability({
        ...plain('pair'),
        approval: { ...always, require: 'passkey', approvals_required: 2 },
      }),
      defineCapability({ ...plain('open'), approval: { ...always } }),
    ],
  });

export interface Desk extends TestService {
  /** A person at the console, with the methods of `Approver`. */
  at(key: string): Promise<Approver>;
  /** Asks for what needs approval, as an agent of ann. */
  asked(capability: string, amount?: number): Promise<string>;
  decisions(): Promise<AuditEntry[]>;
}

export interface Approver extends ConsolePerson {
  /** Makes a passkey and adds it; `confirmed` by one that counts. */
  enrol(algorithm?: Algorithm, confirmed?: SoftwareKey): Promise<Enrolled>;
  challenge(input: ConsoleInput<'decision.challenge'>): Promise<Challenge>;
  approve(id: string, key: SoftwareKey, terms?: object): Promise<Reply>;
}

interface Enrolled {
  readonly key: SoftwareKey;
  readonly passkey: Passkey;
}

export async function openDesk(
  options: TestOptions = {},
  policy: 'strict' | 'lax' = 'strict',
): Promise<Desk> {
  const identities = [
    person(ANN, 'human:ann', ['a.*', 'approver:*', 'operator:*']),
    person(BOB, 'human:bob', ['approver:*']),
    person(CAROL, 'human:carol', ['approver:*']),
  ];
  const service = await testService({
    ...options,
    definition: definitionOf(policy),
    settings: { identities },
  });
  return {
    ...service,
    at: async (key) => approverOf(await atConsole(service, key)),
    async asked(capability, amount = 250) {
      const { token } = await service.issue(ANN, { scope: ['a.use'], subject: 'agent:a' });
      const { body } = await service.invoke(token, capability, { amount });
      assert.equal(body.failure?.type, 'approval_required', JSON.stringify(body));
      return body.failure.approval_request_id;
    },
    decisions: () => service.entriesBy({ entryType: 'approval_decision' }),
  };
}

function approverOf(at: ConsolePerson): Approver {
  const challenge: Approver['challenge'] = (input) => at.answer('decision.challenge', input);
  return {
    ...at,
    challenge,
    async enrol(algorithm = 'ES256', confirmed) {
      const options = await at.answer('passkeys.begin');
      const asked = { ...RP, challenge: Buffer.from(options.challenge, 'base64url') };
      const key = softwareKey(algorithm);
      const { passkey } = await at.answer('passkeys.add', {
        label: `${algorithm} device`,
        challenge: options.challenge,
        ...key.register(asked),
        ...(confirmed && { confirmed_by: confirmed.assert(asked) }),
      });
      return { key, passkey };
    },
    async approve(id, key, terms = TERMS) {
      const approval = { approval_request_id: id, ...TERMS, ...terms };
      const { payload } = await challenge({ ...approval, decision: 'approve' });
      return at.reply('approval_grants.issue', { ...approval, passkey: proofOf(key, payload) });
    },
  };
}

/** What an authenticator returns for this decision. */
export function proofOf(key: SoftwareKey, payload: SignedDecision, odd: Partial<Asked> = {}) {
  const asked = { ...RP, challenge: decisionChallenge(payload), ...odd };
  return { ...key.assert(asked), nonce: payload.nonce };
}
