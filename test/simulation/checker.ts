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
  type Executed,
  type Method,
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
  const methods = methodsOf(subjects);
  const looks = <Kind extends keyof Subject>(kind: Kind) =>
    subjects.flatMap((subject) => subject[kind] ?? []) as NonNullable<Subject[Kind]>[];
  const byKind = {
    effect: looks('effect'),
    ask: looks('ask'),
    answer: looks('answer'),
    replica: looks('replica'),
    other: looks('other'),
  };
  return {
    see(event) {
      if (event.kind === 'store') {
        // With an error nothing happened.
        if (event.error !== undefined) return;
        for (const look of methods.get(event.method) ?? []) look(event as Executed<Method>);
        return;
      }
      if (event.kind === 'effect') for (const look of byKind.effect) look(event);
      else if (event.kind === 'ask' || event.kind === 'answer') {
        for (const look of byKind[event.kind]) look(event);
      } else if (event.kind === 'replica') for (const look of byKind.replica) look(event);
      else for (const look of byKind.other) look(event);
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

type Look = (event: Executed<Method>) => void;

function methodsOf(subjects: readonly Subject[]): Map<string, Look[]> {
  const methods = new Map<string, Look[]>();
  for (const { store = {} } of subjects) {
    for (const [method, look] of Object.entries(store)) {
      methods.set(method, [...(methods.get(method) ?? []), look as Look]);
    }
  }
  return methods;
}
