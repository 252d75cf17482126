/**
 * The simulated database: plain data in memory that several stores share.
 *
 * Knows the rows and nothing of the rules. The transitions beside this file read and replace rows; `store.ts`
 * runs each of them whole or not at all.
 *
 * @module
 */

import type { JsonObject } from '../../../src/protocol/primitives.ts';
import type { StepRecord } from '../../../src/storage/port/composition-store.ts';
import type { ConnectedRecord } from '../../../src/storage/port/connected-store.ts';
import type { DeclarationRecord } from '../../../src/storage/port/declaration-store.ts';
import type { IdentityRecord } from '../../../src/storage/port/identity-store.ts';
import type { Settlement } from '../../../src/storage/port/invocation-store.ts';
import type { Debt } from '../../../src/storage/port/ledger-store.ts';
import type { StoredPasskey } from '../../../src/storage/port/passkey-store.ts';
import type {
  ApprovalRecord,
  BindingRecord,
  BudgetState,
  CheckpointRecord,
  DeliveryRecord,
  FreezeRecord,
  GrantRecord,
  IdempotencyRecord,
  IntentRecord,
  TokenRecord,
} from '../../../src/storage/port/records.ts';
import type {
  AccountRecord,
  ConsentRecord,
  StoredSession,
} from '../../../src/storage/port/sign-in-store.ts';
import { createLog, type Log } from './log.ts';
import { createJournal, createTable, type Journal, type Table } from './table.ts';

export interface TokenRow {
  /** Frozen: readers share it. */
  readonly token: TokenRecord;
  readonly budget?: BudgetState | undefined;
  readonly revoked_at?: Date | undefined;
  readonly revoked_mac?: string | undefined;
  /** Children that were ever inserted. */
  readonly children: number;
}

export interface CallRow {
  readonly intent: IntentRecord;
  /** What admission took on every budget of the lineage. */
  readonly reserved?: bigint | undefined;
  /** The exclusive tokens of the lineage. */
  readonly leased: readonly string[];
  /** Until the leases and the steps are released. */
  readonly isRunning: boolean;
  readonly closed?: ClosedCall | undefined;
  /** The parameters of a composed call, until it is finished. */
  readonly composed?: JsonObject | undefined;
  readonly steps: readonly StepRow[];
  /** The key of its row in `keys`. */
  readonly key?: string | undefined;
}

interface ClosedCall {
  readonly outcome: Settlement['outcome'];
  readonly consumed: bigint;
  readonly entry_id: string;
  readonly isReconciled: boolean;
}

export interface StepRow {
  readonly step: StepRecord;
  readonly entry_id?: string | undefined;
}

interface LeaseRow {
  readonly operation_id: string;
  readonly until: Date;
}

interface KeyRow {
  readonly record: IdempotencyRecord;
  readonly keepUntil: Date;
}

export interface DeliveryRow {
  readonly delivery: DeliveryRecord;
  /** In the order of insertion. */
  readonly place: number;
  readonly leasedUntil?: Date | undefined;
}

interface PermitRow {
  readonly windowStart: Date;
  readonly taken: number;
}

interface LeadRow {
  readonly holder: string;
  readonly until: Date;
}

/** Names of the first log and of the seal of the rows. */
type Fact = 'log' | 'seal';

export interface MemoryDatabase {
  readonly journal: Journal;
  readonly facts: Table<string>;
  readonly log: Log;
  readonly tokens: Table<TokenRow>;
  readonly debts: Table<Debt>;
  readonly calls: Table<CallRow>;
  /** By token. */
  readonly leases: Table<LeaseRow>;
  readonly keys: Table<KeyRow>;
  readonly bindings: Table<BindingRecord>;
  readonly rollbacks: Table<Date>;
  readonly permits: Table<PermitRow>;
  /** The last heartbeat of each process. */
  readonly instances: Table<Date>;
  readonly requests: Table<ApprovalRecord>;
  readonly grants: Table<GrantRecord>;
  readonly deliveries: Table<DeliveryRow>;
  readonly freezes: Table<FreezeRecord>;
  readonly declarations: Table<DeclarationRecord>;
  readonly sessions: Table<StoredSession>;
  readonly accounts: Table<AccountRecord>;
  readonly consents: Table<ConsentRecord>;
  readonly passkeys: Table<StoredPasskey>;
  readonly identities: Table<IdentityRecord>;
  readonly connected: Table<ConnectedRecord>;
  /** By id. */
  readonly checkpoints: Table<CheckpointRecord>;
  readonly cosignatures: Table<readonly string[]>;
  readonly leads: Table<LeadRow>;
  /** Below which place each policy has erased. */
  readonly erasures: Table<number>;
}

/** An empty database. The first store that opens it names its log. */
export function createMemoryDatabase(): MemoryDatabase {
  const journal = createJournal();
  return {
    journal,
    log: createLog(journal),
    facts: createTable('facts', journal),
    tokens: createTable('tokens', journal),
    debts: createTable('debts', journal),
    calls: createTable('calls', journal),
    leases: createTable('leases', journal),
    keys: createTable('keys', journal),
    bindings: createTable('bindings', journal),
    rollbacks: createTable('rollbacks', journal),
    permits: createTable('permits', journal),
    instances: createTable('instances', journal),
    requests: createTable('approval requests', journal),
    grants: createTable('grants', journal),
    deliveries: createTable('deliveries', journal),
    freezes: createTable('freezes', journal),
    declarations: createTable('declarations', journal),
    sessions: createTable('sessions', journal),
    accounts: createTable('accounts', journal),
    consents: createTable('consents', journal),
    passkeys: createTable('passkeys', journal),
    identities: createTable('identities', journal),
    connected: createTable('connected accounts', journal),
    checkpoints: createTable('checkpoints', journal),
    cosignatures: createTable('cosignatures', journal),
    leads: createTable('leads', journal),
    erasures: createTable('erasures', journal),
  };
}

/** A fact about the store as a whole. */
export function factOf({ facts }: MemoryDatabase, fact: Fact): string | undefined {
  return facts.get(fact);
}

export function setFact({ facts }: MemoryDatabase, fact: Fact, value: string): void {
  facts.put(fact, value);
}
