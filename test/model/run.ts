/**
 * One run: performs acts at a place, and compares every answer with those that the model allows.
 *
 * @module
 */

import type { Reply } from '../support/world.ts';
import type { Act, CallAct, PlainAct, WaitAct } from './acts.ts';
import {
  approveStep,
  endIn,
  freezeStep,
  issueStep,
  revokeStep,
  unfreezeStep,
  viewStep,
} from './authority.ts';
import { callStep } from './calls.ts';
import { type Answer, nowIn } from './history.ts';
import { permissionsStep } from './permissions.ts';
import type { Place } from './place.ts';
import { beginSession, readAnswer, requestLabel, type Session, sendAct } from './session.ts';
import { interleavings, isSameAnswer, plainOf, type Step, takeSteps, type World } from './steps.ts';

/** A difference: the acts up to it, and the answers of both sides to the last of them. */
export interface Difference {
  readonly acts: readonly Act[];
  readonly observed: unknown;
  readonly allowed: readonly unknown[];
}

/** What a run did, so that a test can say that it did something. */
export interface Count {
  acts: number;
  answers: Map<string, number>;
}

interface Run {
  readonly session: Session;
  readonly count: Count;
  worlds: readonly World[];
  /** Calls that wait: their acts, and their answers. */
  readonly held: Map<
    string,
    { readonly act: CallAct; readonly reply: Promise<Reply>; readonly at: number }
  >;
}

/** Worlds that one run may follow. More would mean that the model cannot tell them apart. */
const WORLDS_MAX = 200;

/** In milliseconds: an exclusive lease lasts 15 seconds, so a held call ends before. */
const HELD_MS_MAX = 10_000;

/** Resolves with the first difference. */
export async function runActs(
  place: Place,
  acts: readonly Act[],
  count = newCount(),
): Promise<Difference | undefined> {
  const session = await beginSession(place);
  const run: Run = { session, count, worlds: [{ history: [], held: new Map() }], held: new Map() };
  try {
    for (const [at, act] of acts.entries()) {
      const found = await perform(run, act);
      if (found) return { acts: acts.slice(0, at + 1), ...found };
      if (run.worlds.length > WORLDS_MAX)
        throw new Error(`Cannot follow ${run.worlds.length} worlds`);
    }
    return await endAll(run).then((found) => found && { acts, ...found });
  } finally {
    place.gates.openAll();
    await Promise.all([...run.held.values()].map(({ reply }) => reply));
  }
}

export function newCount(): Count {
  return { acts: 0, answers: new Map() };
}

type Found = Pick<Difference, 'observed' | 'allowed'> | undefined;

function perform(run: Run, act: Act): Promise<Found> {
  switch (act.kind) {
    case 'wait':
      return wait(run, act);
    case 'end':
      return end(run, act.call);
    case 'together':
      return together(run, act.acts);
    case 'burst':
      return burst(run, act.acts);
    case 'call':
      return act.heldAt ? hold(run, act) : alone(run, act);
    default:
      return alone(run, act);
  }
}

/** The first step of an act, as the model takes it. */
function stepOf(session: Session, act: PlainAct): Step {
  switch (act.kind) {
    case 'issue':
      return issueStep(act);
    case 'call':
      return callStep(act);
    case 'revoke':
      return revokeStep(act);
    case 'freeze':
      return freezeStep(act);
    case 'unfreeze':
      return unfreezeStep(act);
    case 'view':
      return viewStep(act);
    case 'permissions':
      return permissionsStep(act);
    case 'approve':
      return approveStep(act, requestLabel(session, act.call) ?? '');
  }
}

async function alone(run: Run, act: PlainAct): Promise<Found> {
  const { session } = run;
  const reply = await sendAct(session, act);
  if (!reply) return undefined;
  const observed = noted(run, act, readAnswer(session, act, reply));
  const first = stepOf(session, act);
  return keep(run, observed, (world) => {
    const { history, answer } = takeSteps(world.history, first);
    return { world: { ...world, history }, answer };
  });
}

/** Keeps the worlds in which the service may answer as it did. */
function keep(
  run: Run,
  observed: Answer,
  taken: (world: World) => { readonly world: World; readonly answer: Answer | undefined },
): Found {
  const after = run.worlds.map(taken);
  const matching = after.filter(({ answer }) => isSameAnswer(answer, observed));
  if (matching.length > 0) {
    run.worlds = matching.map(({ world }) => world);
    return undefined;
  }
  return { observed: plainOf(observed), allowed: after.map(({ answer }) => plainOf(answer)) };
}

const RUNNING: Answer = { isRunning: true };

/** Begins a call that waits. One that is refused before is answered at once. */
async function hold(run: Run, act: CallAct): Promise<Found> {
  const { session } = run;
  const { gates, now } = session.place;
  const reached = gates.hold(act.label);
  const reply = sendAct(session, act);
  if (reply === undefined) {
    gates.open(act.label);
    return undefined;
  }
  const running = await Promise.race([reached, reply]);
  if (running === undefined) run.held.set(act.label, { act, reply, at: now() });
  else gates.open(act.label);
  const observed = running === undefined ? RUNNING : readAnswer(session, act, running);
  return keep(run, noted(run, act, observed), ({ history, held }) => {
    const after = takeSteps(history, callStep(act), act.heldAt);
    if (!after.running) return { world: { history: after.history, held }, answer: after.answer };
    const world = { history: after.history, held: new Map([...held, [act.label, after.running]]) };
    return { world, answer: RUNNING };
  });
}

async function end(run: Run, call: string): Promise<Found> {
  const { session, held } = run;
  const waiting = held.get(call);
  if (!waiting) return undefined;
  session.place.gates.open(call);
  held.delete(call);
  const { act } = waiting;
  const observed = noted(run, act, readAnswer(session, act, await waiting.reply));
  return keep(run, observed, (world) => {
    const { history, answer } = takeSteps(world.history, world.held.get(call) as Step);
    const still = new Map([...world.held].filter(([label]) => label !== call));
    return { world: { history, held: still }, answer };
  });
}

async function endAll(run: Run): Promise<Found> {
  for (const call of [...run.held.keys()]) {
    const found = await end(run, call);
    if (found) return found;
  }
  return undefined;
}

/** Time passes at all services. Calls that wait end before it would take their leases. */
async function wait(run: Run, { ms, mostMs, untilEndOf }: WaitAct): Promise<Found> {
  const { session } = run;
  const { place } = session;
  const known = run.worlds[0]?.history ?? [];
  const until = untilEndOf === undefined ? undefined : endIn(known, untilEndOf);
  if (untilEndOf !== undefined && until === undefined) return undefined;
  const passed = until === undefined ? ms : until + ms - nowIn(known);
  if (passed <= 0 || passed > mostMs) return undefined;
  const isLong = [...run.held.values()].some(({ at }) => place.now() + passed - at > HELD_MS_MAX);
  const found = isLong ? await endAll(run) : undefined;
  place.pass(passed);
  run.worlds = run.worlds.map((world) => ({
    ...world,
    history: [...world.history, { kind: 'passed', ms: passed }],
  }));
  return found;
}

/** Acts of one turn: any order of their steps is allowed. */
async function together(run: Run, acts: readonly PlainAct[]): Promise<Found> {
  const { session } = run;
  const sent = acts.flatMap((act) => {
    const reply = sendAct(session, act);
    return reply === undefined ? [] : [{ act, reply }];
  });
  const replies = await Promise.all(sent.map(({ reply }) => reply));
  const observed = sent.map(({ act }, place) => {
    const { ended: _, ...answer } = noted(
      run,
      act,
      readAnswer(session, act, replies[place] as Reply),
    );
    return answer as Answer;
  });
  const steps = sent.map(({ act }) => uncounted(stepOf(session, act)));
  const after = run.worlds.flatMap(({ history, held }) =>
    interleavings(history, steps, observed).map((found) => ({ history: found, held })),
  );
  if (after.length > 0) {
    run.worlds = after;
    return undefined;
  }
  return { observed: observed.map(plainOf), allowed: serialAnswers(run.worlds, steps) };
}

/** What a revocation ended is counted after it, while the other acts go on. */
function uncounted(step: Step): Step {
  return (history) => {
    const taken = step(history);
    if ('next' in taken) return { ...taken, next: uncounted(taken.next) };
    const { ended: _, ...answer } = taken.answer;
    return { ...taken, answer };
  };
}

/** For a reader: the answers if the acts came one after the other. */
function serialAnswers(worlds: readonly World[], steps: readonly Step[]): unknown[] {
  return worlds.map((world) => {
    let { history } = world;
    return steps.map((step) => {
      const taken = takeSteps(history, step);
      history = taken.history;
      return plainOf(taken.answer);
    });
  });
}

/** Equal calls in one turn. Which of them succeed is open; how many is not. */
async function burst(run: Run, acts: readonly CallAct[]): Promise<Found> {
  const { session } = run;
  const isExclusive = run.worlds.some(({ history }) =>
    history.some((event) => event.kind === 'issued' && event.token.isExclusive),
  );
  const sent = acts.slice(0, isExclusive ? 1 : undefined).map((act) => sendAct(session, act));
  const replies = await Promise.all(sent);
  const pairs = replies.flatMap((reply, place) => {
    const act = acts[place] as CallAct;
    return reply ? [{ act, answer: noted(run, act, readAnswer(session, act, reply)) }] : [];
  });
  if (pairs.length === 0) return undefined;
  // The model lets those succeed that did.
  const ordered = pairs.toSorted(
    (one, other) => Number('failure' in one.answer) - Number('failure' in other.answer),
  );
  const observed = { endings: ordered.map(({ answer }) => endingOf(answer)) };
  return keep(run, observed, (world) => {
    let { history } = world;
    const endings = ordered.map(({ act }) => {
      const taken = takeSteps(history, callStep(act));
      history = taken.history;
      return endingOf(taken.answer);
    });
    return { world: { ...world, history }, answer: { endings } };
  });
}

function endingOf(answer: Answer | undefined): unknown {
  return answer?.failure ?? 'success';
}

function noted({ count }: Run, act: PlainAct, answer: Answer): Answer {
  const ending = answer.isReplay ? 'replay' : (answer.failure ?? 'success');
  const name = `${act.kind} ${ending}`;
  count.acts += 1;
  count.answers.set(name, (count.answers.get(name) ?? 0) + 1);
  return answer;
}
