/**
 * Two real processes of the travel desk on one PostgreSQL: what one has acknowledged, the other obeys
 * from the next call on.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { temporaryFolder } from '../support/ends.ts';
import { addressOf, DESK, launch } from '../support/launch.ts';
import { freshDatabase } from '../support/postgres.ts';
import { ALICE, OPERATOR } from '../support/world.ts';

const ROUNDS = 50;

/** Calls that are on their way to the other process when the revocation comes. */
const IN_FLIGHT = 4;

/** Room for a machine that does much else; nothing is concluded from the time. */
const PATIENCE_MS = 180_000;

const PRICE = 25;

interface Desk {
  readonly url: string;
}

const folder = temporaryFolder();

const database = await freshDatabase();
const settings = { WRIT_STORE: database.url, WRIT_DATA: folder, WRIT_LOG_LEVEL: 'silent' };
const startDesk = async (): Promise<Desk> => ({
  url: await addressOf(launch([DESK], folder, settings)),
});
const desks = [await startDesk(), await startDesk()] as const;

test('a token that one process issued works in the other, and its spending is one sum', async () => {
  const [one, other] = desks;
  const { root, child } = await issueBoth(one);

  assert.equal((await invoke(one, child)).status, 200);
  assert.equal((await invoke(other, child)).status, 200);

  assert.equal(await spent(other, root), 2 * PRICE);
});

test('a revocation that one process acknowledged is obeyed by the next call to the other', {
  timeout: PATIENCE_MS,
}, async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const [one, other] = round % 2 === 0 ? desks : [desks[1], desks[0]];
    const { root, child } = await issueBoth(one);
    assert.equal((await permissions(other, child)).status, 200);

    const revoked = await revoke(one, root);
    const [asked, invoked, issued] = await Promise.all([
      permissions(other, child),
      invoke(other, child),
      ask(other, child.token, '/svc/tokens', below(child)),
    ]);

    assert.equal(revoked.body.ended, 2);
    for (const { status, body } of [asked, invoked, issued]) {
      assert.deepEqual([status, body.failure?.type], [401, 'invalid_token'], `round ${round}`);
    }
    assert.equal(await spent(one, root), 0);
  }
});

test('a revocation ends a token while the other process runs its calls', {
  timeout: PATIENCE_MS,
}, async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const [one, other] = round % 2 === 0 ? desks : [desks[1], desks[0]];
    const { root, child } = await issueBoth(one);

    const inFlight = Array.from({ length: IN_FLIGHT }, () => invoke(other, child));
    const delegated = ask(other, child.token, '/svc/tokens', below(child));
    const revoked = await revoke(one, root);
    const after = await Promise.all([invoke(other, child), permissions(other, child)]);

    for (const { status, body } of after) {
      assert.deepEqual([status, body.failure?.type], [401, 'invalid_token'], `round ${round}`);
    }
    const replies = await Promise.all(inFlight);
    const done = replies.filter(({ status }) => status === 200).length;
    for (const { status, body } of replies) {
      assert.ok(status === 200 || body.failure?.type === 'invalid_token', JSON.stringify(body));
    }
    // A child that was in time was ended too, and is counted; one that was late was not made.
    const made = (await delegated).status === 200;
    assert.equal(revoked.body.ended, made ? 3 : 2);
    if (made) {
      const { token } = (await delegated).body;
      assert.equal((await ask(one, token, '/svc/permissions', {})).status, 401);
    }
    assert.equal(await spent(one, root), done * PRICE);
  }
});

test('a freeze that one process acknowledged is obeyed by the other, and so is its end', async () => {
  const [one, other] = desks;
  const { root, child } = await issueBoth(one);
  const freeze = { what: 'root_principal', target: 'human:alice@example.com', reason: 'drill' };

  for (let round = 0; round < 5; round += 1) {
    await ask(one, OPERATOR, '/svc/operator/freeze', freeze);
    const refused = [await invoke(other, child), await ask(other, ALICE, '/svc/tokens', ROOT)];
    await ask(other, OPERATOR, '/svc/operator/unfreeze', freeze);
    const resumed = await invoke(one, child);

    for (const { body } of refused) assert.equal(body.failure?.type, 'frozen');
    assert.equal(resumed.status, 200);
  }
  assert.equal(await spent(other, root), 5 * PRICE);
});

const ROOT = {
  scope: ['travel.search', 'travel.extras'],
  budget: { currency: 'USD', max_amount: 1_000 },
};

function below({ token_id }: IssueAnswer): object {
  return { parent_token: token_id, subject: 'agent:below', scope: ['travel.extras'] };
}

async function issueBoth(desk: Desk): Promise<{ root: IssueAnswer; child: IssueAnswer }> {
  const root = (await ask(desk, ALICE, '/svc/tokens', ROOT)).body;
  const child = (await ask(desk, root.token, '/svc/tokens', below(root))).body;
  assert.equal(child.issued, true, JSON.stringify(child));
  return { root, child };
}

function invoke(desk: Desk, { token }: IssueAnswer): Promise<Reply> {
  return ask(desk, token, '/svc/invoke/buy_lounge_pass', { parameters: {} });
}

function permissions(desk: Desk, { token }: IssueAnswer): Promise<Reply> {
  return ask(desk, token, '/svc/permissions', {});
}

function revoke(desk: Desk, { token_id }: IssueAnswer): Promise<Reply> {
  return ask(desk, ALICE, '/svc/tokens/revoke', { token_id });
}

async function spent(desk: Desk, { token_id }: IssueAnswer): Promise<number> {
  return (await ask(desk, ALICE, `/svc/tokens/${token_id}`)).body.budget_spent;
}

interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  readonly body: any;
}

async function ask({ url }: Desk, bearer: string, path: string, body?: object): Promise<Reply> {
  const response = await fetch(`${url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${bearer}`,
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}
