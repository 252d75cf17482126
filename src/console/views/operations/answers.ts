/**
 * What the page Operations asks for: each answer that its sentence, its numbers and its lists share.
 *
 * @module
 */

import { type Signal, useSignal } from '@preact/signals';
import type { Days, Operations, OperatorRight } from '../../../protocol/console/views.ts';
import type {
  DeliveriesAnswer,
  Freeze,
  FrozenAnswer,
  IndeterminateAnswer,
} from '../../../protocol/operator.ts';
import { ask } from '../../api.ts';
import { type Loaded, useLoaded } from '../../parts/loaded.tsx';
import { growth } from '../growth.ts';
import type { Done } from '../outcome.tsx';

/** Undefined where the person may not read it. */
type Answer<T> = Loaded<T | undefined>;

export interface Answers {
  readonly state: Answer<Operations>;
  readonly unknown: Answer<IndeterminateAnswer>;
  /** One page of them. */
  readonly frozen: Answer<FrozenAnswer>;
  /** Of the pages of freezes after the first, up to the one that is shown. */
  readonly cursors: Signal<readonly string[]>;
  readonly deliveries: Answer<DeliveriesAnswer>;
  /** Not asked again by itself: it reads up to thousands of entries. */
  readonly days: Answer<Days>;
}

/** What the parts of the page share. */
export interface Part {
  readonly answers: Answers;
  may(right: OperatorRight): boolean;
  /** Says what an act did, at the top of the page. */
  finish(done: Done): void;
  lift(freeze: Freeze): void;
}

export const FREEZES_PAGE = 20;

export function useAnswers(may: (right: OperatorRight) => boolean): Answers {
  const cursors = useSignal<readonly string[]>([]);
  const cursor = cursors.value.at(-1);
  const now = growth.value;
  return {
    state: useAnswer(may('read'), () => ask('operations', {}), [now]),
    unknown: useAnswer(may('indeterminate'), () => ask('operator.indeterminate', {}), [now]),
    frozen: useAnswer(
      may('frozen'),
      () => ask('operator.frozen', { limit: FREEZES_PAGE, cursor }),
      [cursor, now],
    ),
    cursors,
    deliveries: useAnswer(may('deliveries'), () => ask('operator.deliveries', {}), [now]),
    days: useAnswer(may('audit'), () => ask('activity.days', {}), []),
  };
}

function useAnswer<T>(
  mayRead: boolean,
  load: () => Promise<T>,
  deps: readonly unknown[],
): Answer<T> {
  return useLoaded<T | undefined>(
    () => (mayRead ? load() : Promise.resolve(undefined)),
    [mayRead, ...deps],
  );
}

/** What was loaded last. */
export function lastOf<T>(of: Answer<T>): T | undefined {
  return of.state === 'loading' ? undefined : of.value;
}
