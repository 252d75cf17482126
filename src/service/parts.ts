/**
 * What every operation of a running service is given: the definition and the things it runs on.
 *
 * @module
 */

import type { Config } from '../config.ts';
import type { Keyring } from '../keyring/keyring.ts';
import type { Logger } from '../log.ts';
import type { Store } from '../storage/store.ts';
import type { TokenReader } from './caller.ts';
import type { ServiceDefinition } from './definition.ts';
import type { Identities } from './identities.ts';
import type { Repeated } from './repeated.ts';
import type { Settler } from './settle.ts';
import type { Waits } from './waits.ts';
import type { WorkInProgress } from './work.ts';

export interface Parts {
  readonly definition: ServiceDefinition;
  readonly config: Config;
  readonly store: Store;
  readonly keyring: Keyring;
  readonly identities: Identities;
  readonly readToken: TokenReader;
  readonly settler: Settler;
  readonly work: WorkInProgress;
  readonly waits: Waits;
  /** Nudged when there is something to send. */
  readonly webhooks: Repeated;
  readonly log: Logger;
  /** Names this process to the store: calls of a process that fell silent are recovered. */
  readonly instanceId: string;
}
