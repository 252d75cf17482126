/**
 * A store that cannot be used: every path of sign-in says so, gives nothing, and no client drops what it has.
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { OutcomeUnknown, type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { testService } from '../support/world.ts';
import { codeFor, READS, redeem, refresh, signedIn } from './attacker.ts';
import { asking, askToken, delegation, personAt } from './browser.ts';

for (const [name, fault] of [
  ['is away', () => new StoreUnavailable('Cannot reach it: a secret of the network')],
  ['does not answer', () => new OutcomeUnknown('Cannot tell: a secret of the network')],
] as const) {
  test(`while the store ${name} sign-in refuses, and afterwards goes on`, async () => {
    let isAway = false;
    const wrap = (store: Store): Store =>
      new Proxy(store, {
        get(target, method) {
          const found = Reflect.get(target, method);
          const isOurs = /session|consent|account/i.test(String(method));
          if (typeof found !== 'function' || !isOurs) return found;
          return (...asked: unknown[]) =>
            isAway ? Promise.reject(fault()) : Reflect.apply(found, target, asked);
        },
      });
    const service = await testService({ wrap });
    const alice = await signedIn(service);
    const given = await delegation(service, READS, { person: alice });
    const coded = await codeFor(alice);
    const stranger = personAt(service);
    const page = await stranger.open('/sign-in');
    isAway = true;

    const pages = [
      await alice.open('/agents'),
      await alice.open(asking().path),
      await stranger.send(page, '/sign-in', { key: 'demo-human-key' }),
    ];
    const answers = [
      await refresh(service, given.refresh),
      await redeem(service, coded),
      await askToken(service, { token: given.refresh }, '/revoke'),
    ];
    for (const { status, text = '', headers } of [...pages, ...answers]) {
      assert.ok(
        status === 503 || (name === 'does not answer' && status === 504),
        `${status} ${text}`,
      );
      assert.doesNotMatch(text, /secret of the network/);
      assert.equal(headers['set-cookie'], undefined);
    }
    for (const { body } of answers) assert.equal(body.error, 'temporarily_unavailable');
    for (const { text } of pages) assert.match(text ?? '', /^<!doctype html>/);

    isAway = false;
    assert.equal((await alice.open('/agents')).status, 200);
    assert.equal((await refresh(service, given.refresh)).status, 200);
    assert.equal((await redeem(service, coded)).status, 200);
  });
}
