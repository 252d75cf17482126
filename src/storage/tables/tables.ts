/**
 * Tables: the fields of every stored record with their kinds, written once for both databases.
 *
 * A new field of a record is one more line here and a column in the schemas of both stores; the compiler compares the lines with the record, and
 * `tables.test.ts` compares them with the columns of a new store. `sqlite/rows.ts` and
 * `postgres/rows.ts` define how a kind is stored. Each adapter describes the log, its tree and the intents
 * itself, and tables of two to four columns that one statement writes (leases, permits, heartbeats,
 * elections, cosignatures).
 *
 * @module
 */

import type { StepRecord } from '../port/composition-store.ts';
import type { ConnectedRecord } from '../port/connected-store.ts';
import type { DeclarationRecord } from '../port/declaration-store.ts';
import type { IdentityRecord } from '../port/identity-store.ts';
import type { Debt } from '../port/ledger-store.ts';
import type { PasskeyRecord } from '../port/passkey-store.ts';
import type {
  ApprovalRecord,
  BindingRecord,
  BudgetState,
  Charge,
  CheckpointRecord,
  DeliveryRecord,
  FreezeRecord,
  GrantRecord,
  IdempotencyRecord,
  RollbackRecord,
  TokenRecord,
} from '../port/records.ts';
import type { VoteFacts } from '../port/row-forms.ts';
import type { AccountRecord, ConsentRecord, SessionRecord } from '../port/sign-in-store.ts';

/**
 * `amount` is minor units, `charge` a currency with an amount (two columns), `list` a list of texts.
 * A question mark: the field may be absent, and its column is then null.
 */
export type Kind = 'text' | 'integer' | 'amount' | 'time' | 'bytes' | 'list' | 'json' | 'charge';

export interface Description<Kept> {
  readonly name: string;
  readonly fields: Fields<Kept>;
  /** Columns beside the record that statements of the adapters write: of `both`, or of one of them. */
  readonly beside?: Readonly<
    Partial<
      Record<'both' | 'sqlite' | 'postgres', Readonly<Record<string, Kind | `${Kind}?` | 'flag'>>>
    >
  >;
}

type Fields<Kept> = {
  readonly [Field in keyof Kept]-?: undefined extends Kept[Field]
    ? `${KindOf<Exclude<Kept[Field], undefined>>}?`
    : KindOf<Kept[Field]>;
};
type KindOf<Value> = [Value] extends [string]
  ? 'text'
  : [Value] extends [number]
    ? 'integer'
    : [Value] extends [bigint]
      ? 'amount'
      : [Value] extends [Date]
        ? 'time'
        : [Value] extends [Uint8Array]
          ? 'bytes'
          : [Value] extends [readonly string[]]
            ? 'list'
            : [Value] extends [Charge]
              ? 'charge'
              : 'json';

/** The budget has a row of its own. */
export const TOKENS: Description<Omit<TokenRecord, 'budget'>> = {
  name: 'tokens',
  fields: {
    token_id: 'text',
    parent_token_id: 'text?',
    lineage: 'list',
    subject: 'text',
    root_principal: 'text',
    scope: 'list',
    capability: 'text?',
    purpose: 'json',
    caller_class: 'text',
    concurrent_branches: 'text',
    depth: 'integer',
    max_delegation_depth: 'integer',
    session_id: 'text?',
    issued_at: 'time',
    expires_at: 'time',
    kid: 'text',
    claims_digest: 'text',
    chain: 'text',
    mac: 'text?',
  },
  beside: {
    both: { revoked_at: 'time?', revoked_mac: 'text?' },
    sqlite: { children: 'integer' },
  },
};

export const BUDGETS: Description<BudgetState> = {
  name: 'budgets',
  fields: {
    token_id: 'text',
    currency: 'text',
    max: 'amount',
    reserved: 'amount',
    consumed: 'amount',
  },
};

export const DEBTS: Description<Debt> = {
  name: 'debts',
  fields: { token_id: 'text', currency: 'text', amount: 'amount' },
};

export const FREEZES: Description<FreezeRecord> = {
  name: 'freezes',
  fields: {
    what: 'text',
    target: 'text',
    reason: 'text',
    frozen_by: 'text',
    frozen_at: 'time',
    until: 'time?',
    mac: 'text?',
  },
};

export const BINDINGS: Description<BindingRecord> = {
  name: 'bindings',
  fields: {
    binding_id: 'text',
    type: 'text',
    capability: 'text',
    root_principal: 'text',
    price: 'charge?',
    data: 'json',
    issued_at: 'time',
    mac: 'text?',
  },
};

/** The votes have rows of their own. */
export const REQUESTS: Description<Omit<ApprovalRecord, 'approvals'>> = {
  name: 'approval_requests',
  fields: {
    approval_request_id: 'text',
    capability: 'text',
    contract_version: 'text',
    declaration_digest: 'text',
    scope: 'list',
    subject: 'text',
    root_principal: 'text',
    chain: 'text',
    requested_through: 'list',
    delegate: 'text',
    kept_bytes: 'integer',
    token_id: 'text',
    session_id: 'text?',
    invocation_id: 'text',
    parameters: 'json',
    parameters_digest: 'text',
    preview: 'json?',
    preview_digest: 'text?',
    cost: 'json?',
    note: 'text?',
    grant_policy: 'json',
    approvals_required: 'integer',
    require: 'text?',
    status: 'text',
    created_at: 'time',
    expires_at: 'time',
    decided_at: 'time?',
    decided_by: 'text?',
    reason: 'text?',
    grant_id: 'text?',
    mac: 'text?',
  },
  beside: { postgres: { is_asked: 'flag' } },
};

export const VOTES: Description<VoteFacts> = {
  name: 'approvals',
  fields: {
    approval_request_id: 'text',
    place: 'integer',
    approver: 'text',
    approved_at: 'time',
    terms: 'json?',
    credential_id: 'text?',
    mac: 'text?',
  },
};

export const GRANTS: Description<GrantRecord> = {
  name: 'grants',
  fields: {
    grant_id: 'text',
    approval_request_id: 'text',
    capability: 'text',
    contract_version: 'text',
    declaration_digest: 'text',
    scope: 'list',
    subject: 'text',
    root_principal: 'text',
    chain: 'text',
    parameters: 'json',
    parameters_digest: 'text',
    preview_digest: 'text?',
    grant_type: 'text',
    session_id: 'text?',
    approved_by: 'list',
    approved_through: 'list',
    issued_at: 'time',
    expires_at: 'time',
    max_uses: 'integer',
    uses: 'integer',
    signature: 'text',
    mac: 'text?',
  },
};

export const DELIVERIES: Description<DeliveryRecord> = {
  name: 'deliveries',
  fields: {
    delivery_id: 'text',
    event: 'text',
    approval_request_id: 'text',
    target: 'text',
    payload: 'json',
    state: 'text',
    attempts: 'integer',
    last_error: 'text?',
    next_attempt_at: 'time?',
    delivered_at: 'time?',
  },
  beside: { both: { place: 'integer', leased_until: 'time?' } },
};

export const KEYS: Description<IdempotencyRecord> = {
  name: 'idempotency',
  fields: {
    chain: 'text',
    capability: 'text',
    key: 'text',
    fingerprint: 'text',
    operation_id: 'text',
    answer: 'bytes?',
  },
  beside: { both: { keep_until: 'time' } },
};

export const STEPS: Description<StepRecord> = {
  name: 'steps',
  fields: {
    operation_id: 'text',
    role: 'text',
    step_id: 'text',
    invocation_id: 'text',
    capability: 'text',
    parameters: 'json',
    outcome: 'text?',
    output: 'json?',
    failure_type: 'text?',
    drawn: 'amount?',
  },
  beside: { both: { entry_id: 'text?' }, postgres: { place: 'integer' } },
};

export const ROLLBACKS: Description<RollbackRecord> = {
  name: 'rollbacks',
  fields: { capability: 'text', root_principal: 'text', digest: 'text', until: 'time' },
};

export const CHECKPOINTS: Description<CheckpointRecord> = {
  name: 'checkpoints',
  fields: {
    sequence: 'integer',
    checkpoint_id: 'text',
    size: 'integer',
    root: 'bytes',
    created_at: 'time',
    signature: 'text',
    note: 'text',
  },
};

export const DECLARATIONS: Description<DeclarationRecord> = {
  name: 'declarations',
  fields: {
    capability: 'text',
    contract_version: 'text',
    digest: 'text',
    declaration: 'text',
    kept_at: 'time',
  },
};

export const SESSIONS: Description<SessionRecord> = {
  name: 'sessions',
  fields: {
    session_id: 'text',
    secret_hash: 'text',
    principal: 'text',
    account_id: 'text',
    issuer: 'text?',
    sub: 'text?',
    sid: 'text?',
    acr: 'text?',
    user_agent: 'text',
    auth_time: 'time',
    created_at: 'time',
    expires_at: 'time',
    mac: 'text?',
  },
  beside: { both: { seen_at: 'time', ended_at: 'time?' } },
};

export const ACCOUNTS: Description<AccountRecord> = {
  name: 'accounts',
  fields: {
    account_id: 'text',
    principal: 'text',
    issuer: 'text?',
    sub: 'text?',
    upstream: 'text?',
    checked_at: 'time',
    ended_at: 'time?',
    mac: 'text?',
  },
};

export const CONSENTS: Description<ConsentRecord> = {
  name: 'consents',
  fields: {
    consent_id: 'text',
    token_id: 'text',
    principal: 'text',
    subject: 'text',
    account_id: 'text',
    client_id: 'text',
    client_name: 'text',
    redirect_uri: 'text',
    user_agent: 'text',
    challenge: 'text',
    resource: 'text?',
    code_hash: 'text',
    code_expires_at: 'time',
    code_used_at: 'time?',
    generation: 'integer',
    rotated_at: 'time?',
    created_at: 'time',
    expires_at: 'time',
    mac: 'text?',
  },
};

export const PASSKEYS: Description<PasskeyRecord> = {
  name: 'passkeys',
  fields: {
    credential_id: 'text',
    principal: 'text',
    label: 'text',
    public_key: 'json',
    rp_id: 'text',
    created_at: 'time',
    usable_from: 'time',
    mac: 'text?',
  },
  beside: { both: { last_used_at: 'time?', removed_at: 'time?' } },
};

export const CONNECTED: Description<ConnectedRecord> = {
  name: 'connected_accounts',
  fields: {
    principal: 'text',
    account: 'text',
    connection_id: 'text',
    version: 'integer',
    sealed: 'text',
    scopes: 'list',
    connected_at: 'time',
    expires_at: 'time?',
    renewing_until: 'time?',
    mac: 'text?',
  },
};

export const IDENTITIES: Description<IdentityRecord> = {
  name: 'identities',
  fields: {
    identity_id: 'text',
    key_sha256: 'text',
    principal: 'text',
    scopes: 'list',
    subjects: 'list',
    caller_class: 'text',
    caller_classes: 'list',
    created_at: 'time',
    created_by: 'text',
    removed_at: 'time?',
    removed_by: 'text?',
    mac: 'text?',
  },
};
