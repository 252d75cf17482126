/**
 * A store that was put back, over a real socket: the service acts on nothing until an operator has
 * decided, and afterwards both histories verify, each under its own log.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'vitest';
import { ORIGIN_SPAN } from '../../src/domain/log/origin.ts';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { openStore } from '../../src/storage/open.ts';
import { closedAtEnd } from '../support/ends.ts';
import { eventually } from '../support/world.ts';
import {
  calls,
  type Desk,
  FIRST_OPERATOR,
  folder,
  life,
  ownFolder,
  PLACES,
  type Place,
  rolledBack,
  writ,
} from './restored-desk.ts';

ownFolder();

for (const [name, open] of Object.entries(PLACES)) {
  describe(name, () => {
    let place: Place;
    beforeEach(async () => {
      place = await open();
    });

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

    test('writ recover --accept-loss starts a new log, voids old authority, and keeps old proofs valid', async () => {
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
      const store = closedAtEnd(await openStore(place.url));
      assert.deepEqual((await checkStore(store)).findings, []);
    });

    test('pending requests, grants and keys from before the break are void', async () => {
      await rolledBack(place);
      await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);

      const store = closedAtEnd(await openStore(place.url));
      const { requests } = await store.listApprovals({ now: store.now(), limit: 9 });
      assert.deepEqual(
        requests.map(({ status }) => status),
        ['denied', 'approved'],
      );
      const { grant } = await store.load({ tokenId: '', grantId: requests[1]?.grant_id });
      assert.equal(grant?.uses, grant?.max_uses);
      assert.deepEqual(await store.unrevokedRoots('', 9), []);
    });

    test('a root token whose expiry and budget were edited is revoked like every other', async () => {
      await rolledBack(place);
      await place.edit('UPDATE tokens SET expires_at = issued_at');
      await place.edit("INSERT INTO budgets SELECT token_id, 'USA', 9, 0, 0 FROM tokens");

      const recovered = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);

      assert.equal(recovered.status, 0, recovered.err);
      const store = closedAtEnd(await openStore(place.url));
      const { entries } = await store.queryEntries({ entryType: 'revocation', limit: 9 });
      assert.equal(entries.length, 1);
      assert.deepEqual(await store.unrevokedRoots('', 9), []);
    });

    test('a root token whose revocation lost its time does not block recovery', async () => {
      await rolledBack(place);
      await place.edit("UPDATE tokens SET revoked_mac = 'key.AAAA'");

      const recovered = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);

      assert.equal(recovered.status, 0, recovered.err);
    });

    test('a pending request whose row was edited is denied like every other', async () => {
      await rolledBack(place);
      await place.edit("UPDATE approval_requests SET subject = 'agent:evil'");

      const recovered = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);

      assert.equal(recovered.status, 0, recovered.err);
      const store = closedAtEnd(await openStore(place.url));
      const { requests } = await store.listApprovals({ now: store.now(), limit: 9 });
      assert.deepEqual(
        requests.map(({ status }) => status),
        ['denied', 'approved'],
      );
    });

    test('rows that are restored after the break stay void, and fsck names them', async () => {
      const { token } = await rolledBack(place);
      // Neither a revocation nor an expiry that is made up hides a row from the recovery for good.
      await place.edit('UPDATE tokens SET revoked_at = issued_at');
      await place.edit(
        "UPDATE approval_requests SET expires_at = created_at WHERE status = 'pending'",
      );
      const recovered = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
      assert.equal(recovered.status, 0, recovered.err);
      await place.edit('UPDATE tokens SET revoked_at = NULL, revoked_mac = NULL');
      await place.edit('UPDATE grants SET uses = 0');
      await place.edit(
        `UPDATE approval_requests SET status = 'pending', decided_at = NULL, decided_by = NULL,
           reason = NULL, expires_at = (SELECT max(expires_at) FROM approval_requests)
         WHERE grant_id IS NULL`,
      );

      await life(place, async (desk) => {
        const used = await desk.invoke(token, 'look');
        const made = await desk.ask('POST', '/svc/tokens', token, { scope: ['w.use'] });
        const fresh = await desk.issue();
        const { body: pending } = await desk.ask('GET', '/svc/approval_requests', 'bob-key');

        assert.deepEqual([used.status, used.body.failure.type], [401, 'invalid_token']);
        assert.match(used.body.failure.detail, /revoked/);
        assert.equal(made.status, 401);
        assert.deepEqual(
          pending.approval_requests.filter((each: { status: string }) => each.status === 'pending'),
          [],
        );
        assert.equal((await desk.invoke(fresh, 'look')).status, 200);
      });
      const store = await openStore(place.url);
      const { findings } = await checkStore(store);
      await store.close();
      const told = findings.map(({ what, detail }) => `${what}: ${detail}`).join('\n');
      assert.match(told, /^token: it is not revoked, and an operator has voided it$/m);
      assert.match(told, /^request: it is pending, and an operator has voided it$/m);
      assert.match(told, /^grant: it has uses left, and an operator has voided it$/m);
    });

    test('a copy from before the break is refused afterwards, at any length', async () => {
      await rolledBack(place);
      await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
      await place.restore();

      await life(place, async (desk) => {
        const { body } = await desk.ask('GET', '/readyz');
        assert.match(body.reasons.join(), /an operator has ended this log/);
      });
    });

    test('the mark detects a deleted store, and the next log repeats no number', async () => {
      const { checkpoint } = await life(place, async (desk) => {
        await desk.issue();
        return { checkpoint: await desk.seal() };
      });
      await place.remove();

      await life(place, async (desk) => {
        const ready = await desk.ask('GET', '/readyz');
        assert.equal(ready.status, 503);
        assert.match(
          ready.body.reasons.join(),
          /signed over 2 entries of log .*, and the database has none of them; .*"The log was rolled back"/,
        );
        const issued = await desk.ask('POST', '/svc/tokens', 'alice-key', { scope: ['w.use'] });
        assert.equal(issued.body.failure.type, 'service_unavailable');
        assert.deepEqual((await desk.ask('GET', '/svc/checkpoints')).body.checkpoints, []);
      });
      const checked = await writ(['fsck', '--keys', join(folder, 'data/keys')], place);
      assert.equal(checked.status, 1);
      assert.match(checked.out, /^mark \d+: it covers 2 entries of log .* has none of them$/m);
      const recovered = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);

      assert.equal(recovered.status, 0, recovered.err);
      await life(place, async (desk) => {
        assert.equal((await desk.ask('GET', '/readyz')).status, 200);
        await desk.issue();
        const next = await desk.seal();
        assert.ok(next.sequence > ORIGIN_SPAN && checkpoint.sequence < ORIGIN_SPAN);
        const { body } = await desk.ask('POST', '/svc/audit?entry_type=operator', 'first-key');
        const { lost } = body.entries.at(-1).detail;
        assert.equal(lost.checkpoint_id, checkpoint.checkpoint_id);
      });
      const store = closedAtEnd(await openStore(place.url));
      assert.deepEqual((await checkStore(store)).findings, []);
    });

    test('the newest copy of a deleted store is refused once its loss is accepted', async () => {
      const { token, asked } = await life(place, async (desk) => {
        const token = await desk.issue();
        const waiting = await desk.invoke(token, 'act');
        await desk.seal();
        return { token, asked: waiting.body.failure.approval_request_id };
      });
      await place.keep();
      await place.remove();
      await life(place, async () => undefined);
      const recovered = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
      assert.equal(recovered.status, 0, recovered.err);
      await life(place, async (desk) => {
        await desk.issue();
        await desk.seal();
      });
      await place.restore();
      const before = calls;

      await life(place, async (desk) => {
        const ready = await desk.ask('GET', '/readyz');
        const used = await desk.invoke(token, 'look');
        const decision = { approval_request_id: asked, grant_type: 'one_time' };
        const decided = await desk.ask('POST', '/svc/approval_grants', 'bob-key', decision);
        assert.match(ready.body.reasons.join(), /an operator has ended this log/);
        assert.deepEqual([ready.status, used.status, decided.status], [503, 503, 503]);
        assert.equal(calls, before);
      });
      const again = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
      const checked = await writ(['fsck', '--mark', join(folder, 'mark.db')], place);
      assert.equal(again.status, 2);
      assert.match(again.err, /a copy of a log that an operator ended/);
      assert.equal(checked.status, 1, checked.out);
    });

    test('every deletion of a store is recovered at once, with numbers above all that were signed', async () => {
      const numbers: number[] = [];
      const sealed = () =>
        life(place, async (desk) => {
          assert.equal((await desk.ask('GET', '/readyz')).status, 200);
          await desk.issue();
          numbers.push((await desk.seal()).sequence);
        });
      await sealed();

      for (let deletions = 0; deletions < 2; deletions++) {
        await place.remove();
        const unready = await life(place, (desk) => desk.ask('GET', '/readyz'));
        assert.equal(unready.status, 503);
        const recovered = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
        assert.equal(recovered.status, 0, recovered.err);
        await sealed();
      }

      assert.deepEqual(
        numbers.map((number) => Math.floor(number / ORIGIN_SPAN)),
        [0, 1, 2],
      );
    });

    test('a store and keys that were deleted together start anew, without confirmation', async () => {
      await life(place, async (desk) => {
        await desk.issue();
        await desk.seal();
      });
      await place.remove();
      rmSync(join(folder, 'data'), { recursive: true, force: true });

      await life(place, async (desk) => {
        assert.equal((await desk.ask('GET', '/readyz')).status, 200);
        await desk.issue();
        assert.ok((await desk.seal()).sequence < ORIGIN_SPAN);
      });
    });

    test('running services notice the new log', async () => {
      await rolledBack(place);

      await life(place, async (desk) => {
        assert.equal((await desk.ask('GET', '/readyz')).status, 503);
        const recovered = await writ(['recover', '--accept-loss'], place, FIRST_OPERATOR);
        assert.equal(recovered.status, 0, recovered.err);
        await eventually(async () => (await desk.ask('GET', '/readyz')).status === 200);
        const fresh = await desk.issue();
        assert.equal((await desk.invoke(fresh, 'look')).status, 200);
        assert.ok((await desk.seal()).sequence > ORIGIN_SPAN);
      });
    });

    test('a lost mark needs an operator once, and the decision is recorded', async () => {
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
  assert.match(
    named('lost entries').detail,
    /the loss of \d+ (?:entry|entries) that checkpoint \d+ signed/,
  );
  assert.equal(named('checkpoint roots').outcome, 'ok');

  const lines = readFileSync(out, 'utf8').split('\n');
  const cut = lines.findIndex((line) => line.includes(`"sequence":${ORIGIN_SPAN},`));
  const forged = [...lines.slice(0, cut - 1), ...lines.slice(cut)];
  writeFileSync(out, forged.join('\n'));
  const refused = await writ(['verify', 'log', out, '--json'], place);
  const taken = 'an entry before the break was taken out';
  assert.equal(JSON.parse(refused.out).verdict, 'failed', taken);
}
