/**
 * Revocation, expiry and freezes: nothing is admitted, delegated or decided under authority that ended before.
 *
 * "Before" is the order in which the store executed the transitions. Clients are checked too: a call that was
 * asked after the revocation never succeeds, whatever the replica that answers it remembers.
 *
 * @module
 */

import { capabilityFreezes, principalFreezes } from '../../../src/domain/authority/freeze.ts';
import type { InvokeAnswer, InvokeRequest } from '../../../src/protocol/invocation.ts';
import { freezeKey } from '../../../src/storage/port/ledger-store.ts';
import type { FreezeRecord } from '../../../src/storage/port/records.ts';
import { broken } from '../broken.ts';
import type { Call, Shadow, Subject, Token } from './shadow.ts';
import { tokenOf } from './shadow.ts';
import { overrunOf } from './transitions.ts';

export function revocation(shadow: Shadow): Subject {
  const freezes = new Map<string, FreezeRecord>();
  const asked = new Map<number, Asked>();
  const refuseActor = (id: string | undefined, what: string) => {
    if (id !== undefined) refuseRevoked(tokenOf(shadow, id), what);
  };
  const freezeOf = ({ record }: Token, capability: string, now?: Date) =>
    [
      ...principalFreezes(record.root_principal),
      ...capabilityFreezes([capability], record.root_principal),
    ]
      .map((key) => freezes.get(freezeKey(key)))
      .find((freeze) => freeze && !(now && freeze.until && freeze.until <= now));
  const add = (freeze: FreezeRecord | undefined) => {
    if (freeze) freezes.set(freezeKey(freeze), freeze);
  };

  return {
    store: {
      admit({ args: [{ intent, now }], result }) {
        if (!result.admitted) return;
        const { token } = shadow.calls.get(intent.operation_id) as Call;
        const what = `operation "${intent.operation_id}" was admitted`;
        refuseEnded(token, now, what);
        const freeze = freezeOf(token, intent.capability, now);
        if (freeze) broken('frozen', `${what} while ${freezeKey(freeze)} was frozen`);
      },
      insertChild({ args: [{ token_id }, , { now }], result }) {
        if (result !== 'inserted') return;
        const parent = tokenOf(shadow, token_id).lineage.at(-2);
        if (parent) refuseEnded(parent, now, `token "${token_id}" was delegated`);
      },
      requestApproval({ args: [, , , asking], result }) {
        if (typeof result === 'object') refuseActor(asking?.actor, 'an approval was requested');
      },
      approve({ args: [{ actor }], result }) {
        if (result === 'approved' || result === 'counted')
          refuseActor(actor, 'an approval counted');
      },
      deny({ args: [{ actor }], result }) {
        if (result === 'denied') refuseActor(actor, 'a request was denied');
      },
      revokeToken({ args: [id, , , by], result }) {
        if (typeof result === 'object') refuseActor(by?.actor, `token "${id}" was revoked`);
      },
      freeze({ args: [record, , actor], result }) {
        if (result !== 'frozen') return;
        refuseActor(actor, `${freezeKey(record)} was frozen`);
        add(record);
      },
      unfreeze({ args: [key, , actor], result }) {
        if (typeof result !== 'boolean') return;
        refuseActor(actor, `${freezeKey(key)} was unfrozen`);
        freezes.delete(freezeKey(key));
      },
      reconcile({ args: [id, , , by], result }) {
        if (typeof result !== 'object') return;
        refuseActor(by?.actor, `"${id}" was reconciled`);
        add(by?.overrun?.freeze?.record);
      },
      settle: (event) => add(overrunOf(shadow, event)?.freeze?.record),
      append: ({ args: [, , overrun] }) => add(overrun?.freeze?.record),
      endStep: ({ args: [, , { overrun }], result }) =>
        add(result ? overrun?.freeze?.record : undefined),
    },
    ask({ id, token: tokenId, operation, request }) {
      const token = tokenId === undefined ? undefined : shadow.tokens.get(tokenId);
      if (!token) return;
      const revoked = token.lineage.find(({ isRevoked }) => isRevoked);
      const capability = operation === 'invoke' ? (request as InvokeRequest).capability : undefined;
      const freeze = capability === undefined ? undefined : freezeOf(token, capability);
      if (revoked || freeze) asked.set(id, { revoked, freeze });
    },
    answer({ id, operation, failure, answer }) {
      const before = asked.get(id);
      asked.delete(id);
      if (!before || failure !== undefined || answer === undefined) return;
      const body = answer as InvokeAnswer;
      if (operation === 'invoke' && !body.success) return;
      if (before.revoked) {
        const token = `token "${before.revoked.id}" was revoked`;
        broken(
          'revoked',
          `question ${id} (${operation}) succeeded, and ${token} before it was asked`,
        );
      }
      // An admitted call was compared at its admission; a repeated answer is given even when frozen.
      const { freeze } = before;
      const stands = freeze && !freeze.until && freezes.get(freezeKey(freeze)) === freeze;
      if (stands && !shadow.invocations.has(body.invocation_id)) {
        broken('frozen', `question ${id} was answered while ${freezeKey(freeze)} was frozen`);
      }
    },
  };
}

interface Asked {
  readonly revoked: Token | undefined;
  readonly freeze: FreezeRecord | undefined;
}

function refuseEnded(token: Token, now: Date, what: string): void {
  refuseRevoked(token, what);
  const expired = token.lineage.find(({ record }) => record.expires_at <= now);
  if (expired) broken('expired', `${what} after token "${expired.id}" had expired`);
}

function refuseRevoked({ lineage }: Token, what: string): void {
  const revoked = lineage.find(({ isRevoked }) => isRevoked);
  if (revoked) broken('revoked', `${what} after token "${revoked.id}" was revoked`);
}
