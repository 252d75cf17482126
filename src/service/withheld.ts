/**
 * A withheld log: while it does not extend what was signed, nothing is appended to it.
 *
 * One guard around the store. Transitions that need an entry, or that follow from entries, are refused;
 * sweeps of the background find nothing to do; reads, heartbeats and permits go on. Operations ask
 * before they run anything of the author's, so that no handler acts without an entry.
 *
 * @module
 */

import { type Store, StoreUnavailable } from '../storage/store.ts';
import type { Parts } from './parts.ts';

/** Readiness tells operators what was found; callers learn where it is written what to do. */
const RUNBOOK = 'docs/operating.md, "When nothing is appended to the log"';

/** Nothing happened, and nothing will until an operator has decided. */
export class LogWithheld extends StoreUnavailable {
  constructor() {
    super(`nothing is appended to the log until an operator has looked at it; see ${RUNBOOK}`);
  }
}

/** Why nothing may be appended now, in words for operators; nothing when all is well. */
export type Withheld = () => string | undefined;

/** For operations, before they run anything that an entry has to tell of. */
export function refuseWithheld({ withheld }: Pick<Parts, 'withheld'>): void {
  if (withheld() !== undefined) throw new LogWithheld();
}

/** The same store, which appends nothing while the log is withheld. */
export function guardedStore(store: Store, withheld: Withheld): Store {
  const refused = REFUSED.map((name) => {
    const transition = store[name] as (...args: unknown[]) => Promise<unknown>;
    const guarded = (...args: unknown[]) =>
      withheld() === undefined ? transition(...args) : Promise.reject(new LogWithheld());
    return [name, guarded];
  });
  const idle = Object.entries(IDLE).map(([name, nothing]) => {
    const sweep = store[name as keyof typeof IDLE] as (...args: unknown[]) => Promise<unknown>;
    const guarded = (...args: unknown[]) =>
      withheld() === undefined ? sweep(...args) : Promise.resolve(nothing);
    return [name, guarded];
  });
  return { ...store, ...Object.fromEntries([...refused, ...idle]) };
}

const REFUSED = [
  'insertRoot',
  'insertChild',
  'revokeToken',
  'admit',
  'settle',
  'append',
  'reconcile',
  'beginStep',
  'endStep',
  'requestApproval',
  'approve',
  'deny',
  'finishDelivery',
  'freeze',
  'unfreeze',
  'voidPromises',
  'insertCheckpoint',
  'keepCosignature',
  'beginOrigin',
] as const satisfies readonly (keyof Store)[];

/** What the sweeps of the background are answered: there is nothing to do. */
const IDLE = {
  lead: false,
  abandonedIntents: [],
  adoptComposition: undefined,
  expireApprovals: 0,
  takeDeliveries: [],
  forgetKeys: 0,
  erase: 0,
} as const satisfies Partial<Record<keyof Store, unknown>>;
