/**
 * reload() of a service that listens: another definition takes over, and nothing that runs is cut.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { beforeEach, test, vi } from 'vitest';
import { main } from '../../src/cli/main.ts';
import type { GivenSettings } from '../../src/config/config.ts';
import { type ServedService, serve } from '../../src/http/serve.ts';
import type { OpenSurface } from '../../src/http/surface.ts';
import { createLog } from '../../src/log.ts';
import { mcpSurface } from '../../src/mcp/http.ts';
import { system } from '../../src/platform.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService, type ServiceOptions } from '../../src/service/author/definition.ts';
import { atEnd, closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { person } from '../support/person.ts';

const ANN = 'key-of-ann';
const OPERATOR = 'key-of-the-operator';

let folder: string;
let lines: string[];
beforeEach(() => {
  folder = temporaryFolder();
  lines = [];
});

async function start(
  definition = desk('first'),
  settings: GivenSettings = {},
  surfaces: readonly OpenSurface[] = [mcpSurface],
): Promise<ServedService> {
  const running = await serve(
    definition,
    {
      settings: {
        store: 'memory:',
        port: 0,
        rate_limits: 'off',
        identities: [
          person(ANN, 'human:ann@example.com', ['desk.*']),
          person(OPERATOR, 'human:olga@example.com', ['operator:*']),
        ],
        ...settings,
      },
      environment: {},
      folder,
      signals: false,
      log: createLog('info', { write: (line) => void lines.push(line) }),
    },
    surfaces,
  );
  return closedAtEnd(running);
}

/** A desk whose capability answers with a word. */
function desk(
  word: string,
  handler: (context: { progress(event: object): Promise<void> }) => Promise<void> = async () => {},
  more: Partial<ServiceOptions> = {},
) {
  const pay = defineCapability({
    name: 'pay',
    description: 'Pay, and say which definition did it',
    side_effect: 'write',
    minimum_scope: ['desk.pay'],
    cost: { certainty: 'fixed', financial: { currency: 'EUR', amount: 1 } },
    response_modes: ['unary', 'streaming'],
    async handler(_parameters, context) {
      await handler(context as never);
      return { word };
    },
  });
  return createService({ id: 'desk', capabilities: [pay], ...more });
}

async function post(url: string, bearer: string, body: object, headers = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
  });
}

async function tokenOf({ url }: ServedService, max = 1_000): Promise<string> {
  const budget = { currency: 'EUR', max_amount: max };
  const answer = await post(`${url}/svc/tokens`, ANN, { scope: ['desk.pay'], budget });
  return ((await answer.json()) as { token: string }).token;
}

const pay = (running: ServedService, token: string, more: object = {}) =>
  post(`${running.url}/svc/invoke/pay`, token, { parameters: {}, ...more });

async function wordOf(answer: Response): Promise<unknown> {
  return ((await answer.json()) as { result?: { word?: string } }).result?.word;
}

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

async function entriesOf({ url }: ServedService): Promise<Entry[]> {
  const answer = await post(`${url}/svc/audit?entry_type=operator`, OPERATOR, {});
  const { entries } = (await answer.json()) as { entries: Entry[] };
  return entries;
}

interface Entry {
  readonly entry_type: string;
  readonly actor_key: string;
  readonly root_principal: string;
  readonly success: boolean;
  readonly detail: Record<string, unknown> | null;
}

test('reload() passes new requests to the new definition', async () => {
  const running = await start();
  const token = await tokenOf(running);
  assert.equal(await wordOf(await pay(running, token)), 'first');

  await running.reload(desk('second'));

  assert.equal(await wordOf(await pay(running, token)), 'second');
  assert.ok(lines.some((line) => line.includes('"msg":"reloaded"')));
});

test('reload() lets a call and a stream that run finish in the definition that began them', async () => {
  const [begun, go] = [gate(), gate()];
  let calls = 0;
  const slow = async ({ progress }: { progress(event: object): Promise<void> }) => {
    calls += 1;
    await progress({ at: 'the gate' });
    if (calls === 2) begun.open();
    await go.opened;
  };
  const running = await start(desk('first', slow));
  const token = await tokenOf(running);
  const call = pay(running, token);
  const stream = pay(running, token, { stream: true });
  await begun.opened;

  await running.reload(desk('second'));
  assert.equal(await wordOf(await pay(running, token)), 'second');
  go.open();

  assert.equal(await wordOf(await call), 'first');
  const events = await (await stream).text();
  assert.match(events, /the gate/);
  assert.match(events, /"word":"first"/);
});

test('reload() ends the wait of a caller, who can ask again', async () => {
  const charter = defineCapability({
    name: 'pay',
    description: 'Pay once a person approves',
    side_effect: 'write',
    minimum_scope: ['desk.pay'],
    approval: { when: 'always' },
    handler: () => ({}),
  });
  const asking = createService({ id: 'desk', capabilities: [charter] });
  const running = await start(asking);
  const token = await tokenOf(running);
  const refused = (await (await pay(running, token)).json()) as {
    failure: { approval_request_id: string };
  };
  const { approval_request_id: id } = refused.failure;
  let status: string | undefined;
  const waiting = fetch(`${running.url}/svc/approval_requests/${id}`, {
    headers: { authorization: `Bearer ${token}`, prefer: 'wait=50' },
  }).then(async (answer) => {
    ({ status } = (await answer.json()) as { status: string });
  });

  // The first reloads may come before the caller waits.
  while (status === undefined) await running.reload(asking);

  await waiting;
  assert.equal(status, 'pending');
});

test('reload() refuses another service, another trust level and a closed service', async () => {
  const running = await start();
  const token = await tokenOf(running);

  await assert.rejects(running.reload(createService({ id: 'other', capabilities: [] })), {
    message: 'Cannot reload "desk": the definition is of "other"',
  });
  await assert.rejects(running.reload(desk('signed', undefined, { trust: { level: 'signed' } })), {
    message:
      'Cannot reload "desk": its trust level changes from anchored to signed; restart the service',
  });
  assert.equal(await wordOf(await pay(running, token)), 'first');
  await running.close();
  await assert.rejects(running.reload(desk('second')), {
    message: 'Cannot reload "desk": the service is closed',
  });
});

test('reload() leaves the definition that runs, and no timer, when the other cannot start', async () => {
  let opened = 0;
  const failing: OpenSurface = (runtime) => {
    opened += 1;
    if (opened === 1) return mcpSurface(runtime);
    throw new Error('no surface');
  };
  const running = await start(desk('first'), {}, [failing]);
  const token = await tokenOf(running);
  const made = vi.spyOn(system, 'every');
  const cleared = vi.spyOn(system, 'cancel');
  atEnd(() => cleared.mockRestore());
  atEnd(() => made.mockRestore());

  await assert.rejects(running.reload(desk('second')), { message: 'no surface' });

  const ended = cleared.mock.calls.map(([timer]) => timer);
  const timers = made.mock.results.map(({ value }) => value);
  assert.ok(timers.length > 0);
  assert.deepEqual(
    timers.filter((timer) => !ended.includes(timer)),
    [],
  );
  assert.equal(await wordOf(await pay(running, token)), 'first');
});

test('close() during a reload ends both definitions and the store', async () => {
  const running = await start();

  const reloading = running.reload(desk('second'));
  const closing = running.close();

  await assert.rejects(reloading, /the service is closed/);
  await closing;
  await assert.rejects(fetch(`${running.url}/healthz`));
});

test('close() ends a call that a definition before still runs, within the grace', async () => {
  const begun = gate();
  const never = async () => {
    begun.open();
    await new Promise(() => undefined);
  };
  const running = await start(desk('first', never), { stop_grace_seconds: 0 });
  const cut = assert.rejects(pay(running, await tokenOf(running)));
  await begun.opened;
  await running.reload(desk('second'));

  await running.close();

  await cut;
});

test('reload() closes the oldest definition when too many still run a call', async () => {
  const go = gate();
  const running = await start();
  const token = await tokenOf(running);
  const calls: Promise<Response>[] = [];
  for (let round = 0; round < 10; round++) {
    const begun = gate();
    const slow = async () => {
      begun.open();
      await go.opened;
    };
    await running.reload(desk(`word ${round}`, slow));
    calls.push(pay(running, token));
    await begun.opened;
  }

  assert.ok(lines.some((line) => line.includes('stopped while calls were still running')));
  go.open();

  const words = await Promise.all(calls.map(async (call) => wordOf(await call)));
  assert.deepEqual(
    words,
    words.map((_, round) => `word ${round}`),
  );
});

test('reload() keeps the numbers of the metrics and the limits of a principal', async () => {
  const settings = {
    rate_limits: 'on',
    principal_rate: { limit: 5, window: 'PT1H' },
  } as const;
  const running = await start(desk('first'), settings);
  const token = await tokenOf(running);
  for (let calls = 0; calls < 4; calls++) assert.equal((await pay(running, token)).status, 200);

  await running.reload(desk('second'));

  assert.equal((await pay(running, token)).status, 429);
  const metrics = await (await fetch(`${running.url}/metrics`)).text();
  assert.match(metrics, /writ_invocations_total\{capability="pay",outcome="success"\} 4\n/);
  assert.match(metrics, /writ_log_sealing_refused 0\n/);
});

test('reload() again and again while calls run loses no entry, no money and no checkpoint', async () => {
  const store = `sqlite:${join(folder, 'desk.db')}`;
  const mark = `sqlite:${join(folder, 'mark.db')}`;
  const trust = { level: 'anchored', anchoring: { cadence: 'PT0.1S' } } as const;
  const running = await start(desk('0', undefined, { trust }), { store, mark });
  const token = await tokenOf(running);
  let isOver = false;
  let paid = 0;
  const payer = async () => {
    while (!isOver) {
      const answer = await pay(running, token);
      assert.equal(answer.status, 200, await answer.clone().text());
      await answer.arrayBuffer();
      paid += 1;
    }
  };
  const payers = [payer(), payer(), payer(), payer()];

  for (let round = 1; round <= 20; round++) {
    await running.reload(desk(String(round), undefined, { trust }));
  }
  isOver = true;
  await Promise.all(payers);

  assert.equal(await wordOf(await pay(running, token)), '20');
  const permissions = await (await post(`${running.url}/svc/permissions`, token, {})).text();
  assert.ok(paid > 0);
  assert.ok(permissions.includes(String(1_000 - paid - 1)), `${paid} paid: ${permissions}`);
  await running.close();
  assert.deepEqual(
    lines.filter((line) => /"level":"?(?:error|fatal|50|60)/.test(line)),
    [],
  );
  const printed: string[] = [];
  const io = {
    env: {},
    out: (text: string) => void printed.push(text),
    err: (text: string) => void printed.push(text),
  };
  const keys = join(folder, '.writ/keys');
  const status = await main(
    ['fsck', '--store', store, '--keys', keys, '--mark', mark],
    io as never,
  );
  assert.equal(status, 0, printed.join(''));
});

test('record() appends an entry of the service itself, with every text bounded', async () => {
  const running = await start();
  const names = Array.from(
    { length: 500 },
    (_, index) => `tool-${index}\0\ud800${'x'.repeat(9_000)}`,
  );

  await running.record({
    verb: 'guard_policy_loaded',
    about: { digest: 'ab12', verb: 'freeze', off: names, why: 'y'.repeat(90_000), offered: 3 },
  });

  const found = (await entriesOf(running)).find(({ detail }) => detail?.digest === 'ab12');
  assert.equal(found?.entry_type, 'operator');
  assert.equal(found?.actor_key, 'service:desk');
  assert.equal(found?.root_principal, 'service:desk');
  assert.equal(found?.detail?.verb, 'guard_policy_loaded');
  assert.equal(found?.detail?.offered, 3);
  assert.ok(JSON.stringify(found?.detail).length < 4_000);
  assert.match(JSON.stringify(found?.detail?.off), /"and 488 more"\]$/);
});
