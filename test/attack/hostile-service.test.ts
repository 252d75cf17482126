/**
 * `writ attack` at services that mislead it: it judges nothing that it did not test, prints no credential, and ends.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'vitest';
import type { Case } from '../../src/attack/case.ts';
import { prepared } from '../../src/attack/prepare.ts';
import { endAll, runCases } from '../../src/attack/run.ts';
import { held } from '../../src/attack/target/outcome.ts';
import { main } from '../../src/cli/main.ts';
import { jsonLines } from '../cli/run.ts';
import { openDesk } from '../client/desk.ts';
import { atEnd } from '../support/ends.ts';
import { AGENT, ALICE } from '../support/world.ts';
import { attack, type Line } from './run.ts';
import {
  type Answered,
  answerWith,
  childRequest,
  jsonOf,
  openWeakProxy,
  type Weakness,
  withJson,
} from './weak-proxy.ts';

const desk = await openDesk();

/** A proxy before the desk. Its weakness breaks no case: it is what the test says. */
const before = (changes: Pick<Weakness, 'request' | 'answer'>) =>
  openWeakProxy(desk.url, { name: 'hostile', breaks: [], ...changes });

const SEARCH = [
  '--capability',
  'search_flights',
  '--parameters',
  '{"origin":"SEA","destination":"SFO","date":"2026-12-01"}',
];

const verdictsOf = (lines: readonly Line[]) =>
  lines.slice(0, -1).map((line) => `${line.case}: ${line.verdict}`);

test('writ attack judges nothing by refusals of a service that refuses good tokens as well', async () => {
  const cases = [
    'tokens.unsigned',
    'tokens.changed-claims',
    'tokens.expired',
    'tokens.revoked',
    'tokens.revoked-parent',
    'surface.disguised-paths',
    'surface.credential-elsewhere',
    'surface.other-schemes',
    'surface.two-credentials',
    'surface.bad-token-flood',
  ];
  const url = await before({
    request: (passed) => (passed.path === '/svc/permissions' ? answerWith(404, {}) : passed),
  });
  const ran = await attack(url, ['--only', cases.join(','), '--json', ...SEARCH]);

  assert.deepEqual(
    verdictsOf(jsonLines(ran)),
    cases.map((id) => `${id}: not applicable`),
  );
  assert.equal(ran.status, 2);
});

const BUSY: Answered = { ...answerWith(429, {}), headers: { 'retry-after': '0' } };
const SILENT: Answered = { ...answerWith(503, {}), headers: {} };

for (const [what, busy] of [
  ['too many requests', BUSY],
  ['service unavailable', SILENT],
] as const) {
  test(`writ attack takes "${what}" neither for a refusal nor for a fault`, async () => {
    let calls = 0;
    const cases = [
      'tokens.foreign-revocation',
      'tokens.task-escape',
      'tokens.longer-life',
      'tokens.depth',
      'log.entry-of-a-call',
      'log.foreign-entries',
      'log.filter-tricks',
      'log.foreign-token',
      'log.one-history',
      'surface.inherited-parameters',
    ];
    const url = await before({
      request: (passed) => {
        const { path } = passed;
        if (path.startsWith('/svc/invoke/')) calls += 1;
        const isBusy =
          /^\/svc\/(?:audit|permissions|checkpoints|tokens\/tok_)/.test(path) ||
          childRequest(passed) !== undefined ||
          (path.startsWith('/svc/invoke/') && calls > 1);
        return isBusy ? busy : passed;
      },
    });
    const ran = await attack(url, ['--only', cases.join(','), '--json', ...SEARCH]);

    assert.deepEqual(
      verdictsOf(jsonLines(ran)),
      cases.map((id) => `${id}: not applicable`),
    );
  });
}

test('writ attack prints no credential that a service puts into its answers', async () => {
  const url = await before({
    answer: (answered, { path }) => {
      const json = jsonOf(answered.body);
      if (path === '/.well-known/svc') {
        const svc_discovery = { ...json.svc_discovery, service_id: `desk ${ALICE}` };
        return withJson(answered, { svc_discovery });
      }
      return answered.status < 400
        ? answered
        : withJson(answered, { success: false, failure: { type: `x${ALICE}` } });
    },
  });
  const only = ['--only', 'tokens.depth,log.entry-of-a-refusal,log.foreign-token,log.stranger'];
  const plain = await attack(url, [...only, ...SEARCH]);
  const json = await attack(url, [...only, ...SEARCH, '--json']);

  for (const { out, err } of [plain, json]) {
    assert.match(out, /desk …/);
    assert.ok(!`${out}${err}`.includes(ALICE));
  }
});

test('writ attack without effects calls no read that declares an approval, also where permissions withholds it', async () => {
  const invoked = new Set<string>();
  const url = await before({
    request: (passed) => {
      const [, name] = /^\/svc\/invoke\/(\w+)$/.exec(passed.path) ?? [];
      if (name) invoked.add(name);
      return passed;
    },
    answer: (answered, { path }) => {
      if (path !== '/svc/manifest') return answered;
      const json = jsonOf(answered.body);
      const { search_flights, ...others } = json.capabilities;
      const asking = Object.entries(others).map(([name, each]) => [
        name,
        { ...(each as object), approval: { when: 'always' } },
      ]);
      const capabilities = { search_flights, ...Object.fromEntries(asking) };
      return withJson(answered, { ...json, capabilities });
    },
  });
  const ran = await attack(url, ['--only', 'tokens.agreement', '--json', ...SEARCH]);

  assert.deepEqual([...invoked], ['search_flights']);
  assert.deepEqual(verdictsOf(jsonLines(ran)), ['tokens.agreement: not applicable']);
});

test('writ attack says which approval requests it left, also where no declaration announced them', async () => {
  const failure = { type: 'approval_required', approval_request_id: 'apr_1' };
  const url = await before({
    request: (passed) =>
      passed.path.startsWith('/svc/invoke/')
        ? answerWith(403, { success: false, failure })
        : passed,
  });
  const ran = await attack(url, ['--only', 'log.stranger', '--json']);

  assert.equal(jsonLines(ran).at(-1).approval_requests, 1);
});

test('writ attack ends at a service that answers in another protocol', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => server.close());
  const { port } = server.address() as AddressInfo;
  const ran = await attack(`http://127.0.0.1:${port}`, ['--only', 'log.stranger']);

  assert.equal(ran.status, 5);
  assert.match(ran.err, /does not answer/);
});

/** Runs until a request arrives for this path; then it is asked to stop. */
async function stoppedAt(path: string) {
  const revoked: string[] = [];
  let stop: () => void = () => undefined;
  const untilStopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  const url = await before({
    request: (passed) => {
      if (passed.path === path) stop();
      return passed;
    },
    answer: (answered, passed) => {
      if (passed.path === '/svc/tokens/revoke' && answered.status === 200)
        revoked.push(jsonOf(passed.body).token_id);
      return answered;
    },
  });
  let [out, err] = ['', ''];
  const status = await main(['attack', '--url', url, '--only', 'tokens', '--json', ...SEARCH], {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    env: { WRIT_CLIENT_CREDENTIAL: ALICE, WRIT_CLIENT_OTHER_CREDENTIAL: AGENT },
    untilStopped: () => untilStopped,
  });
  return { status, out, err, revoked };
}

test('writ attack ends with 2 when it is stopped, and ends its tokens first', async () => {
  const { status, out } = await stoppedAt('/svc/permissions');
  const sum = JSON.parse(out.trim().split('\n').at(-1) ?? '');

  assert.equal(status, 2);
  assert.ok(sum.not_run > 0);
  assert.ok(sum.tokens_ended > 0);
  assert.equal(sum.tokens_left, 0);
});

test('writ attack that is stopped while it looks at the service ends the tokens that it got', async () => {
  const { status, out, err, revoked } = await stoppedAt('/svc/invoke/search_flights');

  assert.deepEqual([status, out], [2, '']);
  assert.match(err, /asked to stop/);
  assert.ok(revoked.length > 1);
});

async function ownWorld() {
  return prepared({
    url: desk.url,
    self: { secret: ALICE },
    other: { secret: AGENT },
    now: () => new Date(),
    signal: new AbortController().signal,
  });
}

const about = { tries: 'it', holds: 'it', basis: 'practice' } as const;

test('runCases() gives what it found when a run has asked enough, and asks nothing more', async () => {
  const world = await ownWorld();
  const greedy: Case = {
    ...about,
    id: 'surface.greedy',
    async run({ wire }) {
      wire.take(1_000_000);
      return held('it');
    },
  };
  const results = await runCases(world, {
    cases: [greedy, greedy],
    withEffects: false,
    signal: new AbortController().signal,
    onCase: () => undefined,
  });
  const { left } = await endAll(world);

  assert.deepEqual(
    results.map(({ verdict }) => verdict),
    ['not applicable'],
  );
  assert.equal(left, 0);
});

test('runCases() ends a case that goes on, and keeps it from sending more', async () => {
  const world = await ownWorld();
  const stop = new AbortController();
  let later: Promise<unknown> = Promise.resolve();
  const endless: Case = {
    ...about,
    id: 'surface.endless',
    run: ({ wire }) =>
      new Promise(() => {
        const asked = once(stop.signal, 'abort').then(() => wire.ask({ path: '/svc/permissions' }));
        later = assert.rejects(asked, /enough/);
        stop.abort(new Error('enough'));
      }),
  };
  const results = await runCases(world, {
    cases: [endless],
    withEffects: false,
    signal: stop.signal,
    onCase: () => undefined,
  });
  await endAll(world);

  assert.deepEqual(results, []);
  await later;
});
