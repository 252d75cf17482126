import assert from 'node:assert/strict';
import { test } from 'vitest';
import { system } from '../../../platform.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../port/store.ts';
import { resolved } from './resolve.ts';

const PATIENT_MS = 10_000;
const unknown = new OutcomeUnknown('lost');
const lose = () => Promise.reject(unknown);

test('resolved() does not ask again when the first attempt was answered', async () => {
  const never = () => assert.fail('asked again');

  assert.equal(await resolved(system, PATIENT_MS, async () => 'first', never), 'first');
  const refused = resolved(
    system,
    PATIENT_MS,
    () => Promise.reject(new StoreUnavailable('full')),
    never,
  );
  await assert.rejects(refused, StoreUnavailable);
});

test('resolved() asks until the store answers', async () => {
  const answers = [lose, () => Promise.reject(new StoreUnavailable('down')), async () => 'again'];

  const result = await resolved(system, PATIENT_MS, lose, () => {
    const next = answers.shift();
    return next ? next() : assert.fail('asked after the answer');
  });

  assert.equal(result, 'again');
  assert.deepEqual(answers, []);
});

test('resolved() passes on a defect that it meets while asking', async () => {
  const defect = new Error('defect');

  await assert.rejects(
    resolved(system, PATIENT_MS, lose, () => Promise.reject(defect)),
    defect,
  );
});

test('resolved() is an unknown outcome when time is up, also while it waits for an answer', async () => {
  await assert.rejects(resolved(system, 150, lose, lose), unknown);
  await assert.rejects(
    resolved(system, 10, lose, () => new Promise(() => {})),
    unknown,
  );
});
