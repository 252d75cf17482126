/**
 * A running service, exported and verified from outside with the command line alone.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { calmDesk, seal, sealed } from '../log/support.ts';
import { temporaryFolder } from '../support/ends.ts';
import { entry } from '../support/fixtures.ts';
import { group } from '../support/missing.ts';
import { AGENT, ALICE, BOB, OPERATOR, STORES, testService } from '../support/world.ts';

interface Ran {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

async function writ(args: string[], env: object = {}, more: object = {}): Promise<Ran> {
  const [out, err]: [string[], string[]] = [[], []];
  const io = {
    out: (text: string) => void out.push(text),
    err: (text: string) => void err.push(text),
  };
  const status = await main(args, { ...io, env: { ...env }, ...more });
  return { status, out: out.join(''), err: err.join('') };
}

const operator = { WRIT_CLIENT_CREDENTIAL: OPERATOR };
const alice = { WRIT_CLIENT_CREDENTIAL: ALICE };

for (const { name, open } of STORES) {
  group(name, async () => {
    const folder = temporaryFolder();
    const at = (file: string) => join(folder, file);

    function save(file: string, value: unknown): string {
      writeFileSync(at(file), typeof value === 'string' ? value : JSON.stringify(value));
      return at(file);
    }

    const database = await open();
    const service = await testService({ store: database.url, definition: calmDesk });
    const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
    const { body: jwks } = await service.ask('GET', '/.well-known/jwks.json');
    const pins = jwks.keys.flatMap(({ kid }: { kid: string }) => ['--pin', kid]);
    save('jwks.json', jwks);

    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    const search = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
    const answer = (await service.invoke(token, 'search_flights', search)).body;
    const { body: listing } = await service.ask('GET', '/svc/checkpoints?limit=1');
    save('first.json', listing);
    save('earlier.json', await sealed(service));
    await service.issue(AGENT, { scope: ['travel.search'] }).catch(() => undefined);
    for (const _ of [1, 2, 3]) await service.invoke(token, 'search_flights', search);
    await service.invoke(token, 'book_flight', {});
    assert.equal((await seal(service)).status, 200);
    // One entry that no checkpoint covers yet.
    await service.invoke(token, 'search_flights', search);
    const saved = await writ(['audit', 'export', '--service', url, '--out', at('log')], operator);

    test('writ audit export saves a whole log for an operator, and writ verify log verifies it', async () => {
      const pinned = await writ(['verify', 'log', at('log'), ...pins]);
      const unpinned = await writ(['verify', 'log', at('log')]);
      const known = await writ(['verify', 'log', at('log'), '--jwks', at('jwks.json')]);

      assert.equal(saved.status, 0, saved.err);
      assert.match(saved.err, /^Saved the whole log: \d+ entries up to checkpoint 3\n$/);
      assert.equal(pinned.status, 0, pinned.out);
      assert.match(pinned.out, /^ok +checkpoint roots +3$/m);
      assert.match(pinned.out, /\nVerified\n$/);
      assert.equal(known.status, 0);
      assert.equal(unpinned.status, 2);
      assert.match(unpinned.out, /^not checked +checkpoint key .*says of itself/m);
      assert.equal(statSync(at('log')).mode & 0o777, 0o600);
      assert.deepEqual(
        readdirSync(folder).filter((file) => /^log./.test(file)),
        [],
      );
    });

    test('writ verify log fails on a file with one changed word', async () => {
      const text = readFileSync(at('log'), 'utf8').replace('"state":"refused"', '"state":"failed"');
      const { status, out } = await writ(['verify', 'log', save('changed', text), ...pins]);

      assert.equal(status, 1);
      assert.match(out, /^FAILED +leaves +entry \d+: "state" is not what its leaf says$/m);
    });

    test("writ audit export saves the caller's own trail for non-operators, with proofs", async () => {
      const saved = await writ(['audit', 'export', '--service', url, '--out', at('trail')], alice);
      const shown = await writ(
        ['audit', 'export', '--service', url, '--out', at('shown'), '--json'],
        alice,
      );
      const verified = await writ(['verify', 'log', at('trail'), '--trail', ...pins]);
      const taken = await writ(['verify', 'log', at('trail'), ...pins]);
      const whole = await writ(
        ['audit', 'export', '--service', url, '--out', at('whole'), '--whole'],
        alice,
      );

      assert.equal(taken.status, 2);
      assert.match(taken.out, /^not checked +whole log +this is a trail/m);
      assert.equal(whole.status, 2);
      assert.match(whole.err, /of \d+ entries the service gave only \d+/);
      assert.match(saved.err, /^Saved your own trail: \d+ entries/);
      assert.equal(saved.out + shown.err, '');
      const { out, extent, entries } = JSON.parse(shown.out);
      assert.deepEqual([out, extent, entries > 0], [at('shown'), 'trail', true]);
      assert.equal(verified.status, 0, verified.out);
      assert.match(verified.out, /^Not covered: whether entries of the trail were left out/m);
    });

    test('writ audit export overwrites no file, and leaves none when it fails', async () => {
      const before = readdirSync(folder).sort();
      const again = await writ(['audit', 'export', '--service', url, '--out', at('log')], operator);
      const wrong = { WRIT_CLIENT_CREDENTIAL: 'nobody' };
      const refused = await writ(['audit', 'export', '--service', url, '--out', at('new')], wrong);

      assert.equal(again.status, 2);
      assert.match(again.err, /already exists/);
      assert.equal(refused.status, 4);
      assert.match(refused.err, /answered 401/);
      assert.deepEqual(readdirSync(folder).sort(), before);
    });

    test('writ verify entry verifies the output of writ audit query', async () => {
      const asked = ['--service', url, '--invocation-id', answer.invocation_id, '--leaf', '--json'];
      const queried = await writ(['audit', 'query', ...asked], alice);
      const entry = save('entry.json', queried.out.trim());
      const verified = await writ(['verify', 'entry', entry, '--service', url, ...pins]);
      const unpinned = await writ(['verify', 'entry', entry, '--service', url]);

      assert.equal(queried.status, 0, queried.err);
      assert.equal(verified.status, 0, verified.out);
      assert.match(verified.out, /^ok +inclusion +place \d+ of \d+$/m);
      assert.equal(unpinned.status, 2);
    });

    test('writ verify receipt finds an entry, and proves by a whole log that one was dropped', async () => {
      const receipt = save('answer.json', answer);
      const lost = save('lost.json', { ...answer.audit, leaf_hash: 'ab'.repeat(32) });

      const present = await writ(['verify', 'receipt', receipt, '--service', url, ...pins]);
      const unknown = await writ(['verify', 'receipt', lost, '--service', url, ...pins]);
      const inLog = await writ(['verify', 'receipt', receipt, '--log', at('log'), ...pins]);
      const against = ['verify', 'receipt', lost, '--log', at('log'), ...pins];
      const dropped = await writ([...against, '--after', at('first.json')]);
      const early = await writ([...against, '--after', at('earlier.json')]);
      const undated = await writ(against);

      assert.equal(present.status, 0, present.out);
      assert.equal(unknown.status, 2);
      assert.match(unknown.out, /^not checked +inclusion +there is no inclusion proof$/m);
      assert.equal(inLog.status, 0, inLog.out);
      assert.equal(dropped.status, 1);
      assert.match(dropped.out, /^FAILED +receipt +dropped: /m);
      assert.equal(early.status, 2);
      assert.match(early.out, /^not checked +receipt .* ends with checkpoint 3; export it again/m);
      assert.equal(undated.status, 2);
    });

    test('writ verify verifies token, manifest, checkpoint and consistency of a running service', async () => {
      const service = ['--service', url, ...pins];
      const ran = await Promise.all([
        writ(['verify', 'token', save('token', token), ...service]),
        writ(['verify', 'manifest', ...service]),
        writ(['verify', 'checkpoint', ...service]),
        writ(['verify', 'consistency', at('earlier.json'), ...service]),
      ]);

      for (const { status, out, err } of ran) assert.equal(status, 0, out + err);
    });

    test('writ verify expects the service that --service names, also of a log and a token', async () => {
      const service = ['--service', url, ...pins];
      const ran = await Promise.all([
        writ(['verify', 'log', at('log'), ...service]),
        writ(['verify', 'token', save('token', token), ...service]),
      ]);
      const other = readFileSync(at('log'), 'utf8').replaceAll('"travel-desk"', '"other-desk"');
      const foreign = await writ(['verify', 'log', save('foreign', other), ...service]);

      for (const { out } of ran) assert.doesNotMatch(out, /none was named/);
      assert.equal(foreign.status, 1, foreign.out);
      assert.match(foreign.out, /^FAILED +header .*other-desk/m);
    });

    test('writ verify grant verifies a grant, and fails when it was changed', async () => {
      const budget = { currency: 'USD', max_amount: 20_000 };
      const charter = await service.issue(ALICE, { scope: ['travel.charter'], budget });
      const parameters = { route: 'SEA-SFO', date: '2026-12-01' };
      const asked = await service.invoke(charter.token, 'charter_jet', parameters);
      const { approval_request_id } = asked.body.failure;
      const decided = { approval_request_id, grant_type: 'one_time' };
      const given = await service.ask('POST', '/svc/approval_grants', {
        bearer: BOB,
        body: decided,
      });
      const grant = save('grant.json', given.body);
      const changed = save('forged.json', { ...given.body, max_uses: 2 });

      const verified = await writ(['verify', 'grant', grant, '--service', url, ...pins]);
      const forged = await writ(['verify', 'grant', changed, '--service', url, ...pins]);

      assert.equal(verified.status, 0, verified.out + verified.err);
      assert.match(verified.out, /^ok +content +"gnt_[0-9a-f]+": "charter_jet" once, by human:/m);
      assert.equal(forged.status, 1);
    });

    test('writ audit query filters and pages, as a table or as JSON lines', async () => {
      const asked = ['audit', 'query', '--service', url];
      const table = await writ([...asked, '--capability', 'book_flight'], operator);
      const none = await writ([...asked, '--capability', 'no_flight'], operator);
      const all = await writ([...asked, '--type', 'all', '--limit', '3', '--json'], operator);
      const operators = await writ([...asked, '--type', 'operator', '--json'], operator);

      assert.match(table.out, /^time +type +capability/);
      assert.match(table.out, /invocation +book_flight +refused +scope_insufficient/);
      assert.deepEqual([none.status, none.out], [0, 'No entries.\n']);
      const entries = all.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      assert.equal(entries.length, 3);
      assert.ok(
        entries.every((each, index) => index === 0 || each.sequence < entries[index - 1].sequence),
      );
      assert.equal(operators.out.trim().split('\n').length, 2);
    });

    const refusals: [name: string, args: string[], env: object, status: number, why: RegExp][] = [
      ['a time that is none', ['--since', 'noon'], alice, 1, /since/],
      [
        'no credential',
        [],
        { WRIT_LOGINS: at('none') },
        4,
        /^Cannot read the log: there is no credential; /,
      ],
      [
        'a credential of nobody',
        [],
        { WRIT_CLIENT_CREDENTIAL: 'x' },
        4,
        /invalid_token|authentication_required/,
      ],
    ];
    for (const [what, args, env, expected, why] of refusals) {
      test(`writ audit query ends with ${expected} for ${what}`, async () => {
        const { status, out, err } = await writ(['audit', 'query', '--service', url, ...args], env);

        assert.equal(status, expected, err);
        assert.match(err, why);
        assert.equal(out, '');
      });
    }

    test('writ audit query --json prints the failure of the service', async () => {
      const asked = ['audit', 'query', '--service', url, '--since', 'noon', '--json'];
      const { status, out } = await writ(asked, alice);

      assert.equal(status, 1);
      assert.equal(JSON.parse(out).failure.type, 'invalid_parameters');
    });

    test('writ audit export saves a log whose pages are shorter than requested', async () => {
      const detail = { text: 'x'.repeat(5_000) };
      const own = { root_principal: 'human:alice@example.com', detail };
      await service.store.append(Array.from({ length: 250 }, () => entry(own)));
      await seal(service);
      const page = await service.ask('POST', '/svc/audit?limit=200&entry_type=all&include=leaf', {
        bearer: OPERATOR,
      });

      const long = await writ(['audit', 'export', '--service', url, '--out', at('long')], operator);
      const queried = await writ(
        ['audit', 'query', '--service', url, '--limit', '250', '--json'],
        alice,
      );
      const verified = await writ(['verify', 'log', at('long'), ...pins]);

      assert.ok(page.body.count < 200, `${page.body.count} entries`);
      assert.equal(long.status, 0, long.err);
      assert.equal(queried.out.trimEnd().split('\n').length, 250);
      assert.equal(verified.status, 0, verified.out);
    });

    test('writ audit query retries when the service names a time', async () => {
      const long = Array.from({ length: 80 }, () =>
        service.ask('POST', '/svc/audit?limit=1000', { bearer: ALICE }),
      );
      const queried = await writ(['audit', 'query', '--service', url, '--limit', '5'], alice);
      const refused = (await Promise.all(long)).filter(({ status }) => status === 503);

      assert.ok(refused.length > 0);
      assert.equal(queried.status, 0, queried.err);
    });
  });
}
