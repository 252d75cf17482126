/**
 * A client of any service, for Node and browsers: what `writ/client` offers.
 *
 * @module
 */

export type { Failure, RecoveryClass } from '../protocol/failure.ts';
export type { InvokeSuccess, StreamEvent } from '../protocol/invocation.ts';
export type { InputOf, OperationName } from '../protocol/operations.ts';
export type { Manifest } from '../protocol/trust.ts';
export { createClient } from './client.ts';
export type { ClientEvent } from './events.ts';
export type { AskOptions, Client, ClientOptions } from './interface.ts';
export type { Pause } from './pace.ts';
export {
  RECOVERY,
  type Recovered,
  type RecoveryOptions,
  type Renew,
  type Stop,
  withRecovery,
} from './recovery.ts';
export type { Refused, Reply, Succeeded, SuccessOf } from './reply.ts';
export { UntrustedService } from './trust.ts';
export type { AnyCapabilities, Call, Invoked } from './typed.ts';
