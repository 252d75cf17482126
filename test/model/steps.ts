/**
 * Steps: an act as the model sees it is a list of steps, each of which reads the history and adds to it at once.
 *
 * A call has up to three: its checks, its admission, and the record of its outcome. Acts of one turn may have any
 * order of their steps, so the model follows every order and keeps the worlds whose answers were observed.
 *
 * @module
 */

import { isDeepStrictEqual } from 'node:util';
import type { Answer, Event, History } from './history.ts';

export type Step = (history: History) => Taken;

/** Where a call waits for code of the author: between its checks and its admission, or in its handler. */
export type Author = 'checks' | 'handler';

export type Taken = { readonly events?: readonly Event[] } & (
  | { readonly answer: Answer }
  /** `runs`: which code of the author runs between this step and the next one. */
  | { readonly next: Step; readonly runs?: Author }
);

/** What may have happened so far, and the calls whose handlers still run. */
export interface World {
  readonly history: History;
  readonly held: ReadonlyMap<string, Step>;
}

export function refused(failure: string): Taken {
  return { answer: { failure } };
}

/** Takes all steps of one act, or those until this code of the author runs. */
export function takeSteps(history: History, first: Step, until?: Author) {
  let step: Step | undefined = first;
  let after = history;
  for (;;) {
    const taken: Taken = step(after);
    after = [...after, ...(taken.events ?? [])];
    if ('answer' in taken) return { history: after, answer: taken.answer };
    if (until !== undefined && taken.runs === until) return { history: after, running: taken.next };
    step = taken.next;
  }
}

/** The worlds after acts of one turn: one for each order of their steps that gives the observed answers. */
export function interleavings(
  history: History,
  firsts: readonly Step[],
  observed: readonly Answer[],
): History[] {
  const found = new Map<string, History>();
  const explore = (after: History, steps: readonly (Step | undefined)[]) => {
    if (steps.every((step) => step === undefined)) {
      found.set(stateText(after.slice(history.length)), after);
    }
    for (const [place, step] of steps.entries()) {
      const taken = step && takeInTurn(step, after);
      if (!taken || isOther(taken, observed[place])) continue;
      const next = 'next' in taken ? taken.next : undefined;
      explore([...after, ...(taken.events ?? [])], steps.with(place, next));
    }
  };
  explore(history, firsts);
  return [...found.values()];
}

/** In a turn no call waits for code of the author, and the step after the checks reads nothing. */
function takeInTurn(step: Step, history: History): Taken {
  const taken = step(history);
  return 'next' in taken && taken.runs === 'checks' ? taken.next(history) : taken;
}

function isOther(taken: Taken, observed: Answer | undefined): boolean {
  return 'answer' in taken && !isSameAnswer(taken.answer, observed);
}

/** Equal for two orders of events that no question distinguishes: only the order about one target counts. */
function stateText(events: readonly Event[]): string {
  const placed = events.map((event) => ({
    about: 'target' in event ? event.target : '',
    text: JSON.stringify(event),
  }));
  const plain = placed.filter(({ about }) => about === '').map(({ text }) => text);
  const targeted = placed
    .filter(({ about }) => about !== '')
    .toSorted((one, other) => (one.about < other.about ? -1 : Number(one.about > other.about)));
  return JSON.stringify([plain.toSorted(), targeted]);
}

export function isSameAnswer(one: Answer | undefined, other: Answer | undefined): boolean {
  return isDeepStrictEqual(plainOf(one), plainOf(other));
}

/** Without fields that are undefined, as the answer travels. */
export function plainOf(answer: Answer | undefined): unknown {
  return answer && JSON.parse(JSON.stringify(answer));
}
