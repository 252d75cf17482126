/**
 * The delegation of an agent that starts the guard itself and speaks MCP over standard input and output.
 *
 * The owner gives it: the scopes of the offered tools, the budget of the policy, at most a day. It is kept in a file,
 * so that an agent that starts the guard again goes on with the budget it has left, and does not get a delegation
 * again that the owner has ended. A delegation that replaces another one has the budget that the other one left.
 *
 * @module
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { coversAll } from '../../domain/authority/scope-pattern.ts';
import { fromMinor, toMinor } from '../../domain/values/money.ts';
import { isObject } from '../../domain/wire/json.ts';
import { readPrivately } from '../../keyring/key-file.ts';
import { type Gateway, isFailure, localGateway } from '../../mcp/gateway.ts';
import type { Platform } from '../../platform.ts';
import type { Budget } from '../../protocol/primitives.ts';
import type { Runtime } from '../../service/runtime.ts';
import { writeTextAtomically } from '../shell/atomic-file.ts';

const SUBJECT = 'agent:stdio';

const DELEGATION_FILE = 'guard-agent.json';

/** The longest lifetime of the delegation. */
const HOURS_MAX = 24;

/** In milliseconds: a delegation that ends sooner is followed by another one. */
const RENEWAL_MS = 600_000;

/** In milliseconds: how often the end of the delegation is looked at. */
const LOOK_MS = 60_000;

/** What the policy gives to the agent. */
export interface Given {
  readonly guard: string;
  readonly scope: readonly string[];
  readonly budget?: Budget | undefined;
}

export interface Agent {
  readonly gateway: Gateway;
  /** Makes another delegation where the policy gives more than the present one has, or another budget. */
  follow(given: Given): Promise<void>;
  close(): void;
}

interface Saved extends Given {
  readonly token: string;
  readonly token_id: string;
  /** An ISO timestamp. */
  readonly expires_at: string;
  /** Written before the guard itself ends it: a crash in between is no decision of the owner. */
  readonly is_replaced?: boolean | undefined;
}

export interface AgentOptions {
  /** The runtime that takes requests now. */
  runtime(): Runtime;
  readonly ownerKey: string;
  /** The data folder. */
  readonly folder: string;
  readonly given: Given;
  readonly platform: Platform;
  /** Called with the reason why a delegation could not be renewed. */
  onError(error: unknown): void;
}

/** The gateway of an agent that presents this token, at the runtime that takes requests now. */
export function agentGateway(runtime: () => Runtime, token: () => string): Gateway {
  const now = () => localGateway(runtime(), { bearer: token, trace: undefined });
  return {
    ask: (name, input, sink) => now().ask(name, input, sink),
    manifest: () => now().manifest(),
  };
}

/** Rejects where the owner has ended the delegation. */
export async function openAgent(options: AgentOptions): Promise<Agent> {
  const { runtime, platform, folder, ownerKey } = options;
  const file = join(folder, DELEGATION_FILE);
  const owner = agentGateway(runtime, () => ownerKey);
  let given = options.given;
  let saved: Saved | undefined;

  async function renew(): Promise<void> {
    // Another process of the same guard may have made another one.
    const before = await known(owner, savedIn(file), given.guard);
    if (before?.isEnded) throw ended(file);
    saved = before?.saved;
    if (saved && isEnough(saved, given, platform.now() + RENEWAL_MS)) return;
    const budget = saved ? await replaced(saved) : given.budget;
    saved = await issued(owner, { ...given, budget }, hoursOf(runtime()));
    saved = { ...saved, budget: given.budget };
    await write(file, saved);
  }

  /** Ends the delegation first, so that two budgets never add up. Returns the budget of the next one. */
  async function replaced(old: Saved): Promise<Budget | undefined> {
    await write(file, { ...old, is_replaced: true });
    await owner.ask('tokens.revoke', { token_id: old.token_id });
    const view = await owner.ask('tokens.get', { token_id: old.token_id });
    if (isFailure(view)) throw new Error(view.failure.detail);
    if (view.state === 'active') throw new Error(`Cannot replace the delegation of ${SUBJECT}`);
    const isOver = Date.parse(old.expires_at) <= platform.now() + RENEWAL_MS;
    return isOver ? given.budget : leftOf(given.budget, old.budget, view.budget_remaining ?? 0);
  }

  let renewing = renew();
  const renewed = () => {
    renewing = renewing.catch(() => undefined).then(renew);
    return renewing;
  };
  await renewing;
  const inner = agentGateway(runtime, () => saved?.token ?? '');
  const gateway: Gateway = {
    // While a delegation is replaced, the one before is ended already.
    async ask(name, input, sink) {
      await renewing.catch(() => undefined);
      return inner.ask(name, input, sink);
    },
    manifest: inner.manifest,
  };
  const looking = platform.every(LOOK_MS, () => void renewed().catch(options.onError));
  return {
    gateway,
    async follow(next) {
      given = next;
      await renewed();
    },
    close: () => platform.cancel(looking),
  };
}

/** The saved delegation where the store has it; it is ended once the owner revoked it. */
async function known(owner: Gateway, saved: Saved | undefined, guard: string) {
  if (saved?.guard !== guard) return undefined;
  const view = await owner.ask('tokens.get', { token_id: saved.token_id });
  if (isFailure(view)) {
    if (view.failure.type === 'not_found') return undefined;
    // Another delegation now would be a second budget.
    throw new Error(view.failure.detail);
  }
  return { saved, isEnded: view.state === 'revoked' && !saved.is_replaced };
}

/** What the policy gives now, without what was used of the budget before. Calls that run count as used. */
function leftOf(
  given: Budget | undefined,
  before: Budget | undefined,
  remaining: number,
): Budget | undefined {
  if (!given || before?.currency !== given.currency) return given;
  const { currency } = given;
  const minor = (amount: number) => toMinor(amount, currency) ?? 0n;
  const left = minor(given.max_amount) - minor(before.max_amount) + minor(remaining);
  return { currency, max_amount: fromMinor(left > 0n ? left : 0n, currency) };
}

function ended(file: string): Error {
  return new Error(
    `the owner ended the delegation of ${SUBJECT}; remove "${file}" and start again to give another`,
  );
}

function hoursOf({ config }: Runtime): number {
  return Math.min(HOURS_MAX, config.max_ttl_hours);
}

function isEnough(saved: Saved, given: Given, atLeastUntil: number): boolean {
  return (
    saved.guard === given.guard &&
    !saved.is_replaced &&
    coversAll(saved.scope, given.scope) &&
    JSON.stringify(saved.budget) === JSON.stringify(given.budget) &&
    Date.parse(saved.expires_at) > atLeastUntil
  );
}

async function issued(owner: Gateway, given: Given, ttl_hours: number): Promise<Saved> {
  const { scope, budget } = given;
  const answer = await owner.ask('tokens.issue', {
    scope: [...scope],
    subject: SUBJECT,
    caller_class: 'automated_agent',
    ttl_hours,
    ...(budget && { budget }),
  });
  if (isFailure(answer)) throw new Error(answer.failure.detail);
  const { token, token_id, expires_at } = answer;
  return { ...given, token, token_id, expires_at };
}

/** Nothing where there is no file, or none that can be used: then another delegation is made. */
function savedIn(file: string): Saved | undefined {
  if (!existsSync(file)) return undefined;
  const read = readPrivately(file);
  if ('fault' in read) throw new Error(`Cannot use "${file}": ${read.fault}`);
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(read.bytes));
    return isSaved(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isSaved(value: unknown): value is Saved {
  return (
    isObject(value) &&
    ['guard', 'token', 'token_id', 'expires_at'].every((key) => typeof value[key] === 'string') &&
    Array.isArray(value.scope)
  );
}

function write(file: string, saved: Saved): Promise<void> {
  return writeTextAtomically(file, JSON.stringify(saved));
}
