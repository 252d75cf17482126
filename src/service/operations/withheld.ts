/**
 * A withheld log: nothing is appended while the log does not extend what was signed.
 *
 * `rows/service-store.ts` lists what each method of the store does then. Operations call `refuseWithheld` before they
 * run author code, so no handler acts without an entry.
 *
 * @module
 */

import { StoreUnavailable } from '../../storage/port/store.ts';

/** Sent to callers. Readiness shows operators the reason. */
const RUNBOOK = 'docs/operating.md, "When nothing is appended to the log"';

/** The request had no effect. Requests are refused until an operator has decided. */
export class LogWithheld extends StoreUnavailable {
  constructor() {
    super(`nothing is appended to the log until an operator has looked at it; see ${RUNBOOK}`);
  }
}

/** Returns the reason, for operators; `undefined` when the log may grow. */
export type Withheld = () => string | undefined;

/** Called by operations before they run anything that an entry has to record. */
export function refuseWithheld({ withheld }: { readonly withheld: Withheld }): void {
  if (withheld() !== undefined) throw new LogWithheld();
}
