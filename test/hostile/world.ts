/**
 * What a fuzzed service has: tokens, requests, grants, entries and sessions that exist, so that hostile
 * requests get past the first checks. Made over HTTP, in a fixed order.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Sent, WireClient } from './wire.ts';

export interface HostileWorld {
  readonly port: number;
  /** Bearers by what they are. The first ones are good. */
  readonly bearers: readonly string[];
  readonly operator: string;
  /** By the name of a field: values that exist. */
  readonly known: Readonly<Record<string, readonly string[]>>;
  /** The cookies and the proof of a person who has signed in. */
  readonly session: { readonly cookie: string; readonly csrf: string; readonly formCsrf: string };
  /** A call that must always succeed. */
  readonly honest: Sent;
}

const KEYS = {
  alice: 'demo-human-key',
  bob: 'demo-approver-key',
  operator: 'demo-operator-key',
  agent: 'demo-agent-key',
};

// biome-ignore lint/suspicious/noExplicitAny: what came back is looked into.
type Body = any;

export async function makeWorld(port: number, client: WireClient): Promise<HostileWorld> {
  async function post(path: string, bearer: string, body: object): Promise<Body> {
    const answered = await client.ask(postOf(path, bearer, body));
    assert.ok('status' in answered, JSON.stringify(answered));
    return JSON.parse(answered.body.toString());
  }
  const issue = async (bearer: string, request: object) => {
    const body = await post('/svc/tokens', bearer, request);
    assert.ok(body.token, JSON.stringify(body));
    return body as { token: string; token_id: string };
  };
  const scope = ['search', 'read', 'book', 'extras', 'hold', 'charter', 'refund'].map(
    (each) => `travel.${each}`,
  );
  const budget = { currency: 'USD', max_amount: 1_000_000 };
  const root = await issue(KEYS.alice, { scope, budget, subject: 'agent:planner' });
  const child = await issue(root.token, {
    parent_token: root.token_id,
    scope: ['travel.search', 'travel.read'],
    subject: 'agent:child',
  });
  const ended = await issue(KEYS.alice, { scope: ['travel.read'], subject: 'agent:ended' });
  await post('/svc/tokens/revoke', KEYS.alice, { token_id: ended.token_id });
  const honest = await issue(KEYS.alice, { scope: ['travel.search'], subject: 'agent:honest' });
  const found = await post('/svc/invoke/search_flights', root.token, { parameters: TRIP });
  const asked: string[] = [];
  for (const route of ['SEA-SFO', 'SEA-LAX', 'SFO-JFK', 'LAX-SEA']) {
    const parameters = { route, date: '2026-12-01' };
    const refused = await post('/svc/invoke/charter_jet', root.token, { parameters });
    if (refused.failure?.approval_request_id) asked.push(refused.failure.approval_request_id);
  }
  const decision = { approval_request_id: asked[0], grant_type: 'one_time' };
  const grant = await post('/svc/approval_grants', KEYS.bob, decision);
  const sealed = await post('/svc/operator/checkpoints', KEYS.operator, {});
  return {
    port,
    bearers: [root.token, KEYS.alice, KEYS.bob, KEYS.operator, child.token, ended.token],
    operator: KEYS.operator,
    known: {
      token_id: [ended.token_id, child.token_id],
      parent_token: [root.token_id, child.token_id, ended.token_id],
      approval_request_id: asked,
      approval_grant: [grant.grant_id ?? 'grant_0'],
      invocation_id: [found.invocation_id],
      checkpoint_id: [sealed.checkpoint?.checkpoint_id ?? sealed.checkpoint_id ?? 'ckpt-0'],
      capability: CAPABILITIES,
      quote: JSON.stringify(found).match(/bnd_\w+/g) ?? [],
    },
    session: await signedIn(port, client),
    honest: postOf('/svc/invoke/search_flights', honest.token, { parameters: TRIP }),
  };
}

const TRIP = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };

const CAPABILITIES = [
  'search_flights',
  'book_flight',
  'get_booking',
  'buy_lounge_pass',
  'hold_seat',
  'release_seat',
  'request_taxi',
  'charter_jet',
  'charter_fleet',
  'issue_refund',
  'plan_trip',
  'export_report',
];

function postOf(path: string, bearer: string, body: object): Sent {
  const headers = [
    ['authorization', `Bearer ${bearer}`],
    ['content-type', 'application/json'],
  ] as const;
  return { method: 'POST', target: path, headers, body: Buffer.from(JSON.stringify(body)) };
}

/** Signs a person in with the key form, as a browser does. */
async function signedIn(port: number, client: WireClient): Promise<HostileWorld['session']> {
  const host = ['host', `localhost:${port}`] as const;
  const origin = ['origin', `http://localhost:${port}`] as const;
  const cookies = new Map<string, string>();
  async function open(sent: Sent): Promise<string> {
    const cookie = ['cookie', lineOf(cookies)] as const;
    const headers = [host, ...(cookies.size > 0 ? [cookie] : []), ...sent.headers];
    const answered = await client.ask({ ...sent, headers });
    assert.ok('status' in answered, JSON.stringify(answered));
    for (const line of answered.headers.get('set-cookie') ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    return answered.body.toString();
  }
  const page = await open({ method: 'GET', target: '/sign-in', headers: [] });
  const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
  const form = new URLSearchParams({ csrf, key: KEYS.alice, return_to: '/agents' });
  const type = ['content-type', 'application/x-www-form-urlencoded'] as const;
  const body = Buffer.from(form.toString());
  await open({ method: 'POST', target: '/sign-in', headers: [origin, type], body });
  const console = await open({ method: 'GET', target: '/console/', headers: [] });
  const agents = await open({ method: 'GET', target: '/agents', headers: [] });
  return {
    cookie: lineOf(cookies),
    csrf: /<meta name="writ-csrf" content="([^"]*)">/.exec(console)?.[1] ?? '',
    formCsrf: /name="csrf" value="([^"]+)"/.exec(agents)?.[1] ?? '',
  };
}

function lineOf(cookies: ReadonlyMap<string, string>): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}
