/**
 * Agents: the delegations of a root principal as trees.
 *
 * @module
 */

import * as z from 'zod';
import {
  Amount,
  CapabilityName,
  Currency,
  Cursor,
  Flag,
  JsonObject,
  Money,
  NextCursor,
  optional,
  Principal,
  pageSize,
  Scope,
  Timestamp,
  TokenId,
} from './primitives.ts';
import { TokenState, WireConditions } from './token.ts';

/** Root tokens of a page. */
const AGENT_PAGE_MAX = 100;
const AGENT_PAGE_DEFAULT = 25;

export const AgentListRequest = z.strictObject({
  /** The root principal of the trees, where it is not the caller; for operators with `operator:read`. */
  root_principal: optional(Principal),
  /** Trees whose root token has ended, instead of those whose root token lives. */
  ended: optional(Flag),
  limit: pageSize(AGENT_PAGE_MAX, AGENT_PAGE_DEFAULT),
  cursor: optional(Cursor),
});
export type AgentListRequest = z.output<typeof AgentListRequest>;

export const AgentBudget = z.object({
  currency: Currency,
  max: Amount,
  spent: Amount,
  reserved: Amount,
  left: Amount,
});
export type AgentBudget = z.infer<typeof AgentBudget>;

export const AgentAct = z.object({
  invocation_id: z.string().nullable(),
  capability: z.string().nullable(),
  timestamp: Timestamp,
  success: z.boolean(),
  failure_type: z.string().nullable(),
  cost: Money.nullable(),
});
export type AgentAct = z.infer<typeof AgentAct>;

export const AgentView = z.object({
  token_id: TokenId,
  parent_token_id: TokenId.nullable(),
  subject: Principal,
  client_name: z.string().nullable(),
  purpose: JsonObject.nullable(),
  state: TokenState,
  scope: z.array(Scope),
  capabilities: z.array(CapabilityName).describe('Some of their names.'),
  capabilities_count: z.int().nonnegative(),
  may_delegate: z.boolean(),
  budget: AgentBudget.nullable(),
  conditions: WireConditions.nullable().optional(),
  issued_at: Timestamp,
  expires_at: Timestamp,
  revoked_at: Timestamp.nullable(),
  last_act: AgentAct.nullable().describe(
    'From the newest entries. Null also where the caller may not read the entries of the root principal.',
  ),
  acts_are_whole: z
    .boolean()
    .describe(
      'False where older entries were not read or may not be: then nothing found is not nothing done.',
    ),
  refused_today: z.int().nonnegative(),
  waits_for: z.string().nullable().describe('A pending approval request of this token.'),
  is_frozen: z.boolean().describe("Whether the agent's root principal is frozen."),
  get children(): z.ZodArray<typeof AgentView> {
    return z.array(AgentView);
  },
  children_count: z
    .int()
    .nonnegative()
    .describe(
      'All of them; `children` has some, the living ones first. Tokens that a client gets by its consent are no children: theirs count as children of the consent, and counting these stops after about 2,000.',
    ),
  next_cursor: z
    .string()
    .nullable()
    .describe('Not null where `children` has only some. The tree has no pages of its own.'),
});
export type AgentView = z.infer<typeof AgentView>;

export const AgentListAnswer = z.object({
  now: Timestamp,
  root_principal: Principal,
  agents: z.array(AgentView),
  next_cursor: NextCursor,
});
export type AgentListAnswer = z.infer<typeof AgentListAnswer>;
