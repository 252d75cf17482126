/**
 * Recovery classes: what a caller does after a failure.
 *
 * @module
 */

import type { RecoveryClass } from '../protocol/failure.ts';

/**
 * What a caller does after a failure, by its recovery class.
 *
 * @example
 * import { createService } from 'writ';
 * import { RECOVERY } from 'writ/client';
 * import { expectFailure, testService } from 'writ/testing';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const stranger = desk.human('ann').client.withCredential('unknown-key');
 * const failure = expectFailure(await stranger.ask('audit.query', {}), 'authentication_required');
 * console.log(RECOVERY[failure.resolution.recovery_class]);
 * await desk.close();
 */
export const RECOVERY: Readonly<Record<RecoveryClass, string>> = {
  retry_now: 'Send the same call again at once, with the same or better credentials',
  wait_then_retry: 'Wait for the named time or for a decision of a person, then repeat the call',
  refresh_then_retry: 'Fetch what the call refers to again, such as a quote, then call with it',
  redelegation_then_retry: 'Get another token, then call with it',
  revalidate_then_retry: 'Check the call and its assumptions; do not repeat it as it is',
  terminal: 'Stop: this caller cannot make the call succeed',
};
