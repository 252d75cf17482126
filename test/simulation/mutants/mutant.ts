/**
 * A mutant: a deliberate bug, as a change of the sources that a test makes in a bundle of them.
 *
 * @module
 */

import type { Invariant } from '../broken.ts';

export interface Mutant {
  readonly name: string;
  /** Bugs of the service are found over a network, bugs of the store with faults in its statements. */
  readonly mode: 'remote' | 'embedded';
  /** What the bug does, as a reviewer would say it. */
  readonly why: string;
  /** The invariants that may show it. */
  readonly found: readonly Invariant[];
  readonly edits: readonly Edit[];
  /** Why no run reaches it so far, and which test does. The suite leaves it out; `npm run mutants` hunts it too. */
  readonly unreached?: string | undefined;
}

export interface Edit {
  readonly file: string;
  /** Text that the file has exactly once. */
  readonly replace: string;
  readonly by: string;
}
