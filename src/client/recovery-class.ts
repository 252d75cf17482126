/**
 * Recovery classes: what a caller can do after a failure, as one question for each.
 *
 * @module
 */

import type { Failure, RecoveryClass } from '../protocol/failure.ts';

/**
 * The same call can be sent again at once, with the same or better credentials.
 *
 * @example
 * import { createService } from 'writ';
 * import { canRetryNow } from 'writ/client';
 * import { failureOf, testService } from 'writ/testing';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const stranger = desk.human('ann').client.withCredential('unknown-key');
 * const failure = failureOf(await stranger.ask('audit.query', {}), 'authentication_required');
 * console.log(canRetryNow(failure));
 * await desk.close();
 */
export const canRetryNow = inClass('retry_now');

/**
 * Waiting helps, or a person's approval.
 *
 * @example
 * import { createService, serve } from 'writ';
 * import { canWait, createClient } from 'writ/client';
 *
 * const service = createService({ id: 'demo', capabilities: [] });
 * const desk = await serve(service, { settings: { port: 0, store: 'memory:' }, signals: false });
 * await desk.close();
 * const reply = await createClient({ url: desk.url, retries: 0 }).ask('discovery', {});
 * console.log(!reply.ok && canWait(reply.failure));
 */
export const canWait = inClass('wait_then_retry');

/**
 * The caller must fetch something that the call refers to again.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import { needsRefresh } from 'writ/client';
 * import { failureOf, testService } from 'writ/testing';
 *
 * const buy = defineCapability({
 *   name: 'buy', description: 'Buy at a quoted fare', side_effect: 'irreversible',
 *   minimum_scope: ['seat.buy'], inputs: [{ name: 'fare', type: 'string' }],
 *   requires_binding: [{ type: 'fare', field: 'fare', max_age: 'PT5M' }],
 *   handler: () => ({ bought: true }),
 * });
 * const desk = await testService(createService({ id: 'seats', capabilities: [buy] }));
 * const agent = await desk.caller('planner');
 * console.log(needsRefresh(failureOf(await agent.invoke('buy', { fare: 'an old one' }))));
 * await desk.close();
 */
export const needsRefresh = inClass('refresh_then_retry');

/**
 * Another token is needed.
 *
 * @example
 * import { createService } from 'writ';
 * import { needsRedelegation } from 'writ/client';
 * import { failureOf, testService } from 'writ/testing';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const { client } = desk.human('ann');
 * const reply = await client.ask('tokens.issue', { subject: 'agent:planner', scope: ['bank.pay'] });
 * console.log(needsRedelegation(failureOf(reply, 'not_entitled')));
 * await desk.close();
 */
export const needsRedelegation = inClass('redelegation_then_retry');

/**
 * The caller must check the call or its assumptions.
 *
 * @example
 * import { createService } from 'writ';
 * import { needsRevalidation } from 'writ/client';
 * import { failureOf, testService } from 'writ/testing';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const { client } = desk.human('ann');
 * const reply = await client.ask('graph.get', { capability: 'refund_order' });
 * console.log(needsRevalidation(failureOf(reply, 'unknown_capability')));
 * await desk.close();
 */
export const needsRevalidation = inClass('revalidate_then_retry');

/**
 * This caller cannot make the call succeed.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 * import { isTerminal } from 'writ/client';
 * import { failureOf, testService } from 'writ/testing';
 *
 * const erase = defineCapability({
 *   name: 'erase', description: 'Erase the account', side_effect: 'irreversible',
 *   minimum_scope: ['account.erase'], delegable: false, handler: () => ({ erased: true }),
 * });
 * const desk = await testService(createService({ id: 'account', capabilities: [erase] }));
 * const agent = await desk.caller('helper');
 * console.log(isTerminal(failureOf(await agent.invoke('erase'), 'non_delegable_action')));
 * await desk.close();
 */
export const isTerminal = inClass('terminal');

function inClass(recovery: RecoveryClass): (failure: Failure) => boolean {
  return ({ resolution }) => resolution.recovery_class === recovery;
}
