/**
 * Secrets of another service stay in the memory of the process: no answer, entry, log line or row shows one.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { personAt } from '../sign-in/browser.ts';
import { temporaryFolder } from '../support/ends.ts';
import { eventually, type Reply } from '../support/world.ts';
import { ANN, back, begun, connect, type Desk, openDesk, tokenOf, use } from './desk.ts';

/** Every answer of the service, as text with its headers. */
function recorded(desk: Desk): string[] {
  const answers: string[] = [];
  const { ask } = desk.service;
  Object.assign(desk.service, {
    ask: async (...asked: Parameters<typeof ask>): Promise<Reply> => {
      const reply = await ask(...asked);
      answers.push(JSON.stringify([reply.headers, reply.text]));
      return reply;
    },
    invoke: (token: string, capability: string, parameters: object = {}, more: object = {}) =>
      desk.service.ask('POST', `/svc/invoke/${capability}`, {
        bearer: token,
        body: { parameters, ...more },
      }),
  });
  return answers;
}

test('a token that a handler hands over is neither answered, logged, streamed nor stored', async () => {
  const folder = temporaryFolder();
  const desk = await openDesk({ store: `sqlite:${join(folder, 'writ.db')}` });
  const answers = recorded(desk);
  const { service, other } = desk;
  const token = await tokenOf(desk);
  const person = personAt(service);
  await person.signIn(ANN);
  await connect(desk, person);
  const careless = async (manner: string, more: object = {}) =>
    (await service.invoke(token, 'careless', { manner }, more as never)).body;

  for (const manner of ['return', 'nest']) {
    const { failure } = await careless(manner, { idempotency_key: `key-${manner}` });
    assert.equal(failure.type, 'internal_error');
    assert.match(failure.detail, /contains the token of a person/);
  }
  assert.equal((await careless('throw')).failure.type, 'internal_error');
  const hidden = (await careless('fail')).failure;
  assert.deepEqual([hidden.type, /Cannot show/.test(hidden.detail)], ['outcome_unknown', true]);
  assert.deepEqual((await careless('log')).result, { done: true });
  assert.equal((await careless('bind')).failure.type, 'internal_error');
  const streamed = await careless('progress', { stream: true });
  assert.match(String(streamed), /internal_error/);
  assert.deepEqual((await careless('twice')).result, { done: true });
  assert.ok(service.log.some((line) => line.includes('a line of a handler is left out')));

  // A renewal, one that is refused with the token in the error, one that is lost, and revocations that fail.
  service.advance(700_000);
  await use(desk, token);
  service.advance(700_000);
  other.behave = (response) =>
    void response.writeHead(500).end(`${other.asked.at(-1)} ${desk.lent.at(-1)}`);
  await use(desk, token);
  other.behave = undefined;
  other.forget();
  await use(desk, token);
  await person.open('/accounts');
  const to = other.agree(await begun(person));
  to.searchParams.set('code', 'wrong');
  await back(person, to);
  await connect(desk, person);
  other.failingRevocations = 9;
  await person.send(await person.open('/accounts'), '/accounts/tracker/disconnect');
  await eventually(() => service.log.some((line) => line.includes('may still be valid elsewhere')));
  const entries = JSON.stringify(await service.entriesBy({}));
  await service.close();

  assert.ok(desk.lent.every((each) => each.includes(other.canary)));
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
  const seen = { answers, log: service.log, entries: [entries], files };
  for (const [where, texts] of Object.entries(seen)) {
    assert.ok(texts.length > 0, where);
    for (const text of texts)
      assert.ok(!text.includes(other.canary), `${where}: ${text.slice(0, 400)}`);
  }
});
