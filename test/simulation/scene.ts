/**
 * A scene for tests of the checker: a real store whose calls the checker sees, and events made by hand.
 *
 * The good part of a scene runs over SQLite in memory. A test then adds the one event that no correct store or
 * service would cause.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { logOrigin } from '../../src/domain/log/checkpoint.ts';
import type { EntryRecord } from '../../src/domain/log/entry.ts';
import { foldPeaks } from '../../src/domain/log/merkle.ts';
import { headText, writeNote } from '../../src/domain/log/note.ts';
import type { Admission } from '../../src/storage/port/invocation-store.ts';
import type {
  ApprovalRecord,
  CheckpointRecord,
  DeliveryRecord,
  GrantRecord,
  TokenRecord,
} from '../../src/storage/port/records.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { IN_MEMORY } from '../../src/storage/sqlite/connection.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { approvalEntry, requestEntry } from '../support/entries.ts';
import { approval, at, grantFor, newId, SECOND, TERMS } from '../support/fixtures.ts';
import type { Invariant } from './broken.ts';
import { Broken, type Checker, createChecker } from './checker.ts';
import type { ClientEvent, EffectEvent, StoreEvent } from './events.ts';
import type { CheckerOptions } from './invariants/shadow.ts';

export interface Scene {
  readonly checker: Checker;
  /** The store; the checker sees each call. */
  readonly store: Store;
  /** A store call that only the checker sees. */
  forge(method: keyof Store, args: readonly unknown[], more?: Partial<StoreEvent>): void;
  effect(call: Admission, phase: EffectEvent['phase'], more?: Partial<EffectEvent>): void;
  ask(event: Partial<ClientEvent>): void;
  answer(event: Partial<ClientEvent>): void;
  /** Signs the tree as it is, and moves the mark. */
  mark(changed?: Partial<CheckpointRecord>): Promise<CheckpointRecord>;
  /** A request for approval of this token. */
  request(token: TokenRecord, changed?: Partial<ApprovalRecord>): Promise<ApprovalRecord>;
  approve(request: ApprovalRecord, changed?: Partial<GrantRecord>): Promise<GrantRecord>;
}

export async function createScene(options: CheckerOptions = {}): Promise<Scene> {
  const checker = createChecker(options);
  const real = await openSqlite(IN_MEMORY, { clock: () => at(SECOND) });
  const store = watched(real, checker);
  const client = (kind: 'ask' | 'answer', event: Partial<ClientEvent>) =>
    checker.see({
      kind,
      client: 'agent',
      id: 1,
      operation: 'invoke',
      replica: 0,
      request: {},
      ...event,
    });
  let sequence = 0;
  return {
    checker,
    store,
    forge: (method, args, more = {}) =>
      checker.see({ kind: 'store', replica: 0, method, args, ...more }),
    effect({ intent }, phase, more = {}) {
      const { invocation_id: operation, capability, token_id: token } = intent;
      checker.see({ kind: 'effect', replica: 0, operation, capability, token, phase, ...more });
    },
    ask: (event) => client('ask', event),
    answer: (event) => client('answer', event),
    async mark(changed = {}) {
      const { size, peaks } = await real.treeHead();
      sequence += 1;
      const checkpoint: CheckpointRecord = {
        checkpoint_id: newId('ckpt-'),
        sequence,
        size,
        root: foldPeaks(peaks),
        created_at: at(0),
        signature: 'header..signature',
        note: noteOf(real.logId, size, foldPeaks(peaks)),
        ...changed,
      };
      checker.see({ kind: 'mark', replica: 0, checkpoint });
      return checkpoint;
    },
    async request({ token_id, chain, subject, root_principal }, changed = {}) {
      const asked = { token_id, chain, subject, root_principal, requested_through: [subject] };
      const request = approval({ ...asked, ...changed });
      await store.requestApproval(request, requestEntry(request), []);
      return request;
    },
    async approve(request, changed) {
      const grant = grantFor(request, changed);
      await store.approve(decisionOf(request, grant));
      return grant;
    },
  };
}

/** A signed note, with bytes in place of a signature. */
function noteOf(logId: string, size: number, root: Uint8Array): string {
  const text = headText({ origin: logOrigin('simulated', logId), size, root });
  const signature = { name: 'simulated', keyId: new Uint8Array(4), signature: new Uint8Array(64) };
  return writeNote({ text, signatures: [signature] });
}

/** One way to break an invariant. */
export interface Case {
  readonly name: string;
  readonly breaks: Invariant;
  readonly options?: CheckerOptions;
  /** Everything before is as promised. The event that it returns breaks the invariant. */
  run(scene: Scene): Promise<() => unknown>;
}

/** The result of an admission that is made by hand. */
export const ADMITTED = { result: { admitted: true, budgets: [] } };

export async function assertFound(
  breaks: Invariant,
  run: Case['run'],
  options?: CheckerOptions,
): Promise<void> {
  const event = await run(await createScene(options));

  const found = await Promise.resolve()
    .then(event)
    .catch((error: unknown) => error);

  assert.ok(found instanceof Broken, `expected a broken invariant, not ${found}`);
  assert.equal(found.invariant, breaks);
}

/** One vote that completes a request. */
export function decisionOf(request: ApprovalRecord, grant: GrantRecord | undefined) {
  const vote = { approver: 'human:approver@example.com', terms: TERMS };
  return {
    ...vote,
    approval_request_id: request.approval_request_id,
    now: at(SECOND),
    approvalsSeen: 0,
    grant,
    entry: approvalEntry(request, vote, grant),
    deliveries: [],
  };
}

type Made = EntryRecord | { entry: EntryRecord; deliveries: readonly DeliveryRecord[] };

function watched(store: Store, checker: Checker): Store {
  const methods = Object.entries(store).flatMap(([name, value]) => {
    if (typeof value !== 'function' || name === 'now') return [];
    const call = async (...args: unknown[]) => {
      const made: Made[] = [];
      const seen = args.map((arg) => (typeof arg === 'function' ? keeping(arg, made) : arg));
      const method = name as keyof Store;
      const result: unknown = await value(...seen);
      const entries = made.map((each) => ('entry' in each ? each.entry : each));
      checker.see({ kind: 'store', replica: 0, method, args, entries, result });
      return result;
    };
    return [[name, call]];
  });
  return { ...store, ...(Object.fromEntries(methods) as Store) };
}

/** Keeps what a function made. A batch that runs again makes it again; only the last counts. */
function keeping(make: CallableFunction, made: Made[]): unknown {
  return (...given: unknown[]) => {
    const result: Made = make(...given);
    made.splice(0, made.length, result);
    return result;
  };
}
