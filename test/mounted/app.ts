/**
 * An app with sessions of its own around a desk: who is signed in to the app, and a browser that has the app's cookie.
 *
 * @module
 */

import assert from 'node:assert/strict';
import express from 'express';
import type { AppRequest, MountOptions } from '../../src/index.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { type ConsolePerson, openConsole } from '../console/person.ts';
import { personAt } from '../sign-in/browser.ts';
import { atEnd } from '../support/ends.ts';
import type { AskOptions, Reply, TestService } from '../support/world.ts';
import { listened, type MountedDesk, mountDesk, ORIGIN, PREFIX } from './desk.ts';

export const PAGES = ORIGIN.replace('127.0.0.1', 'localhost');
export const [ANN, BEN] = ['human:ann@shop.example', 'human:ben@shop.example'];
export const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8';

export const UP_TO_50 = { amount: { at_least: 0, at_most: 50, or_absent: true } };

const RULES = [
  { principals: [ANN], scopes: ['shop.*', 'approver:*', 'operator:*'], subjects: ['agent:*'] },
  { principals: [BEN], scopes: ['shop.*'], subjects: ['agent:*'], conditions: { pay: UP_TO_50 } },
];

const GRANT_POLICY = {
  allowed_grant_types: ['one_time' as const],
  default_grant_type: 'one_time' as const,
  expires_in_seconds: 900,
  max_uses: 1,
};

const shop = createService({
  id: 'shop-desk',
  capabilities: [
    defineCapability({
      name: 'pay',
      description: 'Pays',
      inputs: [{ name: 'amount', type: 'number', required: false }],
      minimum_scope: ['shop.pay'],
      side_effect: 'irreversible' as const,
      approval: { when: 'always' as const, require: 'passkey', grant_policy: GRANT_POLICY },
      handler: () => ({ done: true }),
    }),
  ],
});

type Identify = NonNullable<MountOptions['identify']>;

export interface App {
  readonly desk: MountedDesk;
  /** Who is signed in to the app, by the value of its cookie. */
  readonly people: Map<string, Awaited<ReturnType<Identify>>>;
  /** The paths that the hook was asked about. */
  readonly asked: string[];
  /** Asks with the path below the prefix. */
  ask: TestService['ask'];
  /** Opens a page as the browser with this cookie of the app. */
  open(path: string, cookie?: string, headers?: Record<string, string>): Promise<Reply>;
  /** Opens the console in that browser. */
  console(cookie: string): Promise<ConsolePerson>;
}

/** How an app passes its requests on. */
export const STYLES = ['fetch', 'express', 'node'] as const;

export async function openApp(
  options: Partial<MountOptions> = {},
  style: (typeof STYLES)[number] = 'fetch',
): Promise<App> {
  const people: App['people'] = new Map([
    ['ann', ANN],
    ['ben', BEN],
  ]);
  const asked: string[] = [];
  const identify = ({ path, headers }: AppRequest) => {
    asked.push(path);
    return people.get(/(?:^|; )shop=(\w+)/.exec(String(headers.cookie))?.[1] ?? '');
  };
  const { settings, ...hooks } = options;
  const desk = await mountDesk(
    { identify, ...hooks, settings: { identities: [], entitlements: RULES, ...settings } },
    shop,
  );
  atEnd(desk.close);
  const send = await sender(desk, style);
  const ask: App['ask'] = (method, path, { body, headers = {} }: AskOptions = {}) =>
    send(
      method,
      path,
      body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
      {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(headers as Record<string, string>),
      },
    );
  const open: App['open'] = (path, cookie, headers = {}) =>
    ask('GET', path, {
      headers: { accept: BROWSER, ...(cookie && { cookie: `shop=${cookie}` }), ...headers },
    });
  return {
    desk,
    people,
    asked,
    ask,
    open,
    async console(cookie) {
      const person = personAt({ ask }, PAGES);
      person.cookies.set('shop', cookie);
      return openConsole({ ask }, person, PAGES);
    },
  };
}

type Send = (
  method: string,
  path: string,
  body: string | undefined,
  headers: Record<string, string>,
) => Promise<Reply>;

/** The requests go to the name of the pages, also where the app listens on a port of its own. */
async function sender(desk: MountedDesk, style: (typeof STYLES)[number]): Promise<Send> {
  const pass = await passing(desk, style);
  return async (method, path, body, { host = new URL(PAGES).host, ...headers }) => {
    const response = await pass(
      `${PREFIX}${path}`,
      { method, body: body ?? null, headers, redirect: 'manual' },
      host,
    );
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
    const cookies = { 'set-cookie': response.headers.getSetCookie() };
    return {
      status: response.status,
      text,
      body: isJson ? JSON.parse(text) : text,
      headers: { ...Object.fromEntries(response.headers), ...cookies },
    };
  };
}

async function passing(desk: MountedDesk, style: (typeof STYLES)[number]) {
  if (style === 'fetch') {
    return (path: string, init: RequestInit, host: string) =>
      desk.fetch(new Request(`http://${host}${path}`, init));
  }
  const app = express().use(PREFIX, desk.listener);
  const { url, end } = await listened((request, response) => {
    // fetch() sets no Host.
    request.headers.host = String(request.headers['x-host']);
    delete request.headers['x-host'];
    if (style === 'express') app(request, response);
    else desk.listener(request, response);
  });
  atEnd(end);
  return (path: string, init: RequestInit, host: string) =>
    fetch(`${url}${path}`, { ...init, headers: { ...init.headers, 'x-host': host } });
}

export const proofIn = ({ text = '' }: Reply) =>
  /<meta name="writ-csrf" content="([^"]+)">/.exec(text)?.[1] ?? '';

/** Asks as the page of the person does, with other headers where a test says so. */
export async function asker(app: App, cookie: string) {
  const proof = proofIn(await app.open('/console/', cookie));
  return (method: string, headers: Record<string, string | undefined> = {}, body: unknown = {}) => {
    const own = {
      origin: PAGES,
      'sec-fetch-site': 'same-origin',
      'x-writ-csrf': proof,
      cookie: `shop=${cookie}`,
    };
    const given = Object.entries({ ...own, ...headers }).filter(([, value]) => value !== undefined);
    const sent = Object.fromEntries(given) as Record<string, string>;
    return app.ask('POST', `/console/api/${method}`, { body, headers: sent });
  };
}

export function assertRefused({ status, body }: Reply, expected: number, type: string): void {
  assert.deepEqual([status, body.failure?.type], [expected, type], JSON.stringify(body));
}

/** The id of a request of an agent of Ben. */
export async function requested(app: App): Promise<string> {
  const { status, body, text } = await paid(app);
  assert.equal(body.failure?.type, 'approval_required', `${status} ${text}`);
  return body.failure.approval_request_id;
}

export async function paid(app: App, more: object = {}): Promise<Reply> {
  const issued = await app.ask('POST', '/svc/tokens', {
    body: { scope: ['shop.pay'], subject: 'agent:payer' },
    headers: { cookie: 'shop=ben' },
  });
  const headers = { authorization: `Bearer ${issued.body.token}` };
  return app.ask('POST', '/svc/invoke/pay', { body: { parameters: {}, ...more }, headers });
}
