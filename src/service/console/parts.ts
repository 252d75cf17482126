/**
 * The parts of the console: what its files share.
 *
 * @module
 */

import type { InvokeParts } from '../invoke/handler.ts';
import type { SealingState } from '../log/sealer.ts';
import type { PeopleParts } from '../people/people.ts';

export interface ConsoleParts extends PeopleParts, InvokeParts {
  /** Undefined when the log is not sealed. */
  sealing(): SealingState | undefined;
  /** The reasons why the service is not ready; empty when it is. */
  unready(): Promise<string[]>;
  readonly startedAt: Date;
}
