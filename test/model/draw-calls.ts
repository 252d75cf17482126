/**
 * Draws calls: new ones, the same again, calls with a grant, calls that are held, and calls of one turn.
 *
 * @module
 */

import type { Chance } from '../simulation/chance.ts';
import type { Act, BurstAct, CallAct } from './acts.ts';
import { CAPABILITIES, type CapabilityName, NAMES } from './catalog.ts';
import { type Drawing, type Drawn, defined, recent, where } from './drawing.ts';

/** Calls with what ends at this moment, to see on which side of its end the service puts it. */
export function drawProbe(ended: string): (drawing: Drawing) => Act {
  return (drawing) => {
    const { drawn, label } = drawing;
    const call = (changed: Partial<CallAct>): CallAct => {
      const token = recent(drawing.chance, drawn.tokens);
      const plain = {
        ...where(drawing),
        kind: 'call',
        token,
        capability: 'look',
        parameters: {},
      } as const;
      const act: CallAct = { ...plain, ...changed };
      drawn.calls.push(act);
      return act;
    };
    if (drawn.tokens.includes(ended)) return call({ token: ended });
    const frozen = drawn.freezes.find((each) => each.label === ended);
    if (frozen) return call({ capability: frozen.target.capability ?? 'look' });
    const waiting = drawn.approvals.find((each) => each.label === ended);
    if (waiting) return { ...waiting.asked, ...where(drawing), grantOf: ended };
    const made = drawn.calls.find((each) => each.label === ended);
    if (!made) return drawCall(drawing);
    if (made.capability === 'quote')
      return call({ capability: 'book', token: made.token, quoteOf: ended });
    return { ...where(drawing), kind: 'approve', by: 'approver', call: ended, label };
  };
}

export const TASKS = ['t1', 't2'];

export function drawCall(drawing: Drawing, changed: Partial<CallAct> = {}): CallAct {
  const { chance, drawn, label } = drawing;
  const again = drawn.calls.length > 0 && chance.is(0.28) ? recent(chance, drawn.calls) : undefined;
  const act = again ? drawAgain(drawing, again) : { ...drawNewCall(drawing), ...changed };
  drawn.calls.push(act);
  if (act.capability === 'quote') {
    drawn.quotes.push(label);
    drawn.ending.push(label);
  }
  if (act.capability === 'sign' && !act.grantOf) {
    drawn.asking.push(act);
    drawn.ending.push(label);
  }
  return act;
}

/** The same call again, now and then with another token, other parameters or without its key. */
function drawAgain(drawing: Drawing, { heldAt: _, ...again }: CallAct): CallAct {
  const { chance, drawn } = drawing;
  const { key, ...keyless } = again;
  return {
    ...(key !== undefined && chance.is(0.9) ? { ...keyless, key } : keyless),
    ...where(drawing),
    // A key belongs to a chain of principals, so a token of another chain uses it anew.
    ...(chance.is(key === undefined ? 0.15 : 0.35) && { token: recent(chance, drawn.tokens) }),
    ...(chance.is(0.2) && { parameters: { ...again.parameters, note: 'other' } }),
  };
}

const FREQUENT: readonly CapabilityName[] = [
  ...(['look', 'look', 'pay', 'pay', 'pay', 'spend', 'strict', 'touch', 'paid_read'] as const),
  ...(['quote', 'book', 'book', 'tailor', 'sign'] as const),
];

function drawNewCall(drawing: Drawing): CallAct {
  const { chance, drawn } = drawing;
  const waiting =
    drawn.approvals.length > 0 && chance.is(0.3) ? recent(chance, drawn.approvals) : undefined;
  if (waiting) return continuation(drawing, waiting);
  const drawnName = chance.is(0.02) ? 'absent' : chance.pick([...NAMES, ...FREQUENT]);
  const isUnquoted = drawnName === 'book' && drawn.quotes.length === 0 && chance.is(0.9);
  const capability = isUnquoted ? 'quote' : drawnName;
  const quoteOf =
    capability === 'book' && drawn.quotes.length > 0 ? recent(chance, drawn.quotes) : undefined;
  return defined({
    ...where(drawing),
    kind: 'call' as const,
    token: recent(chance, drawn.tokens),
    capability,
    parameters: drawParameters(chance, capability),
    quoteOf: chance.is(0.93) ? quoteOf : undefined,
    key: chance.is(0.35) ? `key-${chance.below(4)}` : undefined,
    task: chance.is(0.15) ? chance.pick(TASKS) : undefined,
    form: chance.is(0.02) ? chance.pick(['malformed', 'stream'] as const) : undefined,
  });
}

/** Calls again with the grant: as it was asked, most of the time. */
function continuation(drawing: Drawing, { label, asked }: Drawn['approvals'][number]): CallAct {
  const { chance, drawn } = drawing;
  return {
    ...asked,
    ...where(drawing),
    grantOf: label,
    ...(chance.is(0.15) && { token: recent(chance, drawn.tokens) }),
    ...(chance.is(0.1) && { parameters: { note: 'not approved' } }),
    ...(chance.is(0.05) && { capability: 'pay' }),
  };
}

const ENDINGS = ['no_effect', 'fails', 'unknown', 'breaks'];

function drawParameters(chance: Chance, capability: string): Record<string, unknown> {
  const isPriced = capability in CAPABILITIES && CAPABILITIES[capability as CapabilityName].cost;
  const cost = chance.pick([0, 1, 250, 500, 501, 1_000, 1_999, 2_000, 2_001]);
  return defined({
    note: chance.is(0.3) ? chance.pick(['one', 'two']) : undefined,
    cost: isPriced && chance.is(0.35) ? cost : undefined,
    how: capability !== 'quote' && chance.is(0.12) ? chance.pick(ENDINGS) : undefined,
    size: capability === 'tailor' ? 1 + chance.below(10) : undefined,
    price: capability === 'quote' ? 100 * (1 + chance.below(30)) : undefined,
    quote: capability === 'book' && chance.is(0.04) ? 'bnd_invented' : undefined,
    stray: chance.is(0.02) ? 1 : undefined,
    // Replaces the value above, where there is one.
    ...(chance.is(0.03) && { [chance.pick(['note', 'size', 'cost'])]: { of: 'another type' } }),
  });
}

export function drawHeld(drawing: Drawing): Act {
  const { chance, drawn, label } = drawing;
  if (drawn.held.length > 3) return drawEnd(drawing);
  const capability = chance.pick(['pay', 'pay', 'spend', 'touch', 'look', 'paid_read']);
  const heldAt = chance.pick(['checks', 'handler'] as const);
  // A resolver runs before the types of the other parameters are judged, so these are right.
  const parameters = heldAt === 'checks' ? { item: label } : drawParameters(chance, capability);
  const act: CallAct = defined({
    ...where(drawing),
    kind: 'call' as const,
    token: recent(chance, drawn.tokens),
    capability,
    parameters,
    key: chance.is(0.4) ? `key-${chance.below(4)}` : undefined,
    heldAt,
  });
  drawn.held.push(label);
  drawn.calls.push(act);
  return act;
}

export function drawEnd(drawing: Drawing): Act {
  const { chance, drawn } = drawing;
  if (drawn.held.length === 0) return drawCall(drawing);
  const [call = ''] = drawn.held.splice(chance.below(drawn.held.length), 1);
  return { ...where(drawing), kind: 'end', call };
}

export function drawApprove(drawing: Drawing): Act {
  const { chance, drawn, label } = drawing;
  if (drawn.asking.length === 0) return drawCall(drawing, { capability: 'sign', parameters: {} });
  const asked = recent(chance, drawn.asking);
  const by = chance.is(0.85) ? 'approver' : chance.pick(['alice', 'bob'] as const);
  drawn.approvals.push({ label, asked });
  drawn.ending.push(label);
  return { ...where(drawing), kind: 'approve', by, call: asked.label };
}

export function drawBurst(drawing: Drawing): BurstAct {
  const { chance, drawn, label, services } = drawing;
  const token = recent(chance, drawn.tokens);
  const capability = chance.pick(['pay', 'pay', 'paid_read', 'look']);
  const size = 3 + chance.below(5);
  const acts = Array.from({ length: size }, (_, place): CallAct => {
    return {
      kind: 'call',
      label: `${label}.${place}`,
      at: place % services,
      token,
      capability,
      parameters: {},
    };
  });
  return { ...where(drawing), kind: 'burst', acts };
}
