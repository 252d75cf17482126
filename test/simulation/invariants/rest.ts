/**
 * Rest: what clients were promised, and what is left when the faults have stopped.
 *
 * An acknowledgement is compared when it is given. Liveness is compared at the end: every question has an answer
 * or was lost with its replica, every admitted call is closed, and the rows say what the log says.
 *
 * @module
 */

import { capabilityTarget } from '../../../src/domain/authority/freeze.ts';
import type { InvokeAnswer } from '../../../src/protocol/invocation.ts';
import type { OperationName } from '../../../src/protocol/operations.ts';
import type { UnfreezeRequest } from '../../../src/protocol/operator.ts';
import { checkStore } from '../../../src/storage/fsck/fsck.ts';
import { freezeKey } from '../../../src/storage/port/ledger-store.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import { broken } from '../broken.ts';
import type { ClientEvent } from '../events.ts';
import type { Log } from './log.ts';
import type { Shadow, Subject } from './shadow.ts';

export function rest(shadow: Shadow, log: Log): Subject {
  const open = new Map<number, ClientEvent>();
  /** By invocation id: calls whose entry was still to come when they were answered. */
  const unrecorded = new Map<string, ClientEvent>();
  const known = createKnown();
  return {
    store: {
      approve({ args: [{ approval_request_id, grant }], result }) {
        if (result === 'approved' || result === 'counted') known.decided.add(approval_request_id);
        if (result === 'approved' && grant) known.grants.add(grant.grant_id);
      },
      deny({ args: [{ approval_request_id }], result }) {
        if (result === 'denied') known.denied.add(approval_request_id);
      },
      freeze({ args: [record], result }) {
        if (result === 'frozen') known.frozen.add(freezeKey(record));
      },
      unfreeze({ args: [key], result }) {
        if (typeof result === 'boolean') known.lifted.add(freezeKey(key));
      },
      insertCheckpoint({ args: [{ checkpoint_id }], result }) {
        if (result) known.checkpoints.add(checkpoint_id);
      },
    },
    ask: (event) => void open.set(event.id, event),
    answer(event) {
      open.delete(event.id);
      if (isUnrecorded(event)) {
        unrecorded.set((event.answer as InvokeAnswer).invocation_id, event);
      }
      if (event.failure === undefined && event.answer !== undefined) {
        ACKNOWLEDGED[event.operation]?.(event, shadow, known);
      }
    },
    replica({ replica, what }) {
      if (what !== 'crash') return;
      for (const asked of [open, unrecorded]) {
        for (const [id, event] of asked) if (event.replica === replica) asked.delete(id as never);
      }
    },
    async atRest(store) {
      const [asked] = open.values();
      if (asked) broken('liveness', `question ${asked.id} (${asked.operation}) has no answer`);
      for (const { id, outcome } of shadow.calls.values()) {
        if (outcome === undefined)
          broken('liveness', `operation "${id}" is admitted and not closed`);
      }
      for (const [invocation, { id }] of unrecorded) {
        if (!log.hasInvocation(invocation)) {
          broken('acknowledged', `answer ${id} left "${invocation}" open, and it has no entry`);
        }
      }
      await refuseUnexplained(store, log);
    },
  };
}

/**
 * The answer says that the call itself is of unknown outcome, and names no entry. Its process records one later,
 * unless it dies. An answer about a refusal that could not be stored begins with other words.
 */
function isUnrecorded({ operation, answer }: ClientEvent): boolean {
  if (operation !== 'invoke' || answer === undefined) return false;
  const body = answer as InvokeAnswer;
  if (body.success || body.audit) return false;
  return /^Cannot report (?:the outcome of the call|whether the call)/.test(body.failure.detail);
}

interface Known {
  /** Requests with a vote that counted. */
  readonly decided: Set<string>;
  readonly denied: Set<string>;
  /** Freezes that were stored, and freezes that were lifted, ever. */
  readonly frozen: Set<string>;
  readonly lifted: Set<string>;
  readonly grants: Set<string>;
  readonly checkpoints: Set<string>;
}

function createKnown(): Known {
  return {
    decided: new Set(),
    denied: new Set(),
    frozen: new Set(),
    lifted: new Set(),
    grants: new Set(),
    checkpoints: new Set(),
  };
}

type Acknowledged = (event: ClientEvent, shadow: Shadow, known: Known) => void;

/** What an answer without a failure promises. */
const ACKNOWLEDGED: { readonly [Name in OperationName]?: Acknowledged } = {
  'tokens.issue'({ id, answer }, { tokens }) {
    const { token_id } = answer as { token_id: string };
    if (!tokens.has(token_id))
      broken('acknowledged', `answer ${id} issued "${token_id}", which is not stored`);
  },
  'tokens.revoke'({ id, request }, { tokens }) {
    const { token_id } = request as { token_id: string };
    if (tokens.get(token_id)?.isRevoked) return;
    broken('acknowledged', `answer ${id} revoked "${token_id}", which is not revoked`);
  },
  'approval_grants.issue'({ id, answer, request }, _shadow, { grants, decided }) {
    const { grant_id } = answer as { grant_id?: string };
    const { approval_request_id } = request as { approval_request_id: string };
    const isStored =
      grant_id === undefined ? decided.has(approval_request_id) : grants.has(grant_id);
    if (!isStored)
      broken('acknowledged', `answer ${id} approved "${approval_request_id}", which is not stored`);
  },
  'approval_requests.deny'({ id, request }, _shadow, { denied }) {
    const { approval_request_id } = request as { approval_request_id: string };
    if (denied.has(approval_request_id)) return;
    broken('acknowledged', `answer ${id} denied "${approval_request_id}", which is not stored`);
  },
  'operator.freeze'({ id, request }, _shadow, { frozen }) {
    const key = frozenKey(request as UnfreezeRequest);
    if (!frozen.has(key)) broken('acknowledged', `answer ${id} froze ${key}, which is not stored`);
  },
  'operator.unfreeze'({ id, request }, _shadow, { lifted }) {
    const key = frozenKey(request as UnfreezeRequest);
    if (!lifted.has(key)) broken('acknowledged', `answer ${id} lifted ${key}, which is not stored`);
  },
  'operator.reconcile'({ id, request }, { invocations }) {
    const { invocation_id } = request as { invocation_id: string };
    if (invocations.get(invocation_id)?.isReconciled) return;
    broken('acknowledged', `answer ${id} reconciled "${invocation_id}", which is not reconciled`);
  },
  'operator.checkpoints'({ id, answer }, _shadow, { checkpoints }) {
    const { checkpoint } = answer as { checkpoint?: { checkpoint_id: string } };
    if (!checkpoint || checkpoints.has(checkpoint.checkpoint_id)) return;
    broken(
      'acknowledged',
      `answer ${id} sealed "${checkpoint.checkpoint_id}", which is not stored`,
    );
  },
};

function frozenKey({ what, target = '', root_principal }: UnfreezeRequest): string {
  return freezeKey({ what, target: capabilityTarget(target, root_principal) });
}

async function refuseUnexplained(store: Store, { entries }: Log): Promise<void> {
  const report = await checkStore(store);
  const [finding] = report.findings;
  if (finding) broken('ledger-is-log', `${finding.what} ${finding.where}: ${finding.detail}`);
  if (report.entries !== entries.length) {
    broken(
      'ledger-is-log',
      `the log has ${report.entries} entries, ${entries.length} were appended`,
    );
  }
  if (report.ledger.openCalls > 0) {
    broken('liveness', `${report.ledger.openCalls} calls are open in the store`);
  }
}
