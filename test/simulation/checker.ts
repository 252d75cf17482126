/**
 * The checker of a simulation: sees every event in order, and throws at the first one that breaks a promise.
 *
 * It keeps a shadow state from the events alone. The work for an event is proportional to the event, because a
 * long run sees millions of them. The subjects are in `invariants/`; the order of the list matters: what is new
 * is opened before the others look, and what ended is closed after them.
 *
 * @module
 */

import type { Store } from '../../src/storage/port/store.ts';
import type { SimEvent } from './events.ts';
import { checkpoints } from './invariants/checkpoints.ts';
import { effects } from './invariants/effects.ts';
import { grants } from './invariants/grants.ts';
import { heartbeats, leases } from './invariants/leases.ts';
import { createLog } from './invariants/log.ts';
import { money } from './invariants/money.ts';
import { notices } from './invariants/notices.ts';
import { rest } from './invariants/rest.ts';
import { revocation } from './invariants/revocation.ts';
import {
  type CheckerOptions,
  closing,
  createShadow,
  opening,
  type Subject,
} from './invariants/shadow.ts';
import { steps } from './invariants/steps.ts';

export { Broken } from './broken.ts';

export interface Checker {
  /** Throws `Broken` when the event breaks an invariant. */
  see(event: SimEvent): void;
  /** Compares the store with what was seen, after everything ended. Rejects with `Broken`. */
  atRest(store: Store): Promise<void>;
}

export function createChecker(options: CheckerOptions = {}): Checker {
  const subjects = subjectsOf(options);
  const looks = looksOf(subjects);
  return {
    see(event) {
      // With an error nothing happened.
      if (event.kind === 'store' && event.error !== undefined) return;
      const found = looks.get(event.kind === 'store' ? event.method : event.kind);
      if (found) for (const look of found) look(event);
    },
    async atRest(store) {
      for (const { atRest } of subjects) await atRest?.(store);
    },
  };
}

function subjectsOf(options: CheckerOptions): Subject[] {
  const shadow = createShadow(options);
  const log = createLog(shadow);
  return [
    opening(shadow),
    revocation(shadow),
    grants(shadow),
    effects(shadow),
    leases(shadow),
    heartbeats(shadow),
    money(shadow),
    log,
    notices(),
    steps(shadow),
    checkpoints(log),
    rest(shadow, log),
    closing(shadow),
  ];
}

type Look = (event: SimEvent) => void;

/** By the method of a store call, or by the kind of another event. No method has the name of a kind. */
function looksOf(subjects: readonly Subject[]): Map<string, Look[]> {
  const looks = new Map<string, Look[]>();
  for (const { store, atRest: _, ...kinds } of subjects) {
    for (const [name, look] of Object.entries({ ...store, ...kinds })) {
      if (typeof look === 'function') looks.set(name, [...(looks.get(name) ?? []), look as Look]);
    }
  }
  return looks;
}
