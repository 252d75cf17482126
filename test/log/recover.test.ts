/**
 * A store that was put back, over a real socket: the service acts on nothing until an operator has
 * decided, and afterwards both histories verify, each under its own log.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { ORIGIN_SPAN } from '../../src/domain/origin.ts';
import { type RunningService, serve } from '../../src/http/serve.ts';
import { createLog } from '../../src/log.ts';
import { defineCapability } from '../../src/service/define.ts';
import { createService } from '../../src/service/definition.ts';
import { checkStore } from '../../src/storage/fsck.ts';
import { openStore } from '../../src/storage/open.ts';
import { copyOf, freshDatabase } from '../postgres.ts';

let calls = 0;
const definition = createService({
  id: 'recovered-desk',
  trust: { level: 'anchored', anchoring: { cadence: 'P1D' } },
  capabilities: [
    defineCapability({
      name: 'look',
      description: 'Reads, and counts that it did',
      side_effect: 'read',
      minimum_scope: ['w.use'],
      handler: () => ({ calls: ++calls }),
    }),
    defineCapability({
      name: 'act',
      description: 'Acts, and counts that it did',
      side_effect: 'write',
      minimum_scope: ['w.use'],
      approval: {
        when: 'always',
        grant_policy: {
          allowed_grant_types: ['one_time'],
          default_grant_type: 'one_time',
          expires_in_seconds: 900,
          max_uses: 1,
        },
      },
      handler: () => ({ calls: ++calls }),
    }),
  ],
});

const IDENTITIES = [
  { key: 'alice-key', principal: 'human:alice@example.com', scopes: ['w.use'] },
  { key: 'first-key', principal: 'service:first', scopes: ['operator:*'] },
];
const SECOND = { key: 'second-key', principal: 'service:second', scopes: ['operator:recover'] };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'writ-recover-'));
  configure(IDENTITIES);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function configure(identities: readonly object[]): void {
  writeFileSync(join(folder, 'writ.config.json'), JSON.stringify({ identities }));
}

interface Place {
  url: string;
  /** Keeps a copy of the store as it is now. */
  keep(): Promise<void>;
  /** Puts the copy back. */
  restore(): Promise<void>;
  drop(): Promise<void>;
}

const PLACES: Record<string, () => Promise<Place>> = {
  SQLite: async () => ({
    url: `sqlite:${join(folder, 'data/writ.db')}`,
    keep: async () => cpSync(join(folder, 'data'), join(folder, 'copy'), { recursive: true }),
    restore: async () => {
      rmSync(join(folder, 'data'), { recursive: true });
      cpSync(join(folder, 'copy'), join(folder, 'data'), { recursive: true });
    },
    drop: async () => undefined,
  }),
  PostgreSQL: async () => {
    const database = await freshDatabase();
    const copies: { url: string; drop(): Promise<void> }[] = [];
    const place: Place = {
      url: database.url,
      keep: async () => void copies.push(await copyOf(place.url)),
      restore: async () => {
        const copy = await copyOf(copies[0]?.url ?? '');
        copies.push(copy);
        place.url = copy.url;
      },
      drop: async () => {
        await database.drop();
        for (const copy of copies) await copy.drop();
      },
    };
    return place;
  },
};

function environment({ url }: Place): Record<string, string> {
  return {
    WRIT_CONFIG: join(folder, 'writ.config.json'),
    ...{ WRIT_STORE: url, WRIT_DATA: join(folder, 'data'), WRIT_MARK: join(folder, 'mark.db') },
  };
}

/** One life of the service, on a port of its own. */
async function life<Result>(place: Place, run: (desk: Desk) => Promise<Result>): Promise<Result> {
  const service = await serve(definition, {
    settings: { port: 0 },
    environment: environment(place),
    folder,
    signals: false,
    log: createLog('silent'),
  });
  try {
    return await run(deskAt(service));
  } finally {
    await service.close();
  }
}

type Desk = ReturnType<typeof deskAt>;

function deskAt({ url }: RunningService) {
  const ask = async (method: string, path: string, bearer?: string, body?: object) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(bearer && { authorization: `Bearer ${bearer}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
    return { status: response.status, body: (await response.json()) as any };
  };
  return {
    url,
    ask,
    issue: async () => {
      const { body } = await ask('POST', '/svc/tokens', 'alice-key', { scope: ['w.use'] });
      return body.token as string;
    },
    invoke: (token: string, name: string, more: object = {}) =>
      ask('POST', `/svc/invoke/${name}`, token, { parameters: {}, ...more }),
    seal: async () => {
      const { body } = await ask('POST', '/svc/operator/checkpoints', 'first-key');
      return (await ask('GET', `/svc/checkpoints/${body.checkpoint.checkpoint_id}`)).body;
    },
  };
}

async function writ(args: string[], place: Place, secrets: Record<string, string> = {}) {
  const said = { out: '', err: '' };
  const status = await main(args, {
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    env: { ...environment(place), ...secrets },
  });
  return { status, ...said };
}

const FIRST_OPERATOR = { WRIT_CLIENT_CREDENTIAL: 'first-key' };

/** A store with a token, a pending request and a seal; a copy of it; and a longer life after that. */
async function rolledBack(place: Place) {
  const before = await life(place, async (desk) => {
    const token = await desk.issue();
    assert.equal((await desk.invoke(token, 'look')).status, 200);
    assert.equal((await desk.invoke(token, 'act')).body.failure.type, 'approval_required');
    return { token, checkpoint: await desk.seal() };
  });
  await place.keep();
  const lost = await life(place, async (desk) => {
    for (let i = 0; i < 3; i++) await desk.invoke(before.token, 'look');
    return desk.seal();
  });
  await place.restore();
  return { ...before, lost };
}

for (const [name, open] of Object.entries(PLACES)) {
  describe(name, () => {
    let place: Place;
    beforeEach(async () => {
      place = await open();
    });
    afterEach(() => place.drop());

    test('a service on a restored store is not ready, runs no handler and signs nothing', async () => {
      const { token, lost } = await rolledBack(place);
      const before = calls;

      await life(place, async (desk) => {
        const ready = await desk.ask('GET', '/readyz');
        const refusals = [await desk.invoke(token, 'look'), await desk.invoke(token, 'act')];
        const trail = await desk.ask('POST', '/svc/audit?entry_type=all', token);
        const list = await desk.ask('GET', '/svc/checkpoints');

        assert.equal(ready.status, 503);
        assert.match(ready.body.reasons.join(), /"The log was rolled back"/);
        for (const { status, body } of refusals) {
          assert.deepEqual([status, body.failure.type], [503, 'service_unavailable']);
          assert.match(body.failure.detail, /docs\/operating\.md, "When nothing is appended/);
          assert.ok(body.invocation_id);
        }
        assert.equal(calls, before);
        assert.equal(trail.status, 200);
        assert.ok(trail.body.entries.length >= 3);
        assert.equal((await desk.ask('GET', '/svc/manifest')).status, 200);
        assert.ok(
          list.body.checkpoints.every(
            (each: { checkpoint_id: string }) => each.checkpoint_id !== lost.checkpoint_id,
          ),
        );
      });
    });

    test('writ recover --accept-loss begins a new log, voids what was, and keeps old proofs good', async () => {
      const { token, checkpoint, lost } = await rolledBack(place);

      const recovered = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
      const again = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);

      assert.equal(recovered.status, 0, recovered.err);
      assert.equal(again.status, 2);
      assert.match(again.err, /nothing is lost/);
      await life(place, async (desk) => {
        assert.equal((await desk.ask('GET', '/readyz')).status, 200);
        const voided = await desk.invoke(token, 'look');
        assert.equal(voided.status, 401);
        assert.match(voided.body.failure.detail, /revoked/);
        const fresh = await desk.issue();
        assert.equal((await desk.invoke(fresh, 'look')).status, 200);
        const next = await desk.seal();
        const audit = await desk.ask('POST', '/svc/audit?entry_type=operator', 'first-key');
        const first = audit.body.entries.find(
          (each: { sequence: number }) => each.sequence === ORIGIN_SPAN,
        );
        assert.deepEqual(first.detail.lost, {
          checkpoint_id: lost.checkpoint_id,
          checkpoint: lost.sequence,
          entry_count: lost.entry_count,
          merkle_root: lost.merkle_root,
        });
        assert.ok(first.detail.surviving.entry_count >= checkpoint.entry_count);
        assert.ok(next.sequence > ORIGIN_SPAN);
        assert.notEqual(next.tree_head.split('\n')[0], checkpoint.tree_head.split('\n')[0]);

        const old = `/svc/checkpoints/${checkpoint.checkpoint_id}`;
        const proved = await desk.ask('GET', `${old}?include_proof=true&leaf_index=0`);
        assert.equal(proved.body.tree_head, checkpoint.tree_head);
        const other = await desk.ask(
          'GET',
          `/svc/checkpoints/${next.checkpoint_id}?consistency_from=${checkpoint.checkpoint_id}`,
        );
        assert.match(other.body.failure.detail, /a log that an operator has ended/);
        await verifiedOffline(desk, place);
      });
      const store = await openStore(place.url);
      assert.deepEqual((await checkStore(store)).findings, []);
      await store.close();
    });

    test('pending requests, grants and keys of before the break are void', async () => {
      await rolledBack(place);
      await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);

      const store = await openStore(place.url);
      const requests = await store.listApprovals({ now: store.now(), limit: 9 });
      assert.deepEqual(
        requests.map(({ status }) => status),
        ['denied'],
      );
      assert.deepEqual(await store.livingRoots(store.now(), '', 9), []);
      await store.close();
    });

    test('a copy of before the break is refused afterwards, however long it is', async () => {
      await rolledBack(place);
      await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
      await place.restore();

      await life(place, async (desk) => {
        const { body } = await desk.ask('GET', '/readyz');
        assert.match(body.reasons.join(), /an operator has ended this log/);
      });
    });

    test('services that run meanwhile notice the new log', async () => {
      await rolledBack(place);

      await life(place, async (desk) => {
        assert.equal((await desk.ask('GET', '/readyz')).status, 503);
        const recovered = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
        assert.equal(recovered.status, 0, recovered.err);
        for (let waits = 0; waits < 200; waits++) {
          if ((await desk.ask('GET', '/readyz')).status === 200) break;
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        const fresh = await desk.issue();
        assert.equal((await desk.invoke(fresh, 'look')).status, 200);
        assert.ok((await desk.seal()).sequence > ORIGIN_SPAN);
      });
    });

    test('a lost mark needs an operator once, who leaves an entry', async () => {
      await life(place, async (desk) => {
        await desk.issue();
        await desk.seal();
      });
      for (const part of ['', '-wal', '-shm'])
        rmSync(join(folder, `mark.db${part}`), { force: true });
      await life(place, async (desk) => {
        const { status, body } = await desk.ask('GET', '/readyz');
        assert.equal(status, 503);
        assert.match(body.reasons.join(), /entries and no mark.*"The mark is missing"/);
      });
      const wrong = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
      const accepted = await writ(['recover', '--accept-missing-mark'], place, FIRST_OPERATOR);

      assert.equal(wrong.status, 2);
      assert.equal(accepted.status, 0, accepted.err);
      await life(place, async (desk) => {
        assert.equal((await desk.ask('GET', '/readyz')).status, 200);
        const { body } = await desk.ask('POST', '/svc/audit?entry_type=operator', 'first-key');
        assert.equal(body.entries[0].detail.accepted, 'missing_mark');
        assert.ok((await desk.seal()).sequence < ORIGIN_SPAN);
      });
    });
  });
}

/** The whole log, exported and verified without the service: each log by itself, and the loss named. */
async function verifiedOffline({ url }: Desk, place: Place): Promise<void> {
  const out = join(folder, 'log.jsonl');
  const exported = await writ(
    ['audit', 'export', '--service', url, '--out', out, '--whole'],
    place,
    FIRST_OPERATOR,
  );
  assert.equal(exported.status, 0, exported.err);
  const verified = await writ(['verify', 'log', out, '--json'], place);
  const { verdict, checks } = JSON.parse(verified.out);
  const named = (what: string) => checks.find((each: { what: string }) => each.what === what);
  assert.equal(verdict, 'incomplete', verified.out);
  assert.equal(named('breaks').outcome, 'ok');
  assert.match(named('lost entries').detail, /entries were signed by checkpoint \d+ before/);
  assert.equal(named('checkpoint roots').outcome, 'ok');

  const lines = readFileSync(out, 'utf8').split('\n');
  const cut = lines.findIndex((line) => line.includes(`"sequence":${ORIGIN_SPAN},`));
  const forged = [...lines.slice(0, cut - 1), ...lines.slice(cut)];
  writeFileSync(out, forged.join('\n'));
  const refused = await writ(['verify', 'log', out, '--json'], place);
  assert.equal(
    JSON.parse(refused.out).verdict,
    'failed',
    'an entry before the break was taken out',
  );
}

test('writ recover asks for a second operator where the configuration has two', async () => {
  configure([...IDENTITIES, SECOND]);
  const place = await (PLACES.SQLite as () => Promise<Place>)();
  await rolledBack(place);
  const both = { ...FIRST_OPERATOR, WRIT_CLIENT_SECOND_CREDENTIAL: 'second-key' };
  const twice = { ...FIRST_OPERATOR, WRIT_CLIENT_SECOND_CREDENTIAL: 'first-key' };
  const args = ['recover', '--accept-loss'];

  const none = await writ(args, place);
  const stranger = await writ(args, place, { WRIT_CLIENT_CREDENTIAL: 'alice-key' });
  const alone = await writ(args, place, FIRST_OPERATOR);
  const same = await writ(args, place, twice);
  const agreed = await writ(args, place, both);

  assert.match(none.err, /there is no credential/);
  assert.match(stranger.err, /of no identity with the scope "operator:recover"/);
  assert.match(alone.err, /names 2 operators, so two must agree/);
  assert.match(same.err, /both credentials are those of service:first/);
  assert.equal(agreed.status, 0, agreed.err);
  await life(place, async (desk) => {
    const { body } = await desk.ask('POST', '/svc/audit?entry_type=operator', 'first-key');
    const [entry] = body.entries.filter(
      (each: { sequence: number }) => each.sequence === ORIGIN_SPAN,
    );
    assert.equal(entry.detail.confirmed_by, 'service:second');
  });
});
