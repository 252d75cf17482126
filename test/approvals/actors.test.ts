/**
 * A token that is revoked after it was judged and before the store takes the step.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { group } from '../support/missing.ts';
import { type Reply, STORES } from '../support/world.ts';
import { assertRefused, BOB, type Desk, OPERATOR, startDesk } from './desk.ts';
import { askedOverSocket } from './socket.ts';

/** Each act, by the step of the store it ends in. */
type Act = (desk: Desk, token: IssueAnswer) => Promise<() => Promise<Reply>>;

const APPROVER = { scope: ['approver:*', 'a.use'], subject: 'human:bob' };
const MANAGER = { scope: ['operator:*'], subject: 'service:operator' };

const ACTS: [step: keyof Store, holder: string, request: object, act: Act][] = [
  [
    'approve',
    BOB,
    APPROVER,
    async (desk, { token }) => {
      const id = await desk.asked(await desk.token(), 'sign', { note: 'approved late' });
      return () => desk.approve(token, id);
    },
  ],
  [
    'deny',
    BOB,
    APPROVER,
    async (desk, { token }) => {
      const id = await desk.asked(await desk.token(), 'sign', { note: 'denied late' });
      return () => desk.deny(token, id);
    },
  ],
  [
    'requestApproval',
    BOB,
    APPROVER,
    async (desk, { token }) =>
      () =>
        desk.invoke(token, 'sign', { note: 'asked late' }),
  ],
  [
    'revokeToken',
    OPERATOR,
    MANAGER,
    async (desk, { token }) => {
      const ask = await askedOverSocket(desk);
      const { token_id } = await desk.token();
      return () => ask('POST', '/svc/tokens/revoke', { bearer: token, body: { token_id } });
    },
  ],
  [
    'freeze',
    OPERATOR,
    MANAGER,
    async (desk, { token }) => {
      const ask = await askedOverSocket(desk);
      const body = { what: 'capability', target: 'plain', reason: 'late' };
      return () => ask('POST', '/svc/operator/freeze', { bearer: token, body });
    },
  ],
  [
    'unfreeze',
    OPERATOR,
    MANAGER,
    async (desk, { token }) => {
      const ask = await askedOverSocket(desk);
      const body = { what: 'capability', target: 'plain', reason: 'late' };
      return () => ask('POST', '/svc/operator/unfreeze', { bearer: token, body });
    },
  ],
  [
    'reconcile',
    OPERATOR,
    MANAGER,
    async (desk, { token }) => {
      const ask = await askedOverSocket(desk);
      const body = { invocation_id: 'inv-0123456789ab', outcome: 'executed', reason: 'late' };
      return () => ask('POST', '/svc/operator/reconcile', { bearer: token, body });
    },
  ],
];

for (const place of STORES) {
  group(place.name, async () => {
    let meanwhile: { step: keyof Store; happens: () => Promise<unknown> } | undefined;

    /** Lets something happen between what the service looked at and the step it asks for. */
    function interrupted(store: Store): Store {
      const steps = ACTS.map(([step]) => [
        step,
        async (...given: unknown[]) => {
          const { happens } = (meanwhile?.step === step && meanwhile) || {};
          meanwhile = happens ? undefined : meanwhile;
          await happens?.();
          return (store[step] as (...given: unknown[]) => unknown)(...given);
        },
      ]);
      return { ...store, ...Object.fromEntries(steps) };
    }

    const opened = await place.open();
    const desk = await startDesk({ store: opened.url, wrap: interrupted });

    for (const [step, holder, request, act] of ACTS) {
      test(`${step} is refused to a token that is revoked between check and write`, async () => {
        const token = await desk.token(request, holder);
        const attempt = await act(desk, token);
        const revocation = { bearer: holder, body: { token_id: token.token_id } };
        const happens = async () => {
          const { status } = await desk.ask('POST', '/svc/tokens/revoke', revocation);
          assert.equal(status, 200);
        };
        meanwhile = { step, happens };

        const reply = await attempt();

        assert.equal(meanwhile, undefined, 'nothing came in between');
        assertRefused(reply, 'invalid_token');
        assert.equal(reply.status, 401);
      });
    }
  });
}
