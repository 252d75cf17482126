import assert from 'node:assert/strict';
import { test } from 'vitest';
import { faultsOf, smallest, travelWith } from '../../../test/support/declarations.ts';
import { type Capability, CapabilityDeclaration } from '../../protocol/capability.ts';
import {
  closedWindow,
  compensationParameters,
  rollbackDigest,
  rollbackNames,
  windowEnd,
} from './compensation.ts';

function capability(inputs: object[], fields: string[] = [], side_effect: object = {}): Capability {
  const declared = CapabilityDeclaration.parse({
    ...smallest(),
    inputs,
    output: { type: 'object', fields },
    side_effect: { type: 'transactional', ...side_effect },
  });
  return { name: 'undo', ...declared };
}

const ID = { name: 'id', type: 'string' };
const REASON = { name: 'reason', type: 'string', required: false };

test('compensationParameters() takes values by equal name from the result, then from the parameters', () => {
  const undo = capability([ID, REASON, { name: 'constructor', type: 'string' }]);

  const sent = compensationParameters(undo, {
    parameters: { id: 'given', reason: 'because', other: 1 },
    output: { id: 'returned' },
  });

  assert.deepEqual(sent, { id: 'returned', reason: 'because' });
});

test('rollbackNames() gives the shared required inputs, or else all shared inputs', () => {
  const hold = capability([REASON], ['id']);

  assert.deepEqual(rollbackNames(hold, capability([REASON, ID])), ['id']);
  assert.deepEqual(rollbackNames(hold, capability([REASON])), ['reason']);
  assert.deepEqual(rollbackNames(hold, capability([{ name: 'else', type: 'string' }])), []);
});

test('rollbackNames() prefers output fields of the call to inputs that its caller chose', () => {
  const hold = capability([{ ...REASON, required: true }], ['id']);
  const undo = capability([
    { ...REASON, required: true },
    { ...ID, required: false },
  ]);

  assert.deepEqual(rollbackNames(hold, undo), ['id']);
});

test('rollbackDigest() is equal only for the call and the compensation that undoes it', () => {
  const made = rollbackDigest(['id'], { id: 'H-1', flight: 'WR 1' });

  assert.equal(rollbackDigest(['id'], { id: 'H-1', reason: 'changed plans' }), made);
  assert.notEqual(rollbackDigest(['id'], { id: 'H-2' }), made);
  assert.notEqual(rollbackDigest(['id'], {}), made);
});

test('windowEnd() counts from the end of the call, where there is a window', () => {
  const now = new Date('2030-01-01T00:00:00Z');
  const undone = { compensation: 'undo', rollback_window: 'PT24H' };

  assert.deepEqual(windowEnd(capability([], [], undone), now), new Date('2030-01-02T00:00:00Z'));
  assert.equal(windowEnd(capability([], [], { compensation: 'undo' }), now), undefined);
  assert.equal(windowEnd(capability([], [], { rollback_window: 'PT24H' }), now), undefined);
});

test('closedWindow() refuses from the exact moment at which the window closes', () => {
  const until = new Date(1_000);

  assert.equal(closedWindow(capability([]), undefined, until), undefined);
  assert.equal(closedWindow(capability([]), until, new Date(999)), undefined);
  assert.equal(closedWindow(capability([]), until, until)?.type, 'rollback_window_closed');
});

test('compositionFaults refuses a compensation that costs money', () => {
  const cost = { certainty: 'fixed', financial: { currency: 'USD', amount: 1 } };

  const found = faultsOf(travelWith('cancel_flight.cost', cost)).map(([, , words]) => words);

  assert.deepEqual(found, ['step "book": "cancel_flight" costs money, and nothing pays it']);
});
