/**
 * Draws the acts of a run from one seed.
 *
 * @module
 */

import { type Chance, chanceOf } from '../simulation/chance.ts';
import type {
  Act,
  By,
  CallAct,
  FreezeAct,
  FreezeTarget,
  IssueAct,
  PermissionsAct,
  PlainAct,
  RevokeAct,
  TogetherAct,
  TokenRequest,
  UnfreezeAct,
  ViewAct,
  WaitAct,
} from './acts.ts';
import { type Money, NAMES, PEOPLE } from './catalog.ts';
import {
  drawApprove,
  drawBurst,
  drawCall,
  drawEnd,
  drawHeld,
  drawProbe,
  TASKS,
} from './draw-calls.ts';
import { type Drawing, type Drawn, defined, recent, where } from './drawing.ts';

export interface DrawOptions {
  readonly acts: number;
  readonly services: number;
}

export function drawActs(seed: number, { acts: count, services }: DrawOptions): Act[] {
  const chance = chanceOf(seed);
  const drawn: Drawn = {
    tokens: [],
    calls: [],
    quotes: [],
    asking: [],
    approvals: [],
    held: [],
    freezes: [],
    ending: [],
  };
  const acts: Act[] = [];
  for (let place = 1; place <= count; place++) {
    const own = chance.fork(`act ${place}`);
    const drawing = { chance: own, drawn, services, label: `a${place}` };
    const before = acts.at(-1);
    const ended = before?.kind === 'wait' && own.is(0.8) ? before.untilEndOf : undefined;
    const draw = place <= 3 ? drawPlainRoot : ended === undefined ? drawAct : drawProbe(ended);
    acts.push(draw(drawing));
  }
  return acts;
}

/** How often each kind of act is drawn. */
const WEIGHTS: readonly (readonly [weight: number, draw: (drawing: Drawing) => Act])[] = [
  [8, drawRoot],
  [12, drawChild],
  [5, drawRevoke],
  [4, drawFreeze],
  [5, drawUnfreeze],
  [6, drawWait],
  [48, (drawing) => drawCall(drawing)],
  [7, (drawing) => drawHeld(drawing)],
  [6, drawEnd],
  [7, drawApprove],
  [5, drawView],
  [5, drawPermissions],
  [14, drawTogether],
  [4, drawBurst],
];

const WEIGHT_SUM = WEIGHTS.reduce((sum, [weight]) => sum + weight, 0);

function drawAct(drawing: Drawing): Act {
  let place = drawing.chance.below(WEIGHT_SUM);
  for (const [weight, draw] of WEIGHTS) {
    place -= weight;
    if (place < 0) return draw(drawing);
  }
  return drawCall(drawing);
}

const SCOPES = [['w.use'], ['w.use'], ['w.use', 'w.secret'], ['w.secret'], ['w.other']];

const SUBJECTS = ['agent:a', 'agent:a', 'agent:b', 'agent:c', 'human:alice', 'service:s'];

/** In hours. Odd numbers of seconds end within a run; the last is more than the service admits. */
const LIFETIMES = [3 / 3_600, 60 / 3_600, 0.5, 2, 24, 1_000];

function drawRequest(chance: Chance): TokenRequest {
  const maybe = <Value>(probability: number, value: Value) =>
    chance.is(probability) ? value : undefined;
  return defined({
    scope: chance.pick(SCOPES.slice(0, chance.is(0.9) ? 3 : 5)),
    subject: maybe(0.95, chance.pick(SUBJECTS.slice(0, chance.is(0.8) ? 4 : 6))),
    capability: maybe(0.06, chance.pick([...NAMES, 'absent'])),
    task: maybe(0.15, chance.pick(TASKS)),
    budget: maybe(0.45, drawBudget(chance)),
    ttlHours: maybe(
      0.7,
      chance.pick(LIFETIMES.slice(chance.is(0.4) ? 0 : 2, chance.is(0.95) ? 5 : 6)),
    ),
    isExclusive: maybe(0.2, chance.is(0.8)),
    depthMax: maybe(0.15, chance.below(7)),
  });
}

function drawBudget(chance: Chance): Money {
  if (chance.is(0.05)) return { currency: 'JPY', amount: 1_000 * (1 + chance.below(4)) };
  // Often a whole number of payments, so that the last one meets the limit exactly.
  const amount = chance.is(0.7) ? 500 * (1 + chance.below(12)) : 100 + chance.below(5_000);
  return { currency: 'USD', amount };
}

function drawRoot(drawing: Drawing): IssueAct {
  const { chance, drawn, label } = drawing;
  const act: IssueAct = {
    ...where(drawing),
    kind: 'issue',
    by: chance.is(0.7) ? 'alice' : 'bob',
    request: drawRequest(chance),
  };
  drawn.tokens.push(label);
  drawn.ending.push(label);
  return act;
}

/** A root token that is issued and can be used for most calls, so that a run has something to act on. */
function drawPlainRoot(drawing: Drawing): IssueAct {
  const act = drawRoot(drawing);
  const { budget, isExclusive } = act.request;
  const subject = drawing.chance.pick(['agent:a', 'agent:b', 'human:alice']);
  const scope = act.by === 'alice' ? ['w.use', 'w.secret'] : ['w.use'];
  return { ...act, request: defined({ scope, subject, budget, isExclusive, ttlHours: 24 }) };
}

function drawChild(drawing: Drawing): IssueAct {
  const { chance, drawn, label } = drawing;
  const parent = recent(chance, drawn.tokens);
  const by = chance.is(0.75) ? parent : chance.pick(['alice', 'bob', recent(chance, drawn.tokens)]);
  const act: IssueAct = {
    ...where(drawing),
    kind: 'issue',
    by,
    parent,
    request: drawRequest(chance),
  };
  drawn.tokens.push(label);
  drawn.ending.push(label);
  return act;
}

function drawRevoke(drawing: Drawing): RevokeAct {
  const { chance, drawn } = drawing;
  const token = recent(chance, drawn.tokens);
  const by = chance.pick<By>([
    'alice',
    'alice',
    'bob',
    'operator',
    token,
    recent(chance, drawn.tokens),
  ]);
  return { ...where(drawing), kind: 'revoke', by, token };
}

function drawFreeze(drawing: Drawing): FreezeAct {
  const { chance, drawn, label } = drawing;
  const target = drawTarget(chance);
  const lastsMs = chance.pick([undefined, 1, 1_000, 60_000, 3_600_000, 0]);
  const by = chance.is(0.93) ? 'operator' : 'alice';
  drawn.freezes.push({ label, target });
  drawn.ending.push(label);
  return { ...where(drawing), kind: 'freeze', by, target, ...defined({ lastsMs }) };
}

function drawTarget(chance: Chance): FreezeTarget {
  const capability = chance.pick(['look', 'pay', 'touch', 'spend', 'sign', 'book'] as const);
  const root = chance.pick([PEOPLE.alice, PEOPLE.alice, PEOPLE.bob]).principal;
  if (chance.is(0.1)) return {};
  return chance.pick<FreezeTarget>([
    { root },
    { capability },
    { capability },
    { capability, root },
  ]);
}

/** Most lift a freeze that was made, so that the calls after it run again. */
function drawUnfreeze(drawing: Drawing): UnfreezeAct {
  const { chance, drawn } = drawing;
  const strict: FreezeTarget = { capability: 'strict', root: PEOPLE.alice.principal };
  const made = drawn.freezes.map(({ target }) => target);
  const target = chance.is(0.85) ? recent(chance, [strict, ...made]) : drawTarget(chance);
  return { ...where(drawing), kind: 'unfreeze', by: chance.is(0.95) ? 'operator' : 'bob', target };
}

function drawWait(drawing: Drawing): WaitAct {
  const { chance, drawn } = drawing;
  const mostMs = chance.is(0.12) ? DAY_MS : HOUR_MS;
  if (chance.is(0.6)) {
    const untilEndOf = recent(chance, drawn.ending);
    return { ...where(drawing), kind: 'wait', untilEndOf, ms: chance.pick([-1, 0, 0, 1]), mostMs };
  }
  const ms = chance.pick([1, 500, 1_000, 1_000, 60_000, 10 * 60_000, 15 * 60_000, mostMs]);
  return { ...where(drawing), kind: 'wait', ms, mostMs };
}

/** In milliseconds. In an hour most tokens stay alive; after the day no key and no token of this run is left. */
const HOUR_MS = 3_600_000;

const DAY_MS = 25 * HOUR_MS;

function drawView(drawing: Drawing): ViewAct {
  const { chance, drawn } = drawing;
  const token = recent(chance, drawn.tokens);
  const by = chance.pick<By>(['alice', 'bob', 'operator', token, recent(chance, drawn.tokens)]);
  return { ...where(drawing), kind: 'view', by, token };
}

function drawPermissions(drawing: Drawing): PermissionsAct {
  const token = recent(drawing.chance, drawing.drawn.tokens);
  return { ...where(drawing), kind: 'permissions', token };
}

/** Two calls about one token and something that ends it, or that changes what it may do. */
function drawTogether(drawing: Drawing): TogetherAct {
  const { chance, label } = drawing;
  const part = (place: number) => ({
    ...drawing,
    chance: chance.fork(`${place}`),
    label: `${label}.${place}`,
  });
  const call = drawCall(part(1));
  const second = drawSecond(part(2), call);
  const acts: PlainAct[] = [call, second];
  if (chance.is(0.4)) {
    const same = drawCall(part(3));
    acts.push(chance.is(0.7) ? { ...same, token: call.token } : same);
  }
  // The first to be asked is often the first to be answered.
  return { ...where(drawing), kind: 'together', acts: chance.is(0.5) ? acts : acts.reverse() };
}

function drawSecond(drawing: Drawing, call: CallAct): PlainAct {
  const { chance, drawn } = drawing;
  const root = PEOPLE.alice.principal;
  switch (chance.below(6)) {
    case 0:
    case 1:
      return { ...drawRevoke(drawing), token: call.token };
    case 2: {
      const target = chance.pick<FreezeTarget>([{}, { root }, drawTarget(chance)]);
      return { ...drawFreeze(drawing), target };
    }
    case 3:
      return drawUnfreeze(drawing);
    case 4:
      return chance.is(0.5)
        ? { ...drawChild(drawing), parent: call.token, by: call.token }
        : drawRoot(drawing);
    default: {
      const again = { ...call, ...where(drawing) };
      drawn.calls.push(again);
      return again;
    }
  }
}
