/**
 * The contract of every `Store`, as tests: one for each sentence of the port.
 *
 * For authors of stores. `open` returns an empty store; each case gets its own and closes it. `storeRaces`
 * tests contention.
 *
 * @module
 */

import type { Runner } from '../../src/conformance/runner.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { ACTOR_CASES } from './cases/actors.ts';
import { FREEZE_CASES, LIVENESS_CASES, MONEY_CASES, ORDER_CASES } from './cases/admission.ts';
import { ASKING_CASES, DECISION_CASES } from './cases/approvals/decisions.ts';
import { INBOX_CASES } from './cases/approvals/inbox.ts';
import { OPEN_CASES } from './cases/approvals/open.ts';
import { LISTING_CASES, WAITING_CASES } from './cases/approvals/reads.ts';
import { GRANT_CASES, KEY_CASES, LEASE_CASES } from './cases/claims.ts';
import { ADOPTION_CASES, ROLLBACK_CASES, STEP_CASES } from './cases/compositions.ts';
import { DECLARATION_CASES } from './cases/declarations.ts';
import { IDENTITY_CASES } from './cases/identities.ts';
import { LOAD_CASES } from './cases/load.ts';
import { LOG_CASES, LONG_LOG_CASES, QUERY_CASES } from './cases/log.ts';
import { DELIVERY_CASES, EXPIRY_CASES, OPERATOR_CASES } from './cases/notices.ts';
import { ORIGIN_CASES, VOIDING_CASES } from './cases/origins.ts';
import { OVERRUN_CASES } from './cases/overruns.ts';
import { PERMIT_CASES } from './cases/permits.ts';
import { RETENTION_CASES } from './cases/retention.ts';
import { ROW_CASES } from './cases/rows.ts';
import { ONCE_CASES, OUTCOME_CASES, SETTLEMENT_CASES } from './cases/settlement.ts';
import { CONNECTED_CASES } from './cases/sign-in/connected.ts';
import { CONSENT_CASES, RENEWAL_CASES } from './cases/sign-in/consents.ts';
import { CONSOLE_CASES } from './cases/sign-in/console.ts';
import { INVITATION_CASES } from './cases/sign-in/invitations.ts';
import { PASSKEY_CASES } from './cases/sign-in/passkeys.ts';
import { ACCOUNT_CASES, SESSION_CASES } from './cases/sign-in/sessions.ts';
import { TOGETHER_CASES } from './cases/together.ts';
import { ISSUANCE_CASES, REVOCATION_CASES } from './cases/tokens.ts';
import { CHECKPOINT_CASES, TREE_CASES } from './cases/tree.ts';
import { UNDONE_CASES } from './cases/undone.ts';
import { LIFE_CASES, UNKNOWN_OUTCOME_CASES } from './cases/upkeep.ts';
import type { Cases } from './cases.ts';
import { walk } from './model-walk.ts';

/**
 * Where the contract of a store runs, and how long its random walks are.
 */
export interface ContractOptions {
  readonly runner: Runner;
  /** Seeds of the random walks against the model; every seed is one test. */
  readonly seeds?: readonly number[];
  /** Random transitions in one walk. */
  readonly steps?: number;
}

/** In milliseconds. A case takes far less; a slow disk under a full suite has been seen to need it. */
const CASE_TIMEOUT_MS = 30_000;

const AREAS: Readonly<Record<string, Cases>> = {
  tokens: { ...ISSUANCE_CASES, ...REVOCATION_CASES },
  load: LOAD_CASES,
  rows: ROW_CASES,
  admission: {
    ...LIVENESS_CASES,
    ...FREEZE_CASES,
    ...MONEY_CASES,
    ...ORDER_CASES,
    ...GRANT_CASES,
    ...LEASE_CASES,
    ...KEY_CASES,
  },
  settlement: { ...OUTCOME_CASES, ...SETTLEMENT_CASES, ...ONCE_CASES, ...OVERRUN_CASES },
  'calls together': TOGETHER_CASES,
  compositions: { ...STEP_CASES, ...ADOPTION_CASES, ...ROLLBACK_CASES },
  'unknown outcomes': UNKNOWN_OUTCOME_CASES,
  approvals: {
    ...ASKING_CASES,
    ...OPEN_CASES,
    ...LISTING_CASES,
    ...INBOX_CASES,
    ...DECISION_CASES,
    ...EXPIRY_CASES,
    ...WAITING_CASES,
  },
  declarations: DECLARATION_CASES,
  actors: ACTOR_CASES,
  'undone transitions': UNDONE_CASES,
  deliveries: DELIVERY_CASES,
  operators: OPERATOR_CASES,
  sessions: { ...SESSION_CASES, ...ACCOUNT_CASES },
  console: CONSOLE_CASES,
  consents: { ...CONSENT_CASES, ...RENEWAL_CASES },
  passkeys: PASSKEY_CASES,
  'connected accounts': CONNECTED_CASES,
  identities: IDENTITY_CASES,
  invitations: INVITATION_CASES,
  'rate limits': PERMIT_CASES,
  log: { ...LOG_CASES, ...QUERY_CASES, ...LONG_LOG_CASES, ...TREE_CASES, ...CHECKPOINT_CASES },
  origins: { ...ORIGIN_CASES, ...VOIDING_CASES },
  retention: RETENTION_CASES,
  life: LIFE_CASES,
};

/**
 * Defines one test for each sentence of the contract. `open` returns an empty store.
 */
export function storeContract(
  name: string,
  open: () => Promise<Store>,
  { runner, seeds = [1, 2, 3, 4, 5], steps = 120 }: ContractOptions,
): void {
  const walks = seeds.map((seed) => [
    `the model agrees over ${steps} random transitions from seed ${seed}`,
    (store: Store) => walk(store, seed, steps),
  ]);
  const areas: Record<string, Cases> = { ...AREAS, model: Object.fromEntries(walks) };

  runner.describe(`${name} store`, () => {
    for (const [area, cases] of Object.entries(areas)) {
      runner.describe(area, () => {
        for (const [sentence, run] of Object.entries(cases)) {
          runner.test(sentence, () => withStore(open, run), CASE_TIMEOUT_MS);
        }
      });
    }
  });
}

async function withStore(
  open: () => Promise<Store>,
  run: (store: Store) => Promise<void>,
): Promise<void> {
  const store = await open();
  try {
    await run(store);
  } finally {
    await store.close();
  }
}
