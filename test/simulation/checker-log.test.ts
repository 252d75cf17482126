/**
 * The checker and the log: entries, checkpoints, leases, steps, notices, acknowledgements, and the end of a run.
 *
 * @module
 */

import { test } from 'vitest';
import type { Capability } from '../../src/protocol/capability.ts';
import type { InvokeAnswer } from '../../src/protocol/invocation.ts';
import type { BegunStep } from '../../src/storage/port/composition-store.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { entry, issuanceEntry } from '../support/entries.ts';
import {
  admission,
  admitCall,
  at,
  delivery,
  EXCLUSIVE,
  HOUR,
  insert,
  newId,
  rootToken,
  SECOND,
  settlement,
} from '../support/fixtures.ts';
import { ADMITTED, assertFound, type Case } from './scene.ts';

const CASES: readonly Case[] = [
  {
    name: 'a revocation without an entry',
    breaks: 'logged-once',
    async run({ store, forge }) {
      const { token_id } = await insert(store, rootToken());
      const result = { wasAlive: true, revoked_at: at(SECOND) };
      return () => forge('revokeToken', [token_id, at(SECOND)], { result });
    },
  },
  {
    name: 'a second entry of one invocation',
    breaks: 'logged-once',
    async run({ store, forge }) {
      const call = await admitCall(store, await insert(store, rootToken()));
      await store.settle(settlement(call));
      const { invocation_id } = call.intent;
      return () => forge('append', [[entry({ invocation_id })]]);
    },
  },
  {
    name: 'a head without the last entry',
    breaks: 'log-contiguous',
    async run({ store, forge }) {
      const head = await store.treeHead();
      await store.append([entry()]);
      return () => forge('sequence', [], { result: head });
    },
  },
  {
    name: 'a page whose entries changed their places',
    breaks: 'log-contiguous',
    async run({ store, forge }) {
      await store.append([entry(), entry()]);
      const [first, second] = await store.scanEntries(0, 2);
      const result = [
        { ...second, sequence: 0 },
        { ...first, sequence: 1 },
      ];
      return () => forge('scanEntries', [0, 2], { result });
    },
  },
  {
    name: 'an entry with another hash than its leaf',
    breaks: 'log-contiguous',
    async run({ forge }) {
      const other = { ...entry(), leaf_hash: entry().leaf_hash };
      return () => forge('append', [[other]]);
    },
  },
  {
    name: 'a success whose entry is not in the log',
    breaks: 'acknowledged',
    async run({ store, answer }) {
      const call = await admitCall(store, await insert(store, rootToken()));
      const { entry: missing } = settlement(call);
      return () => answer({ answer: answerWith(call.intent.invocation_id, missing) });
    },
  },
  {
    name: 'a success whose entry says that the outcome is unknown',
    breaks: 'acknowledged',
    async run({ store, answer }) {
      const call = await admitCall(store, await insert(store, rootToken()));
      const closed = settlement(call, { outcome: 'indeterminate' });
      await store.settle(closed);
      return () => answer({ answer: answerWith(call.intent.invocation_id, closed.entry) });
    },
  },
  {
    name: 'a token that was issued and not stored',
    breaks: 'acknowledged',
    async run({ answer }) {
      const { token_id } = rootToken();
      return () => answer({ operation: 'tokens.issue', answer: { token_id } });
    },
  },
  {
    name: 'a revocation that was acknowledged and not stored',
    breaks: 'acknowledged',
    async run({ store, answer }) {
      const { token_id } = await insert(store, rootToken());
      return () => answer({ operation: 'tokens.revoke', request: { token_id }, answer: {} });
    },
  },
  {
    name: 'a denial that was acknowledged and not stored',
    breaks: 'acknowledged',
    async run({ store, request, answer }) {
      const { approval_request_id } = await request(await insert(store, rootToken()));
      const denied = { operation: 'approval_requests.deny', answer: {} } as const;
      return () => answer({ ...denied, request: { approval_request_id } });
    },
  },
  ...(['freeze', 'unfreeze'] as const).map(
    (verb): Case => ({
      name: `a ${verb} that was acknowledged and not stored`,
      breaks: 'acknowledged',
      async run({ answer }) {
        const request = { what: 'capability', target: 'pay', reason: 'to be safe' };
        return () => answer({ operation: `operator.${verb}`, request, answer: {} });
      },
    }),
  ),
  {
    name: 'a checkpoint of more entries than the log has',
    breaks: 'checkpoints',
    async run({ store, mark }) {
      await store.append([entry()]);
      return () => mark({ size: 2 });
    },
  },
  {
    name: 'a checkpoint with another root',
    breaks: 'checkpoints',
    async run({ store, mark }) {
      await store.append([entry()]);
      return () => mark({ root: new Uint8Array(32) });
    },
  },
  {
    name: 'a checkpoint that is stored before the mark has it',
    breaks: 'checkpoints',
    async run({ store, mark, forge }) {
      const first = await mark();
      await store.insertCheckpoint(first);
      await store.append([entry()]);
      const next = { ...first, checkpoint_id: newId('ckpt-'), sequence: 2 };
      return () => forge('insertCheckpoint', [next], { result: true });
    },
  },
  {
    name: 'two checkpoints with one number',
    breaks: 'checkpoints',
    async run({ store, mark }) {
      await mark();
      await store.append([entry()]);
      return () => mark({ sequence: 1 });
    },
  },
  {
    name: 'a witness that sees a checkpoint before it is stored',
    breaks: 'checkpoints',
    async run({ checker, mark }) {
      const { size, root } = await mark();
      return () => checker.see({ kind: 'witness', size, root });
    },
  },
  {
    name: 'a lease that two calls hold',
    breaks: 'one-fence',
    async run({ store, forge }) {
      const token = await insert(store, rootToken(EXCLUSIVE));
      await admitCall(store, token);
      return () => forge('admit', [admission(token)], ADMITTED);
    },
  },
  {
    name: 'a result of a call that lost its lease',
    breaks: 'one-fence',
    async run({ store, forge }) {
      const token = await insert(store, rootToken(EXCLUSIVE));
      const slow = await admitCall(store, token);
      await admitCall(store, token, { now: at(HOUR) });
      return () => forge('settle', [settlement(slow)], { result: 'settled' });
    },
  },
  {
    name: 'recovery that takes the call of a living process',
    breaks: 'living',
    async run({ store, forge }) {
      const { intent } = await admitCall(store, await insert(store, rootToken()));
      await store.heartbeat(intent.instance_id, at(HOUR));
      return () => forge('abandonedIntents', [at(SECOND), 10], { result: [intent] });
    },
  },
  {
    name: 'recovery that does not wait',
    breaks: 'living',
    options: { silentMs: 20 * SECOND, latest: () => at(HOUR).getTime() },
    async run({ store, forge }) {
      const { intent } = await admitCall(store, await insert(store, rootToken()));
      return () => forge('abandonedIntents', [at(HOUR), 10], { result: [intent] });
    },
  },
  {
    name: 'a step that two invocations claim',
    breaks: 'step-once',
    async run({ store, forge }) {
      const step = await composed(store);
      const again = { ...step, invocation_id: newId('inv-') };
      return () => forge('beginStep', [again, 'instance-1'], { result: true });
    },
  },
  {
    name: 'a step of a call that another process adopted',
    breaks: 'step-once',
    async run({ store, forge }) {
      const step = await composed(store);
      await store.adoptComposition('instance-2', at(HOUR));
      const ended = { ...step, outcome: 'completed' };
      return () => forge('endStep', [ended, 'instance-1', { bindings: [] }], { result: true });
    },
  },
  {
    name: 'a composed call that fails and leaves a step standing',
    breaks: 'compensated',
    options: { capabilities: undoing() },
    async run({ store, forge }) {
      const step = await composed(store);
      await store.endStep({ ...step, outcome: 'completed' }, 'instance-1', { bindings: [] });
      const { operation_id } = step;
      const failed = settlement(admission(rootToken(), { intent: { operation_id } }), {
        outcome: 'failed',
      });
      return () => forge('settle', [failed], { result: 'settled' });
    },
  },
  {
    name: 'a notice that counts as delivered before it was sent',
    breaks: 'notices',
    async run({ store, forge, request }) {
      const { delivery_id } = delivery(await request(await insert(store, rootToken())));
      const result = { delivery_id, state: 'delivered', now: at(SECOND) };
      return () => forge('finishDelivery', [result]);
    },
  },
  {
    name: 'a notice that is given up',
    breaks: 'notices',
    async run({ store, forge, request }) {
      const { delivery_id } = delivery(await request(await insert(store, rootToken())));
      const result = { delivery_id, state: 'failed', error: 'refused', now: at(SECOND) };
      return () => forge('finishDelivery', [result]);
    },
  },
  {
    name: 'a question without an answer',
    breaks: 'liveness',
    async run({ store, checker, ask }) {
      ask({ id: 7 });
      return () => checker.atRest(store);
    },
  },
  {
    name: 'a call that is never closed',
    breaks: 'liveness',
    async run({ store, checker }) {
      await admitCall(store, await insert(store, rootToken()));
      return () => checker.atRest(store);
    },
  },
  {
    name: 'an entry that no checkpoint covers',
    breaks: 'liveness',
    async run({ store, checker, mark }) {
      await store.insertCheckpoint(await mark());
      await store.append([entry()]);
      return () => checker.atRest(store);
    },
  },
  {
    name: 'a notice that is never delivered',
    breaks: 'liveness',
    async run({ store, checker, request }) {
      const asked = await request(await insert(store, rootToken()));
      const { approval_request_id } = asked;
      await store.deny({
        approval_request_id,
        decided_by: 'human:approver@example.com',
        reason: 'no',
        now: at(SECOND),
        entry: entry(),
        deliveries: [delivery(asked)],
      });
      return () => checker.atRest(store);
    },
  },
  {
    name: 'a log that has an entry which no transition made',
    breaks: 'log-contiguous',
    async run({ store, checker, forge }) {
      const token = rootToken();
      forge('insertRoot', [token, issuanceEntry(token)]);
      return () => checker.atRest(store);
    },
  },
];

for (const { name, breaks, options, run } of CASES) {
  test(`the checker finds ${name}`, () => assertFound(breaks, run, options));
}

/** A composed call with one claimed step. */
async function composed(store: Store): Promise<BegunStep> {
  const { intent } = await admitCall(store, await insert(store, rootToken()), { composed: {} });
  const step: BegunStep = {
    operation_id: intent.operation_id,
    role: 'step',
    step_id: 'pay',
    invocation_id: newId('inv-'),
    capability: 'charge_card',
    parameters: {},
  };
  await store.beginStep(step, intent.instance_id);
  return step;
}

/** The declarations of a composed call whose one step can be undone; only what the checker reads. */
function undoing(): ReadonlyMap<string, Capability> {
  return new Map<string, unknown>([
    ['book_flight', { composition: { failure_policy: 'compensate' } }],
    ['charge_card', { side_effect: { type: 'transactional', compensation: 'refund_card' } }],
  ]) as ReadonlyMap<string, Capability>;
}

function answerWith(invocation_id: string, { entry_id, leaf_hash }: ReturnType<typeof entry>) {
  const audit = { entry_id, leaf_hash: Buffer.from(leaf_hash).toString('hex') };
  return { success: true, invocation_id, result: {}, audit } satisfies InvokeAnswer;
}
