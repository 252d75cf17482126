/**
 * Signed receipts of a running service, verified from outside: a dropped entry is shown, and no honest service is
 * accused.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { fromHex } from '../../src/domain/wire/hash.ts';
import type { Receipt, SignedReceipt } from '../../src/protocol/invocation.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { calmDesk, machine, seal, sealed } from '../log/support.ts';
import { emptyStore } from '../support/empty-store.ts';
import {
  ALICE,
  OPERATOR,
  type TestOptions,
  type TestService,
  testService,
} from '../support/world.ts';

const SEARCH = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
const OPERATING = { WRIT_CLIENT_CREDENTIAL: OPERATOR };
const MINUTES_MS = 60_000;

type Signed = Receipt & { signed: SignedReceipt };

async function writ(args: string[], env: Record<string, string> = OPERATING) {
  const said: string[] = [];
  const io = {
    out: (text: string) => void said.push(text),
    err: (text: string) => void said.push(text),
  };
  return { status: await main(args, { ...io, env }), said: said.join('') };
}

/** A desk with its keys and its files, which is started again and again on one store. */
function deskOn(store: string) {
  const own = machine();
  const at = (file: string) => join(own.folder, file);
  let exports = 0;

  /** Saves the answer of a call with a signed receipt, and the keys that an auditor has. */
  async function answered(service: TestService, file: string): Promise<string> {
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    const headers = { prefer: 'receipt=signed' };
    const reply = await service.invoke(token, 'search_flights', SEARCH, { headers });
    assert.ok(reply.body.audit.signed, reply.text);
    writeFileSync(at(file), JSON.stringify(reply.body));
    const { body: jwks } = await service.ask('GET', '/.well-known/jwks.json');
    writeFileSync(at('jwks.json'), JSON.stringify(jwks));
    return at(file);
  }
  /** Verifies a receipt by the whole log as it is now, and the keys of an auditor. */
  async function searched(
    service: TestService,
    receipt: string,
    keys = ['--jwks', at('jwks.json')],
  ) {
    exports += 1;
    const log = at(`log-${exports}`);
    const url = service.app.server.listening
      ? undefined
      : await service.app.listen({ host: '127.0.0.1', port: 0 });
    const saved = await writ(['audit', 'export', '--service', url ?? urlOf(service), '--out', log]);
    assert.equal(saved.status, 0, saved.said);
    return writ(['verify', 'receipt', receipt, '--log', log, ...keys]);
  }
  return {
    own,
    at,
    answered,
    searched,
    start: (options: TestOptions = {}) =>
      testService({ definition: calmDesk, keys: own.keys, store, ...options }),
  };
}

function urlOf({ app }: TestService): string {
  const address = app.server.address();
  assert.ok(address && typeof address === 'object');
  return `http://127.0.0.1:${address.port}`;
}

test('writ verify receipt shows an entry that was cut out of the log and sealed over with its key', async () => {
  const file = join(machine().folder, 'desk.db');
  const desk = deskOn(`sqlite:${file}`);
  const before = await desk.start();
  await sealed(before);
  await before.close();
  cpSync(file, `${file}.older`);
  const service = await desk.start();
  const receipt = await desk.answered(service, 'answer.json');
  await service.close();

  // The operator puts back the copy without the entry. No mark remembers what was sealed.
  cpSync(`${file}.older`, file);
  const dishonest = await desk.start();
  await sealed(dishonest);
  const early = await desk.searched(dishonest, receipt);
  await sealed(dishonest);
  const shown = await desk.searched(dishonest, receipt);
  await dishonest.close();

  assert.equal(early.status, 2, early.said);
  assert.match(early.said, /^not checked +receipt .* export it again when it has \d+$/m);
  assert.equal(shown.status, 1, shown.said);
  assert.match(
    shown.said,
    /^FAILED +receipt +dropped: .* was begun after the receipt was signed$/m,
  );

  // The first checkpoint is enough where its date is late enough.
  cpSync(`${file}.older`, file);
  const patient = await desk.start();
  patient.advance(5 * MINUTES_MS);
  await sealed(patient);
  const dated = await desk.searched(patient, receipt);

  assert.equal(dated.status, 1, dated.said);
  assert.match(
    dated.said,
    /^FAILED +receipt +dropped: .* the service promised its entry from .* on$/m,
  );
});

const PLACES = {
  SQLite: async () => `sqlite:${join(machine().folder, 'desk.db')}`,
  PostgreSQL: async () => (await emptyStore()).url,
};

for (const [name, place] of Object.entries(PLACES)) {
  describe(name, () => {
    test('writ verify receipt verifies a signed receipt without the service, and says what that shows', async () => {
      const desk = deskOn(await place());
      const service = await desk.start();
      const receipt = await desk.answered(service, 'answer.json');
      const keys = ['--jwks', desk.at('jwks.json'), '--service-id', calmDesk.id];
      await service.close();

      const signed = await writ(['verify', 'receipt', receipt, '--signed', ...keys]);
      const alone = await writ(['verify', 'receipt', receipt, ...keys]);
      const foreign = ['--jwks', desk.at('jwks.json'), '--service-id', 'hotel-desk'];
      const other = await writ(['verify', 'receipt', receipt, '--signed', ...foreign]);

      assert.equal(signed.status, 0, signed.said);
      assert.match(signed.said, /^ok +promise +signed at .* dated from .* on has its entry$/m);
      assert.match(signed.said, /^Not covered: that the entry is in the log/m);
      assert.equal(alone.status, 2, alone.said);
      assert.match(
        alone.said,
        /^not checked +inclusion +it is signed by the service, and not yet shown/m,
      );
      assert.equal(other.status, 1, other.said);
    });

    test('an honest service that restarts is never shown to have dropped an entry', async () => {
      const desk = deskOn(await place());
      const receipts: string[] = [];
      for (const life of [1, 2, 3]) {
        const service = await desk.start();
        receipts.push(await desk.answered(service, `answer-${life}.json`));
        await service.close();
      }
      const service = await desk.start();
      service.advance(5 * MINUTES_MS);
      const unsealed = await desk.searched(service, receipts[2] as string);
      await sealed(service);

      // The start of this life has sealed everything before it.
      assert.equal(unsealed.status, 0, unsealed.said);
      for (const receipt of receipts) {
        const { status, said } = await desk.searched(service, receipt);
        assert.equal(status, 0, said);
        assert.match(said, /^ok +receipt: signature$/m);
      }
    });

    test('a checkpoint that was under way accuses no service, however long it took', async () => {
      const desk = deskOn(await place());
      const seals = heldTrees();
      const service = await desk.start({ wrap: seals.wrap });
      const isUnderWay = seals.holdNext();
      const sealing = sealed(service);
      await isUnderWay;
      const receipt = await desk.answered(service, 'answer.json');
      service.advance(5 * MINUTES_MS);
      seals.release();
      await sealing;

      const early = await desk.searched(service, receipt);
      await sealed(service);
      const later = await desk.searched(service, receipt);

      assert.equal(early.status, 2, early.said);
      assert.match(
        early.said,
        /^not checked +receipt .* does not have its leaf; the log ends with checkpoint 2;/m,
      );
      assert.equal(later.status, 0, later.said);
    });

    test('every promise is kept while two processes sign and seal at once', async () => {
      const desk = deskOn(await place());
      const pair = [await desk.start(), await desk.start()] as const;
      const [one] = pair;
      const { token } = await one.issue(ALICE, { scope: ['travel.search'] });
      const headers = { prefer: 'receipt=signed' };
      const round = async () => {
        const asked = pair.map((each) => each.invoke(token, 'search_flights', SEARCH, { headers }));
        const seals = pair.map((each) => seal(each));
        const [replies] = await Promise.all([Promise.all(asked), Promise.all(seals)]);
        return replies.map(({ body }) => body.audit as Signed);
      };

      const receipts: Signed[] = [];
      for (let rounds = 0; rounds < 20; rounds++) receipts.push(...(await round()));
      await seal(one);
      await seal(one);
      const checkpoints = await one.store.listCheckpoints(100);

      for (const { leaf_hash, signed } of receipts) {
        const found = await one.store.findLeaf({ leaf_hash: fromHex(leaf_hash) as Uint8Array });
        const bound = checkpoints.filter(({ sequence }) => sequence >= signed.last_checkpoint + 2);
        assert.ok(found && bound.length > 0);
        for (const { size } of bound) assert.ok(found.sequence < size);
      }
    });

    test('a clock that was set back accuses no service', async () => {
      const desk = deskOn(await place());
      const service = await desk.start();
      service.advance(60 * MINUTES_MS);
      await sealed(service);
      service.advance(-60 * MINUTES_MS);
      const receipt = await desk.answered(service, 'answer.json');

      const early = await desk.searched(service, receipt);
      await sealed(service);
      const later = await desk.searched(service, receipt);

      assert.equal(early.status, 2, early.said);
      assert.match(
        early.said,
        /^not checked +receipt .* ends with checkpoint 2; export it again when it has 4$/m,
      );
      assert.equal(later.status, 0, later.said);
    });
  });
}

test('a receipt verifies after its log key was rotated, by the key that was pinned before', async () => {
  const desk = deskOn(await PLACES.SQLite());
  const first = await desk.start();
  const receipt = await desk.answered(first, 'answer.json');
  const { body: jwks } = await first.ask('GET', '/.well-known/jwks.json');
  await first.close();
  const rotated = await writ(['keys', 'rotate', 'log', '--folder', desk.own.keys, '--at-once']);
  const service = await desk.start();
  const newer = await desk.answered(service, 'newer.json');
  await sealed(service);
  const pins = jwks.keys.flatMap(({ kid }: { kid: string }) => ['--pin', kid]);
  const keys = ['--jwks', desk.at('jwks.json'), ...pins];

  assert.equal(rotated.status, 0, rotated.said);
  for (const each of [receipt, newer]) {
    const { status, said } = await desk.searched(service, each, keys);
    assert.equal(status, 0, said);
  }
  const followed = await desk.searched(service, newer, keys);
  assert.match(followed.said, /^ok +receipt: key +"[\w-]+", a successor of the pinned/m);
});

test('writ invoke --signed-receipt prints an answer whose receipt verifies', async () => {
  const desk = deskOn('memory:');
  const service = await desk.start();
  await desk.answered(service, 'first.json');
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
  const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
  const search = ['search_flights', '--parameters', JSON.stringify(SEARCH), '--json'];
  const asked = ['invoke', ...search, '--service', url, '--signed-receipt'];

  const answer = await writ(asked, { WRIT_CLIENT_CREDENTIAL: token });
  writeFileSync(desk.at('answer.json'), answer.said);
  const keys = ['--jwks', desk.at('jwks.json'), '--service-id', calmDesk.id];
  const verified = await writ(['verify', 'receipt', desk.at('answer.json'), '--signed', ...keys]);

  assert.equal(answer.status, 0, answer.said);
  assert.equal(verified.status, 0, verified.said);
});

test('writ verify receipt --signed takes no log and no checkpoint', async () => {
  const ran = await writ(['verify', 'receipt', 'answer.json', 'checkpoint.json', '--signed']);

  assert.equal(ran.status, 2);
  assert.match(ran.said, /--signed verifies the receipt alone/);
});

/** Holds a sealer that has read the tree, until `release` is called. */
function heldTrees() {
  let hold: Promise<void> | undefined;
  let release = () => {};
  let reached: (() => void) | undefined;
  const wrap = (store: Store): Store => ({
    ...store,
    async sequence() {
      const tree = await store.sequence();
      const isHeld = reached;
      reached = undefined;
      isHeld?.();
      if (isHeld) await hold;
      return tree;
    },
  });
  const holdNext = () => {
    hold = new Promise((resolve) => {
      release = () => resolve();
    });
    return new Promise<void>((resolve) => {
      reached = resolve;
    });
  };
  return { wrap, holdNext, release: () => release() };
}
