import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Agent } from '../../src/protocol/console/views.ts';
import {
  ALICE,
  OPERATOR,
  onEachStore,
  type Reply,
  type TestService,
  testService,
} from '../support/world.ts';
import { asking, askToken, consent, delegation, locationOf, personAt } from './browser.ts';

const READS = { chosen: ['search_flights'] };
const SEARCH = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };

function claimsOf(token: string): { sub: string; jti: string } {
  return JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());
}

/** The agents of the person with this subject, wherever they are in a tree. */
async function agentsNamed(service: TestService, subject: string): Promise<Agent[]> {
  const { body } = await service.ask('GET', '/svc/agents', { bearer: ALICE });
  const { agents } = body as { agents: Agent[] };
  const all = [...agents];
  for (const agent of all) all.push(...agent.children);
  return all.filter((agent) => agent.subject === subject);
}

onEachStore(
  ({ url }) => testService({ store: url, settings: { rate_limits: 'off' } }),
  (service) => {
    test('an agent cannot hide its refusals behind other calls', async () => {
      const { access } = await delegation(service(), READS);
      for (let n = 0; n < 3; n++) await service().invoke(access, 'buy_lounge_pass');
      await Promise.all(
        Array.from({ length: 120 }, () => service().invoke(access, 'search_flights', SEARCH)),
      );

      const [agent] = await agentsNamed(service(), claimsOf(access).sub);
      assert.equal(agent?.refused_today, 3);
    });

    test('a sub-agent with the name of another agent is shown below the one that made it', async () => {
      const person = personAt(service());
      await person.signIn(ALICE);
      const [maker, other] = [
        await delegation(service(), { ...READS, pass: '1' }, { person }),
        await delegation(service(), READS, { person }),
      ];
      const named = claimsOf(other.access).sub;
      const { jti: parent_token } = claimsOf(maker.access);
      const child = await service().issue(maker.access, {
        parent_token,
        subject: named,
        scope: ['travel.search'],
      });
      for (let n = 0; n < 2; n++) await service().invoke(child.token, 'buy_lounge_pass');

      const found = await agentsNamed(service(), named);
      assert.deepEqual(
        found.map(({ refused_today, client_name }) => [refused_today, client_name]),
        [
          [0, 'writ login'],
          [2, null],
        ],
      );
      const [above] = await agentsNamed(service(), claimsOf(maker.access).sub);
      assert.deepEqual(
        above?.children.map(({ subject }) => subject),
        [named],
      );
    });

    test('a secret that is presented again and again leaves one entry', async () => {
      const { refresh } = await delegation(service(), READS);
      const renew = () =>
        askToken(service(), { grant_type: 'refresh_token', refresh_token: refresh });
      await renew();
      service().advance(31_000);
      const before = (await service().entriesBy({})).length;
      for (let n = 0; n < 5; n++) assert.equal((await renew()).body.error, 'invalid_grant');
      for (let n = 0; n < 5; n++) await askToken(service(), { token: refresh }, '/revoke');

      const added = (await service().entriesBy({})).slice(before);
      assert.deepEqual(
        added.map(({ entry_type }) => entry_type),
        ['revocation'],
      );
    });

    test('a refused renewal of a living delegation has an entry', async () => {
      const { refresh } = await delegation(service(), READS);
      const renewal = { grant_type: 'refresh_token', refresh_token: refresh };
      const wider = await askToken(service(), { ...renewal, scope: 'travel.admin' });
      const elsewhere = await askToken(service(), { ...renewal, resource: 'https://a.example' });

      assert.deepEqual(
        [wider, elsewhere].map(({ body }) => body.error),
        ['invalid_scope', 'invalid_target'],
      );
      const entries = await service().entriesBy({ entryType: 'issuance' });
      assert.deepEqual(
        entries.slice(-2).map(({ state, failure_type }) => [state, failure_type]),
        [
          ['refused', 'scope_escalation'],
          ['refused', 'invalid_parameters'],
        ],
      );
    });

    test('a consent that a freeze refuses has an entry, and the page says why', async () => {
      const person = personAt(service());
      await person.signIn(ALICE);
      const target = { what: 'root_principal', target: 'human:alice@example.com' };
      const { token } = await service().issue(OPERATOR, { scope: ['operator:*'] });
      const operate = (verb: string, body: object): Promise<Reply> =>
        service().ask('POST', `/svc/operator/${verb}`, { bearer: token, body });
      await operate('freeze', { ...target, reason: 'audit' });
      const reply = await consent(person, asking().path, READS);
      await operate('unfreeze', target);

      assert.equal(reply.status, 403);
      assert.match(reply.text ?? '', /frozen/);
      const entries = await service().entriesBy({ entryType: 'session' });
      assert.deepEqual(
        [entries.at(-1)?.state, entries.at(-1)?.failure_type],
        ['refused', 'frozen'],
      );
    });

    test('a session that ends under the consent page leads back to the same request', async () => {
      const person = personAt(service());
      await person.signIn(ALICE);
      const { path } = asking();
      const page = await person.open(path);
      person.cookies.clear();
      const url = locationOf(await person.send(page, '/authorize', { answer: 'allow' }));

      assert.equal(url.pathname, '/sign-in');
      const back = new URL(url.searchParams.get('return_to') ?? '', 'http://x');
      assert.equal(back.pathname, '/authorize');
      assert.equal(back.searchParams.get('state'), 'the state');
    });

    test('prompt=login asks again, once', async () => {
      const person = personAt(service());
      await person.signIn(ALICE);
      const { path } = asking({ prompt: 'login' });
      assert.equal((await person.open(path)).status, 200);
      service().advance(301_000);
      const asked = locationOf(await person.open(path));
      const form = await person.open(`${asked.pathname}${asked.search}`);
      const back = locationOf(await person.send(form, '/sign-in', { key: ALICE }));

      assert.equal(back.pathname, '/authorize');
      assert.equal((await person.open(`${back.pathname}${back.search}`)).status, 200);
    });

    test('a link with prompt=login leaves the person signed in, until they signed in again', async () => {
      const person = personAt(service());
      await person.signIn(ALICE);
      const before = new Map(person.cookies);
      service().advance(301_000);

      const asked = locationOf(await person.open(asking({ prompt: 'login' }).path));
      const form = await person.open(`${asked.pathname}${asked.search}`);
      await person.send(form, '/sign-in', { key: 'a wrong key' });

      assert.equal((await person.open('/agents')).status, 200);
      await person.send(form, '/sign-in', { key: ALICE });
      assert.equal((await person.open('/agents')).status, 200);
      person.cookies.clear();
      for (const [name, value] of before) person.cookies.set(name, value);
      assert.equal(locationOf(await person.open('/agents')).pathname, '/sign-in');
    });
  },
);

test('the command line is a client like any other: any program can use its name', async () => {
  const service = await testService();
  const person = personAt(service);
  await person.signIn(ALICE);
  const { text = '' } = await person.open(asking().path);

  assert.match(text, /Not verified/);
  assert.doesNotMatch(text, /Registered/);
});

test('behind a proxy with a path, pages and metadata have that path', async () => {
  const public_url = 'http://127.0.0.1/desk';
  const service = await testService({ baseUrl: () => public_url, settings: { public_url } });
  const agents = await service.ask('GET', '/agents', { headers: { host: 'localhost' } });
  assert.match(String(agents.headers.location), /^\/desk\/sign-in\?/);
  for (const path of ['', '/desk']) {
    const { status, body } = await service.ask(
      'GET',
      `/.well-known/oauth-authorization-server${path}`,
    );
    assert.deepEqual([status, body.issuer], [200, 'http://127.0.0.1/desk']);
  }
});
