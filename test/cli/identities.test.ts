/**
 * `writ identities` at the store and at a running service, and what a recovery does to identities.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'vitest';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { openStore } from '../../src/storage/open.ts';
import {
  configure,
  FIRST_OPERATOR,
  folder,
  life,
  ownFolder,
  PLACES,
  type Place,
  writ,
} from '../log/restored-desk.ts';
import { closedAtEnd } from '../support/ends.ts';

ownFolder();

const keyIn = (file: string) => readFileSync(file, 'utf8').trim();
const out = (name: string) => join(folder, name);
const OPERATES = ['--scope', 'operator:*', '--scope', 'w.use', '--subject', 'agent:*'];

for (const [name, open] of Object.entries(PLACES)) {
  describe(name, () => {
    let place: Place;

    /** A store that the service has started on once. */
    beforeEach(async () => {
      place = await open();
      await life(place, (desk) => desk.issue());
    });

    const add = (principal: string, file: string, ...more: string[]) =>
      writ(['identities', 'add', principal, '--out', out(file), ...more], place);

    test('writ identities add makes the first operator at the store, who adds the next at the service', async () => {
      configure([]);
      const added = await add('human:ann', 'ann.key', ...OPERATES);

      assert.equal(added.status, 0, added.err);
      assert.match(added.out, /^identity +idn_[0-9a-f]{32}\nprincipal +human:ann\n/);
      assert.match(added.out, /\nscopes +operator:\* w\.use\nsubjects +agent:\*\nclass +default\n/);
      assert.match(added.out, /\nadded +\S+ by service:store-command\nkey +\S+ann\.key\n$/);
      const key = keyIn(out('ann.key'));
      assert.match(key, /^wk_[\w-]{43}$/);
      assert.equal(statSync(out('ann.key')).mode & 0o777, 0o600);
      assert.equal(`${added.out}${added.err}`.includes(key), false);

      await life(place, async ({ url, ask }) => {
        const secrets = { WRIT_CLIENT_CREDENTIAL: key };
        const at = (...args: string[]) => writ([...args, '--service', url], place, secrets);
        const words = ['identities', 'add', 'agent:bot', '--scope', 'w.use', '--json'];
        const next = await at(...words, '--out', out('bot.key'));
        assert.equal(next.status, 0, next.err);
        const bot = JSON.parse(next.out);
        assert.deepEqual([bot.principal, bot.created_by], ['agent:bot', 'human:ann']);
        const issued = await ask('POST', '/svc/tokens', keyIn(out('bot.key')), {
          scope: ['w.use'],
        });
        assert.equal(issued.status, 200);

        const listed = await at('identities', 'list');
        assert.deepEqual(
          listed.out.split('\n').map((line) => line.split(/ +/)[1]),
          ['principal', 'human:ann', 'agent:bot', undefined],
        );
        const removed = await at('identities', 'remove', bot.identity_id);
        assert.equal(removed.status, 0, removed.err);
        assert.match(removed.out, /\nremoved +\S+ by human:ann\n$/);
        assert.match(removed.err, /lives on: see "writ agents list --root-principal agent:bot"/);
        const again = await at('identities', 'remove', bot.identity_id, '--json');
        assert.deepEqual([again.status, JSON.parse(again.out).removed], [1, false]);
        assert.match(again.err, /^Cannot remove the identity: there is no such identity/);
        const after = await ask('POST', '/svc/tokens', keyIn(out('bot.key')), {
          scope: ['w.use'],
        });
        assert.equal(after.status, 401);
        const refused = await at(
          'identities',
          'add',
          'agent:b',
          '--scope',
          'x.y',
          '--out',
          out('b.key'),
          '--json',
        );
        assert.equal(refused.status, 1);
        assert.equal(JSON.parse(refused.out).failure.type, 'not_entitled');
        assert.equal(existsSync(out('b.key')), false);
      });
      const store = closedAtEnd(await openStore(place.url));
      assert.deepEqual((await checkStore(store)).findings, []);
    });

    test('a change at the store counts at once in a service that runs', async () => {
      await life(place, async ({ ask }) => {
        const issue = (file: string) =>
          ask('POST', '/svc/tokens', keyIn(out(file)), { scope: ['w.use'] });
        const { out: text, status } = await add(
          'agent:bot',
          'bot.key',
          '--scope',
          'w.use',
          '--json',
        );
        assert.equal(status, 0);
        assert.equal((await issue('bot.key')).status, 200);

        const { identity_id } = JSON.parse(text);
        const removed = await writ(['identities', 'remove', identity_id, '--json'], place);

        assert.equal(JSON.parse(removed.out).identity.removed_by, 'service:store-command');
        assert.equal((await issue('bot.key')).status, 401);
        const [living, all] = [
          await writ(['identities', 'list', '--json'], place),
          await writ(['identities', 'list', '--json', '--removed'], place),
        ];
        assert.deepEqual([living.out, JSON.parse(all.out).identity_id], ['', identity_id]);
        const shown = await writ(['identities', 'list'], place);
        assert.equal(shown.out, 'The store has no identity.\n');
      });
    });

    test('a rolled-back store gets no identity, and a recovery voids those it has', async () => {
      configure([{ key: 'alice-key', principal: 'human:alice@example.com', scopes: ['w.use'] }]);
      await add('human:ann', 'ann.key', ...OPERATES);
      const gone = JSON.parse(
        (await add('agent:bot', 'bot.key', '--scope', 'w.use', '--json')).out,
      ).identity_id;
      const ann = keyIn(out('ann.key'));
      const seal = (desk: { ask: (...asked: [string, string, string]) => Promise<unknown> }) =>
        desk.ask('POST', '/svc/operator/checkpoints', ann);
      await life(place, seal);
      await place.keep();
      await writ(['identities', 'remove', gone], place);
      await life(place, seal);
      await place.restore();

      const added = await add('human:eve', 'eve.key', '--scope', 'operator:*');
      const withheld = await life(place, ({ ask }) =>
        ask('POST', '/svc/tokens', keyIn(out('bot.key')), { scope: ['w.use'] }),
      );
      const secrets = { WRIT_CLIENT_CREDENTIAL: ann };
      const stranger = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
      const recovered = await writ(['recover', '--accept-loss'], place, secrets);

      assert.deepEqual([added.status, existsSync(out('eve.key'))], [2, false]);
      assert.match(added.err, /^Cannot seal: .*"The log was rolled back"/);
      assert.deepEqual([withheld.status, withheld.body.failure.type], [503, 'service_unavailable']);
      assert.equal(stranger.status, 4);
      assert.equal(recovered.status, 0, recovered.err);
      assert.match(recovered.out, /consent and identity in the store/);
      await life(place, async ({ ask }) => {
        for (const file of ['ann.key', 'bot.key']) {
          const asked = await ask('POST', '/svc/tokens', keyIn(out(file)), { scope: ['w.use'] });
          assert.equal(asked.status, 401, file);
        }
      });
      assert.equal((await add('human:ann', 'ann-2.key', ...OPERATES)).status, 0);
      await life(place, async ({ ask }) => {
        const asked = await ask('POST', '/svc/tokens', keyIn(out('ann-2.key')), {
          scope: ['w.use'],
        });
        assert.equal(asked.status, 200);
      });
      const store = closedAtEnd(await openStore(place.url));
      assert.deepEqual((await checkStore(store)).findings, []);
    });
  });
}

/** What people get wrong. Nothing is added, and one line says why. */
test('writ identities says in one line what is wrong, and adds nothing', async () => {
  const place = await (PLACES.SQLite as () => Promise<Place>)();
  const noStore = await writ(['identities', 'add', 'human:x', '--out', out('x.key')], place);
  assert.equal(noStore.status, 2);
  assert.match(noStore.err, /^Cannot open the store: there is no store/);
  await life(place, (desk) => desk.issue());
  writeFileSync(out('taken.key'), 'mine');
  const wrong: [args: string[], status: number, message: RegExp][] = [
    [['add', 'human:x', '--out', out('taken.key')], 2, /it exists already/],
    [['add', 'human:x'], 2, /--out/],
    [['add', '--out', out('x.key')], 2, /principal/],
    [['add', 'bob', '--out', out('x.key')], 2, /principal: expected "human:"/],
    [['add', 'human:x', '--scope', '*', '--out', out('x.key')], 2, /neither a scope nor a pattern/],
    [['add', 'human:x', '--scope', 'a b', '--out', out('x.key')], 2, /scopes\.0: expected scope/],
    [['add', 'human:x', '--subject', '*', '--out', out('x.key')], 2, /pattern with one "\*"/],
    [['add', 'human:x', '--caller-class', 'X', '--out', out('x.key')], 2, /lower-case word/],
    [['add', 'human:\u001b[2Jx', '--out', out('x.key')], 2, /principal: expected/],
    [['remove', 'ann'], 2, /expected an identity id/],
    [['remove', `idn_${'0'.repeat(32)}`], 1, /there is no such identity/],
    [['list', '--service', 'http://127.0.0.1:9'], 4, /there is no credential/],
  ];
  for (const [args, status, message] of wrong) {
    const ran = await writ(['identities', ...args], place);
    assert.equal(ran.status, status, `${args.join(' ')}: ${ran.err}`);
    assert.match(ran.err, message);
    assert.equal(ran.err.trim().split('\n').length, 1, ran.err);
  }
  assert.equal(readFileSync(out('taken.key'), 'utf8'), 'mine');
  assert.equal(existsSync(out('x.key')), false);
  assert.equal((await writ(['identities', 'list'], place)).out, 'The store has no identity.\n');
});
