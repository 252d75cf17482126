/**
 * Invocation: results, costs and streams.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { InvokeAnswer } from '../protocol/invocation.ts';
import { OPERATOR_KEY, ROUTE, type Scenarios, wholeOf } from './desk.ts';

const budget = { currency: 'USD', max_amount: 300 };

export const INVOCATION_SCENARIOS: Scenarios = {
  'an agent searches, books by the quote, and has spent what the quote said': async (desk) => {
    const scope = ['travel.search', 'travel.book', 'travel.read'];
    const { token, token_id } = await desk.rootToken(scope, { budget });
    const { result } = await desk.success(token, 'search_flights', { parameters: ROUTE });
    const { quote } = result.cheapest_flight as { quote: string };
    const parameters = { quote, passenger: 'Ann Lee' };
    const booked = await desk.success(token, 'book_flight', { parameters });
    const view = await desk.answer('tokens.get', { token_id }, token);

    assert.deepEqual(booked.cost_actual, { currency: 'USD', amount: 240 });
    assert.equal(booked.budget_context?.budget_remaining, 60);
    assert.equal(view.budget_spent, 240);
    const { booking_id } = booked.result;
    const found = await desk.success(token, 'get_booking', { parameters: { booking_id } });
    assert.equal(found.result.passenger, 'Ann Lee');
  },

  'an answer repeats the ids that came with the call, and names its entry': async (desk) => {
    const { token } = await desk.rootToken(['travel.search']);
    const ids = {
      client_reference_id: 'order-7 / ümlaut',
      task_id: 'task-7',
      parent_invocation_id: 'inv-0123456789ab',
      upstream_service: 'hotel-desk',
    };
    const found = await desk.success(token, 'search_flights', { parameters: ROUTE, ...ids });

    assert.deepEqual({ ...found, ...ids }, found);
    assert.match(found.audit?.entry_id ?? '', /^ent_/);
  },

  'a dry run says what would happen, and nothing happens': async (desk) => {
    const { token, token_id } = await desk.rootToken(['travel.extras'], { budget });
    const request = { capability: 'buy_lounge_pass', parameters: {} };
    const dry = await desk.answer('test', request, token);
    const { budget_spent } = await desk.answer('tokens.get', { token_id }, token);

    assert.equal(dry.would_be_admitted, true);
    assert.deepEqual(dry.resolved_parameters, { airport: 'SFO' });
    assert.equal(dry.cost_check?.amount, 25);
    assert.equal(budget_spent, 0);
  },

  'the same key gets the same answer and has one effect': async (desk) => {
    const { token, token_id } = await desk.rootToken(['travel.extras'], { budget });
    const fields = { idempotency_key: 'pass-1', parameters: { airport: 'SEA' } };
    const first = await desk.success(token, 'buy_lounge_pass', fields);
    const again = await desk.success(token, 'buy_lounge_pass', fields);
    const stored = await wholeOf(desk).invoke(token, 'buy_lounge_pass', fields);
    const { budget_spent } = await desk.answer('tokens.get', { token_id }, token);

    assert.deepEqual([again, stored.body], [first, { ...first }]);
    assert.equal(stored.headers['idempotent-replayed'], 'true');
    assert.equal(budget_spent, 25);
  },

  'a stream tells of each step and ends with the answer': async (desk) => {
    const { token } = await desk.rootToken(['travel.read']);
    const fields = { stream: true, parameters: { months: 3 } };
    const { body, events } = await desk.invoke(token, 'export_report', fields);
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

  'a stream says that it begins, and each event whose it is': async (desk) => {
    const { token } = await desk.rootToken(['travel.read']);
    const fields = { stream: true, parameters: { months: 1 }, client_reference_id: 'report' };
    const { body, events } = await wholeOf(desk).invoke(token, 'export_report', fields);
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

  'a refusal before the handler is not a stream': async (desk) => {
    const { token } = await desk.rootToken(['travel.search']);
    const { body, events } = await desk.invoke(token, 'export_report', { stream: true });

    assert.equal(body.success, false);
    assert.deepEqual(events, []);
  },

  'a handler that did nothing gives the money back': async (desk) => {
    const { token, token_id } = await desk.rootToken(['travel.hold'], { budget });
    const parameters = { flight_number: 'KX999' };
    const { detail } = await desk.refused(token, 'hold_seat', { parameters });
    const view = await desk.answer('tokens.get', { token_id }, token);

    assert.match(detail, /no flight "KX999"/);
    assert.deepEqual([view.budget_spent, view.budget_reserved], [0, 0]);
  },

  'an operator sees no call of unknown outcome and no notification': async (desk) => {
    const unknown = await desk.answer('operator.indeterminate', {}, OPERATOR_KEY);
    const notices = await desk.answer('operator.deliveries', {}, OPERATOR_KEY);

    assert.deepEqual([unknown.indeterminate, notices.deliveries], [[], []]);
  },
};
