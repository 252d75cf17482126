/**
 * Every table that both databases have.
 *
 * @module
 */

import { DELIVERIES, GRANTS, REQUESTS, VOTES } from './approvals.ts';
import { BUDGETS, DEBTS, FREEZES, TOKENS } from './authority.ts';
import { BINDINGS, INTENTS, KEYS, LEASES, PERMITS, ROLLBACKS, STEPS } from './calls.ts';
import type { TableSchema } from './description.ts';
import * as log from './log.ts';
import {
  ACCOUNTS,
  CONNECTED,
  CONSENTS,
  DECLARATIONS,
  IDENTITIES,
  INVITATIONS,
  PASSKEYS,
  SESSIONS,
} from './people.ts';

/** A table comes after those that its rows name. */
export const TABLES: readonly TableSchema[] = [
  log.SEGMENTS,
  log.TILES,
  log.BLOCKS,
  log.BUCKETS,
  log.RETENTIONS,
  log.HEAD,
  log.ERASURES,
  log.CHECKPOINTS,
  log.COSIGNATURES,
  log.ORIGINS,
  log.INSTANCES,
  log.LEADS,
  log.PROBES,
  TOKENS,
  BUDGETS,
  DEBTS,
  FREEZES,
  INTENTS,
  STEPS,
  ROLLBACKS,
  KEYS,
  LEASES,
  BINDINGS,
  PERMITS,
  REQUESTS,
  VOTES,
  GRANTS,
  DELIVERIES,
  SESSIONS,
  ACCOUNTS,
  CONSENTS,
  PASSKEYS,
  CONNECTED,
  IDENTITIES,
  INVITATIONS,
  DECLARATIONS,
];
