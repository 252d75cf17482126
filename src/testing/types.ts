/**
 * What `testService()` returns: callers, people, the clock, and what a test reads of the service.
 *
 * @module
 */

import type { Client, Reply } from '../client/index.ts';
import type { MountedService } from '../http/mounted/mount.ts';
import type { GrantAnswer, GrantRequest } from '../protocol/approval.ts';
import type { AuditEntry } from '../protocol/audit.ts';
import type { InvokeSuccess } from '../protocol/invocation.ts';
import type { InputOf } from '../protocol/operations.ts';
import type { Budget, JsonObject, Money } from '../protocol/primitives.ts';
import type { IssueAnswer } from '../protocol/token.ts';
import type { CapabilityMap } from '../protocol/typed.ts';
import type { EntryFilter } from './expect.ts';

/**
 * What a token of a test caller may do.
 *
 * @example
 * import type { CallerOptions } from 'writ/testing';
 *
 * const intern: CallerOptions = {
 *   scopes: ['shop.read', 'shop.ship'],
 *   budget: { currency: 'USD', max_amount: 50 },
 *   ttl_hours: 1,
 *   root: 'ann@example.com',
 * };
 */
export interface CallerOptions {
  /** Default: the scopes of all capabilities. */
  readonly scopes?: readonly string[] | undefined;
  readonly budget?: Budget | undefined;
  readonly purpose?: JsonObject | undefined;
  readonly caller_class?: string | undefined;
  /** Binds the token to one capability. */
  readonly capability?: string | undefined;
  readonly session_id?: string | undefined;
  readonly ttl_hours?: number | undefined;
  /** The person that delegates; default: `human:owner`. */
  readonly root?: string | undefined;
}

type ResultOf<Result> = Omit<InvokeSuccess, 'result'> & { readonly result: Result };

/**
 * An agent with a delegation token.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import { type TestCaller, testService } from 'writ/testing';
 *
 * const look = defineCapability({
 *   name: 'look', description: 'Look an order up', side_effect: 'read',
 *   minimum_scope: ['shop.read'], handler: () => ({ state: 'paid' }),
 * });
 * const shop = await testService(createService({ id: 'shop', capabilities: [look] }));
 * const planner: TestCaller = await shop.caller('planner');
 * const helper = await planner.delegate('helper');
 * console.log(helper.principal, (await helper.invoke('look')).ok);
 * await shop.close();
 */
export interface TestCaller<Capabilities extends CapabilityMap = CapabilityMap> {
  readonly principal: string;
  readonly token: IssueAnswer;
  /** For everything else that a client can do, with any parameters. */
  readonly client: Client;
  invoke<Name extends keyof Capabilities & string>(
    capability: Name,
    parameters?: Capabilities[Name]['parameters'],
    more?: Omit<InputOf<'invoke'>, 'capability' | 'parameters'>,
  ): Promise<Reply<ResultOf<Capabilities[Name]['result']>>>;
  /** Delegates to another agent, which gets at most what this caller has. */
  delegate(name: string, options?: CallerOptions): Promise<TestCaller<Capabilities>>;
}

/**
 * A person who signs in with a credential of their own and may decide every approval request.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import { expectAnswer, type TestPerson, testService } from 'writ/testing';
 *
 * const refund = defineCapability({
 *   name: 'refund', description: 'Pay back', side_effect: 'irreversible',
 *   minimum_scope: ['refund'], approval: { when: 'always' }, handler: () => ({ paid: true }),
 * });
 * const shop = await testService(createService({ id: 'shop', capabilities: [refund] }));
 * const agent = await shop.caller('clerk');
 * const bob: TestPerson = shop.human('bob');
 * expectAnswer(await bob.approve(await agent.invoke('refund')));
 * console.log((await agent.invoke('refund', {}, { continue_approved: true })).ok);
 * await shop.close();
 */
export interface TestPerson {
  readonly principal: string;
  readonly client: Client;
  /**
   * Approves the request, given by its id or by the refusal that names it. With `passkey: true` the person signs the
   * approval with a virtual device, which enrols a passkey first; a policy with `require: 'passkey'` asks for that. It throws
   * where there is nothing to sign: the request is decided, or the person may not decide it.
   */
  approve(
    request: string | Reply<unknown>,
    terms?: Partial<Omit<GrantRequest, 'passkey'>> & { readonly passkey?: boolean },
  ): Promise<Reply<GrantAnswer>>;
  deny(request: string | Reply<unknown>, reason?: string): Promise<Reply<object>>;
}

/**
 * A service that runs in memory for a test.
 *
 * @example
 * import { createService } from 'writ';
 * import { type TestedService, testService } from 'writ/testing';
 *
 * const desk: TestedService = await testService(createService({ id: 'demo', capabilities: [] }));
 * const before = desk.now().getTime();
 * desk.advance('PT15M');
 * console.log(desk.now().getTime() - before);
 * await desk.close();
 */
export interface TestedService<Capabilities extends CapabilityMap = CapabilityMap> {
  /** The agent `agent:<name>` with a new token. */
  caller(name: string, options?: CallerOptions): Promise<TestCaller<Capabilities>>;
  /** The person `human:<name>`. */
  human(name: string): TestPerson;
  /** Answers a request of an app, as a mounted service does. */
  readonly fetch: MountedService['fetch'];
  /** The same for the requests of Node and of express. */
  readonly listener: MountedService['listener'];
  now(): Date;
  /** Moves the clock by milliseconds or a duration such as `PT15M`. */
  advance(by: number | string): void;
  /** The entries of the log that match, oldest first. */
  entries(filter?: EntryFilter): Promise<AuditEntry[]>;
  /** The one entry that matches. Throws when there is none or another. */
  expectEntry(filter: EntryFilter): Promise<AuditEntry>;
  /** What calls under the token of this caller, and below it, have spent of its budget. */
  spent(caller: Pick<TestCaller, 'principal' | 'token'>): Promise<Money>;
  /** Throws when the caller has spent another amount. */
  expectSpent(caller: Pick<TestCaller, 'principal' | 'token'>, amount: number): Promise<void>;
  /** What a binding pins; `undefined` for an unknown handle. */
  binding(handle: string): Promise<PinnedBinding | undefined>;
  /** Warnings and errors that the service logged, such as a defect of a handler. */
  readonly log: readonly LogLine[];
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * What `binding()` returns: the stored content of a binding.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import { expectAnswer, type PinnedBinding, testService } from 'writ/testing';
 *
 * const quote = defineCapability({
 *   name: 'quote', description: 'Quote', side_effect: 'read', minimum_scope: ['quote'],
 *   handler: (_, { issueBinding }) =>
 *     ({ handle: issueBinding({ type: 'quote', capability: 'quote', data: { part: 'brakes' } }) }),
 * });
 * const desk = await testService(createService({ id: 'garage', capabilities: [quote] }));
 * const { result } = expectAnswer(await (await desk.caller('planner')).invoke('quote'));
 * const pinned: PinnedBinding | undefined = await desk.binding(String(result.handle));
 * console.log(pinned?.data);
 * await desk.close();
 */
export interface PinnedBinding {
  readonly type: string;
  readonly capability: string;
  readonly price?: Money | undefined;
  readonly data: JsonObject;
  readonly issued_at: Date;
}

/**
 * A line that the service logged, with its facts.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import { type LogLine, testService } from 'writ/testing';
 *
 * const crash = defineCapability({
 *   name: 'crash', description: 'Has a defect', side_effect: 'read', minimum_scope: ['crash'],
 *   handler: () => JSON.parse('{'),
 * });
 * const desk = await testService(createService({ id: 'demo', capabilities: [crash] }));
 * await (await desk.caller('tester')).invoke('crash');
 * const errors: LogLine[] = desk.log.filter(({ level }) => level === 'error');
 * console.log(errors.map(({ msg }) => msg));
 * await desk.close();
 */
export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [fact: string]: unknown;
}
