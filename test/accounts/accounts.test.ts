/**
 * Accounts of people at another service: connected in a browser, used by handlers, renewed, and ended.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { PAGES } from '../sign-in/browser.ts';
import { eventually } from '../support/world.ts';
import {
  ANN,
  accountEntries,
  BOB,
  back,
  begun,
  connect,
  type Desk,
  openDesk,
  ROBOT,
  signedIn,
  tokenOf,
  use,
} from './desk.ts';
import { openOtherService } from './other-service.ts';

const PERSON = 'human:ann@example.com';

/** A person who has connected the account, and the token of an agent of hers. */
async function connectedDesk(given: Parameters<typeof openDesk>[0] = {}) {
  const desk = await openDesk(given);
  const token = await tokenOf(desk);
  const person = await signedIn(desk);
  await connect(desk, person);
  return { ...desk, desk, token, person };
}

/** Lets the access token expire. */
function expire({ service }: Desk): void {
  service.advance(700_000);
}

test('account() without a connected account tells the caller where the person connects it', async () => {
  const desk = await openDesk();
  const { status, body } = await use(desk, await tokenOf(desk));

  assert.equal(status, 403);
  const { type, detail, retry, resolution } = body.failure;
  const url = 'http://localhost/accounts/tracker';
  assert.deepEqual([type, retry], ['account_required', false]);
  assert.ok(detail.includes(url), detail);
  assert.deepEqual(resolution, {
    action: 'revalidate_state',
    recovery_class: 'revalidate_then_retry',
    requires: [url],
  });
});

test('account() refuses a delegation whose root is no person', async () => {
  const desk = await openDesk();
  const { body } = await use(desk, await tokenOf(desk, ROBOT));

  assert.equal(body.failure.type, 'account_required');
  assert.match(body.failure.detail, /service:robot is at the root .* only people can connect/);
});

test('a person connects an account, and agents of exactly this person use it', async () => {
  const { desk, token, other, lent } = await connectedDesk();

  assert.deepEqual((await use(desk, token)).body.result, { isValid: true });
  assert.ok(lent[0]?.includes(other.canary));
  const others = await use(desk, await tokenOf(desk, BOB));
  assert.equal(others.body.failure.type, 'account_required');
  assert.deepEqual(await accountEntries(desk), [`account_connected tracker ${PERSON}`]);
});

test('connect() asks with PKCE, state, scopes, resource and the exact callback', async () => {
  const other = await openOtherService({ resource: 'https://api.example.com/' });
  const desk = await openDesk({ other });
  const location = new URL(await begun(await signedIn(desk)));
  const asked = Object.fromEntries(location.searchParams);

  assert.equal(location.origin + location.pathname, other.account.authorize);
  const { state, code_challenge, ...rest } = asked;
  assert.match(`${state} ${code_challenge}`, /^[\w-]{43} [\w-]{43}$/);
  assert.deepEqual(rest, {
    response_type: 'code',
    client_id: 'desk',
    redirect_uri: `${PAGES}/accounts/tracker/callback`,
    scope: 'issues.read issues.write',
    code_challenge_method: 'S256',
    resource: 'https://api.example.com/',
  });
});

test('the page of accounts says what is connected, and the page of agents leads to it', async () => {
  const desk = await openDesk();
  const person = await signedIn(desk);

  const before = await person.open('/accounts');
  assert.match(before.text ?? '', /Issue tracker.*Not connected/);
  assert.match(String(before.headers['content-security-policy']), /form-action 'self'(?:;|$)/);
  await connect(desk, person);
  const after = (await person.open('/accounts')).text ?? '';
  assert.match(after, /Issue tracker[\s\S]*Connected[\s\S]*Allows[\s\S]*issues\.read/);
  assert.match(after, /action="\/accounts\/tracker\/disconnect"/);
  assert.match((await person.open('/agents')).text ?? '', /href="\/accounts">Accounts</);
  assert.equal((await person.open('/accounts/none')).status, 404);
});

test('a person who is not signed in comes back to the page of the account', async () => {
  const desk = await openDesk();
  const person = await signedIn(desk);
  person.cookies.clear();

  const { headers } = await person.open('/accounts/tracker');

  assert.equal(headers.location, '/sign-in?return_to=%2Faccounts%2Ftracker');
});

test('account() renews a token before its end, once for all calls at once', async () => {
  const { desk, token, other, lent } = await connectedDesk();
  desk.service.advance(550_000);

  const answers = await Promise.all(Array.from({ length: 8 }, () => use(desk, token)));

  for (const { body } of answers) assert.deepEqual(body.result, { isValid: true });
  assert.equal(other.asked.filter((form) => form.get('grant_type') === 'refresh_token').length, 1);
  assert.equal(new Set(lent).size, 1);
  expire(desk);
  assert.deepEqual((await use(desk, token)).body.result, { isValid: true });
});

test('account() ends an account whose renewal is refused, and asks the person to connect again', async () => {
  const { desk, token, person, other } = await connectedDesk();
  other.forget();
  expire(desk);

  const { body } = await use(desk, token);

  assert.equal(body.failure.type, 'account_required');
  assert.match(body.failure.detail, /connect it again.*http:\/\/localhost\/accounts\/tracker/);
  assert.match((await person.open('/accounts')).text ?? '', /Not connected/);
  assert.deepEqual((await accountEntries(desk)).slice(1), [
    `account_refresh_refused tracker ${PERSON}`,
  ]);
});

test('account() uses a token that still lives, and is unavailable after it, while the other service is down', async () => {
  const { desk, token, other } = await connectedDesk();
  other.behave = (response) => void response.writeHead(500).end('down');
  desk.service.advance(550_000);

  assert.deepEqual((await use(desk, token)).body.result, { isValid: true });
  expire(desk);
  const { status, body } = await use(desk, token);
  assert.deepEqual([status, body.failure.type], [503, 'service_unavailable']);
  other.behave = undefined;
  assert.deepEqual((await use(desk, token)).body.result, { isValid: true });
});

test('account() of an expired token that cannot be renewed asks the person to connect again', async () => {
  const desk = await openDesk();
  desk.other.extra = { refresh_token: undefined };
  const [token, person] = [await tokenOf(desk), await signedIn(desk)];
  await connect(desk, person);
  expire(desk);

  assert.match((await use(desk, token)).body.failure.detail, /again, because it has expired/);
  assert.match((await person.open('/accounts')).text ?? '', /Expired/);
});

test('disconnect() deletes the tokens and revokes them at the other service', async () => {
  const { desk, token, person, other, lent } = await connectedDesk();
  await use(desk, token);
  other.failingRevocations = 1;

  await person.send(await person.open('/accounts'), '/accounts/tracker/disconnect');

  assert.equal((await use(desk, token)).body.failure.type, 'account_required');
  await eventually(() => other.revoked.length === 2);
  assert.ok(other.revoked.includes(lent[0] as string));
  assert.deepEqual((await accountEntries(desk)).slice(1), [
    `account_disconnected tracker ${PERSON}`,
  ]);
});

test('an account ends when the last delegation of its person is revoked, and not before', async () => {
  const { desk, token, other } = await connectedDesk();
  const second = await desk.service.issue(ANN, { scope: ['issues.use'] });
  const revoke = (bearer: string, token_id: string) =>
    desk.service.ask('POST', '/svc/tokens/revoke', { bearer, body: { token_id } });

  assert.equal((await revoke(ANN, second.token_id)).status, 200);
  assert.equal((await use(desk, token)).status, 200);
  const { jti } = JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());
  assert.equal((await revoke(ANN, jti)).status, 200);

  await eventually(() => other.revoked.length === 2);
  assert.deepEqual((await accountEntries(desk)).slice(1), [`account_ended tracker ${PERSON}`]);
});

test('an account ends when the last delegation expires, and waits a day for the first one', async () => {
  const desk = await openDesk({ upkeep: { accountsMs: 20 } });
  const person = await signedIn(desk);
  await connect(desk, person);
  const { service, other } = desk;
  const { token } = await service.issue(ANN, { scope: ['issues.use'], ttl_hours: 1 });
  assert.equal((await use(desk, token)).status, 200);

  service.advance(3_700_000);

  await eventually(() => other.revoked.length === 2);
  await connect(desk, await signedIn(desk));
  service.advance(80_000_000);
  assert.equal((await accountEntries(desk)).length, 3);
  service.advance(10_000_000);
  await eventually(() => other.revoked.length === 4);
});

test('a service where no person can sign in warns that accounts cannot be connected', async () => {
  const identities = [{ key: ROBOT, principal: 'service:robot', scopes: ['issues.use'] }];
  const { service } = await openDesk({ settings: { identities } });

  assert.ok(
    service.log.some((line) => /No person can connect \\"tracker\\", \\"second\\"/.test(line)),
  );
  assert.equal((await service.ask('GET', '/accounts')).status, 404);
});

test('an answer that was refused by the person says so', async () => {
  const desk = await openDesk();
  const person = await signedIn(desk);
  const to = desk.other.agree(await begun(person));
  to.searchParams.delete('code');
  to.searchParams.set('error', 'access_denied');

  const { status, text = '' } = await back(person, to);

  assert.equal(status, 400);
  assert.match(text, /Issue tracker answered &quot;access_denied&quot;/);
});
