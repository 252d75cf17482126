/**
 * The parts of the console: what its files share.
 *
 * @module
 */

import type { SealingState } from '../log/sealer.ts';
import type { SignInParts } from '../sign-in/parts.ts';

export interface ConsoleParts extends SignInParts {
  /** Undefined when the log is not sealed. */
  sealing(): SealingState | undefined;
}
