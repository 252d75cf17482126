/**
 * The error of a checker: which invariant a run broke, and one sentence that says how.
 *
 * @module
 */

export type Invariant =
  /** No token and no ancestor spends more than its budget. */
  | 'budget'
  /** Money comes back only when nothing happened, or when an operator said so. */
  | 'money-back'
  /** A call is closed once, and reconciled once. */
  | 'closed-once'
  /** A grant is used at most as often as it says, and in time. */
  | 'grant-uses'
  /** One approval request yields one grant, by enough different approvers. */
  | 'one-grant'
  /** What belongs to a requester is used only by the same chain of principals. */
  | 'chains'
  /** No effect without an admitted call that is not closed. */
  | 'intent-first'
  /** One effect for one idempotency key of one chain. */
  | 'once-per-key'
  /** Each step of a composed call runs once, by the process that owns the call. */
  | 'step-once'
  /** A composed call that fails undoes its completed steps where that is its policy. */
  | 'compensated'
  /** Nothing is admitted under a token that was revoked before. */
  | 'revoked'
  | 'expired'
  | 'frozen'
  /** One call at a time holds the lease of an exclusive token. */
  | 'one-fence'
  /** Recovery closes only calls of processes that sent no heartbeat. */
  | 'living'
  /** Entries have contiguous places, and each place keeps its entry. */
  | 'log-contiguous'
  /** What changes authority has its entry, and a call has one. */
  | 'logged-once'
  /** What the service acknowledged is in the store and in the log. */
  | 'acknowledged'
  /** Every checkpoint covers the one log, and the mark is never behind what was shown. */
  | 'checkpoints'
  /** A notice counts as delivered only after its receiver got it. */
  | 'notices'
  /** The rows of money and authority say what the log says. */
  | 'ledger-is-log'
  /** After the faults stop everything ends. */
  | 'liveness';

export class Broken extends Error {
  override readonly name = 'Broken';
  readonly invariant: Invariant;

  constructor(invariant: Invariant, sentence: string) {
    super(`${invariant}: ${sentence}`);
    this.invariant = invariant;
  }
}

export function broken(invariant: Invariant, sentence: string): never {
  throw new Broken(invariant, sentence);
}
