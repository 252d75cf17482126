/**
 * Invocation: results, costs and streams.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { InvokeAnswer } from '../protocol/invocation.ts';
import {
  expectAnswer,
  invoke,
  invokeRefusal,
  OPERATOR_KEY,
  quote,
  ROUTE,
  rootToken,
  type Scenarios,
  success,
  wholeOf,
} from './desk.ts';

const budget = { currency: 'USD', max_amount: 300 };

export const INVOCATION_SCENARIOS: Scenarios = {
  'an agent searches, books by the quote, and has spent what the quote said': async (surface) => {
    const scope = ['travel.search', 'travel.book', 'travel.read'];
    const { token, token_id } = await rootToken(surface, scope, { budget });
    const booked = await success(surface, token, 'book_flight', {
      parameters: { quote: await quote(surface, token), passenger: 'Ann Lee' },
    });
    const view = await expectAnswer(surface, 'tokens.get', { token_id }, token);

    assert.deepEqual(booked.cost_actual, { currency: 'USD', amount: 240 });
    assert.equal(booked.budget_context?.budget_remaining, 60);
    assert.equal(view.budget_spent, 240);
    const { booking_id } = booked.result;
    const found = await success(surface, token, 'get_booking', { parameters: { booking_id } });
    assert.equal(found.result.passenger, 'Ann Lee');
  },

  'an answer repeats the ids that came with the call, and names its entry': async (surface) => {
    const { token } = await rootToken(surface, ['travel.search']);
    const ids = {
      client_reference_id: 'order-7 / ümlaut',
      task_id: 'task-7',
      parent_invocation_id: 'inv-0123456789ab',
      upstream_service: 'hotel-desk',
    };
    const found = await success(surface, token, 'search_flights', { parameters: ROUTE, ...ids });

    assert.deepEqual({ ...found, ...ids }, found);
    assert.match(found.audit?.entry_id ?? '', /^ent_/);
  },

  'a dry run says what would happen, and nothing happens': async (surface) => {
    const { token, token_id } = await rootToken(surface, ['travel.extras'], { budget });
    const request = { capability: 'buy_lounge_pass', parameters: {} };
    const dry = await expectAnswer(surface, 'test', request, token);
    const { budget_spent } = await expectAnswer(surface, 'tokens.get', { token_id }, token);

    assert.equal(dry.would_be_admitted, true);
    assert.deepEqual(dry.resolved_parameters, { airport: 'SFO' });
    assert.equal(dry.cost_check?.amount, 25);
    assert.equal(budget_spent, 0);
  },

  'the same key gets the same answer and has one effect': async (surface) => {
    const { token, token_id } = await rootToken(surface, ['travel.extras'], { budget });
    const fields = { idempotency_key: 'pass-1', parameters: { airport: 'SEA' } };
    const first = await success(surface, token, 'buy_lounge_pass', fields);
    const again = await success(surface, token, 'buy_lounge_pass', fields);
    const stored = await invoke(wholeOf(surface), token, 'buy_lounge_pass', fields);
    const { budget_spent } = await expectAnswer(surface, 'tokens.get', { token_id }, token);

    assert.deepEqual([again, stored.body], [first, { ...first }]);
    assert.equal(stored.headers['idempotent-replayed'], 'true');
    assert.equal(budget_spent, 25);
  },

  'a stream tells of each step and ends with the answer': async (surface) => {
    const { token } = await rootToken(surface, ['travel.read']);
    const fields = { stream: true, parameters: { months: 3 } };
    const { body, events } = await invoke(surface, token, 'export_report', fields);
    const answer = InvokeAnswer.parse(body);

    const steps = events.filter(({ event }) => event === 'progress');
    // As data or in a sentence: the numbers are the same.
    assert.deepEqual(
      steps.map(({ data }) => JSON.stringify(data.progress).match(/\d+/g)),
      [1, 2, 3].map((month) => [`${month}`, '3']),
    );
    assert.ok(answer.success);
    assert.equal(answer.result.months, 3);
    assert.equal(answer.stream_summary?.events_emitted, 5);
    assert.equal(answer.stream_summary?.client_disconnected, false);
  },

  'a stream says that it begins, and each event whose it is': async (surface) => {
    const { token } = await rootToken(surface, ['travel.read']);
    const fields = { stream: true, parameters: { months: 1 }, client_reference_id: 'report' };
    const { body, events } = await invoke(wholeOf(surface), token, 'export_report', fields);
    const { invocation_id } = InvokeAnswer.parse(body);

    assert.deepEqual(
      events.map(({ event }) => event),
      ['started', 'progress'],
    );
    for (const { data } of events) {
      assert.equal(data.invocation_id, invocation_id);
      assert.equal(data.client_reference_id, 'report');
    }
  },

  'a refusal before the handler is not a stream': async (surface) => {
    const { token } = await rootToken(surface, ['travel.search']);
    const { body, events } = await invoke(surface, token, 'export_report', { stream: true });

    assert.equal(body.success, false);
    assert.deepEqual(events, []);
  },

  'a handler that did nothing gives the money back': async (surface) => {
    const { token, token_id } = await rootToken(surface, ['travel.hold'], { budget });
    const parameters = { flight_number: 'KX999' };
    const { detail } = await invokeRefusal(surface, token, 'hold_seat', { parameters });
    const view = await expectAnswer(surface, 'tokens.get', { token_id }, token);

    assert.match(detail, /no flight "KX999"/);
    assert.deepEqual([view.budget_spent, view.budget_reserved], [0, 0]);
  },

  'an operator sees no call of unknown outcome and no notification': async (surface) => {
    const unknown = await expectAnswer(surface, 'operator.indeterminate', {}, OPERATOR_KEY);
    const notices = await expectAnswer(surface, 'operator.deliveries', {}, OPERATOR_KEY);

    assert.deepEqual([unknown.indeterminate, notices.deliveries], [[], []]);
  },
};
