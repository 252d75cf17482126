/**
 * A desk on a real port whose capabilities need approval, and people who decide in a real Chromium.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Browser, BrowserContext, Locator, Page, Route } from 'playwright-core';
import { pagesUrl } from '../../src/address/host.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { listeningDesk } from '../sign-in/listening.ts';
import { closedAtEnd } from '../support/ends.ts';
import { person } from '../support/person.ts';
import { createScripts, type Scripts } from '../support/scripts.ts';
import type { Reply, TestService } from '../support/world.ts';

export const [ANN, BOB, CAROL] = ['ann-key', 'bob-key', 'carol-key'] as const;

/** Parameters of the widest capability. */
export const WIDE_COUNT = 200;

const IDENTITIES = [
  person(ANN, 'human:ann', ['a.*', 'approver:*', 'operator:*']),
  person(BOB, 'human:bob', ['approver:*']),
  person(CAROL, 'human:carol', ['approver:*']),
];

const GRANT_POLICY = {
  allowed_grant_types: ['one_time' as const, 'session_bound' as const],
  default_grant_type: 'one_time' as const,
  expires_in_seconds: 900,
  max_uses: 3,
};

const INPUTS = [
  { name: 'amount', type: 'number' as const, required: false },
  { name: 'note', type: 'string' as const, required: false },
  { name: 'data', type: 'object' as const, required: false },
];

function definitionOf(scripts: Scripts) {
  const plain = (name: string) => ({
    name,
    description: `Tests ${name}`,
    minimum_scope: ['a.use'],
    inputs: INPUTS,
    handler: scripts.handler(name),
  });
  const final = (name: string) => ({ ...plain(name), side_effect: 'irreversible' as const });
  const always = { when: 'always' as const, grant_policy: GRANT_POLICY };
  const preview = (parameters: JsonObject) => ({ action: 'Refund', ...parameters });
  const wide = Array.from({ length: WIDE_COUNT }, (_, at) => ({
    name: `field_${String(at).padStart(3, '0')}`,
    type: 'string' as const,
  }));
  return createService({
    id: 'decision-desk',
    trust: { level: 'anchored', anchoring: { cadence: 'PT1H' } },
    capabilities: [
      defineCapability({ ...plain('move'), side_effect: 'write', approval: always }),
      defineCapability({ ...final('refund'), approval: { ...always, preview } }),
      defineCapability({ ...final('pair'), approval: { ...always, approvals_required: 2 } }),
      defineCapability({ ...final('brief'), approval: { ...always, request_lifetime: 'PT1M' } }),
      defineCapability({ ...final('apart'), approval: { ...always, separation: 'root' } }),
      defineCapability({
        ...final('sealed'),
        approval: { ...always, preview, require: 'passkey' },
      }),
      defineCapability({ ...plain('wide'), side_effect: 'write', inputs: wide, approval: always }),
    ],
  });
}

export interface Asked {
  readonly id: string;
  readonly token: string;
  /** The address of the decision, as the agent got it. */
  readonly link: string;
  /** The same call again, with a grant. */
  resume(approval_grant: string): Promise<Reply>;
}

interface Question {
  readonly capability: string;
  readonly parameters?: JsonObject;
  readonly note?: string;
  readonly token?: string;
}

export interface Rig {
  readonly service: TestService;
  readonly scripts: Scripts;
  readonly url: string;
  /** The origin of the pages. */
  readonly pages: string;
  token(request?: object): Promise<IssueAnswer>;
  /** An agent asks for what needs approval. */
  asked(question: Question): Promise<Asked>;
  /** The request as its requester reads it. */
  read(asked: Asked): Promise<JsonObject & { status: string; grant_id: string }>;
  visitor(): Promise<Visitor>;
  /** Signs in from the link, and waits for the decision. */
  approver(key: string, asked: Pick<Asked, 'link'>): Promise<Visitor>;
}

export interface Visitor {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What the browser complained of. */
  readonly complaints: string[];
  readonly approve: Locator;
  readonly deny: Locator;
  readonly dialog: Locator;
  /** The bar at the end, which says why there is no button. */
  readonly bar: Locator;
  signIn(key: string): Promise<void>;
}

export async function openRig(browser: Browser): Promise<Rig> {
  const scripts = createScripts();
  const sign_in = { registration: 'on' };
  const settings = { identities: IDENTITIES, rate_limits: 'off', sign_in };
  const { service, url } = await listeningDesk({ definition: definitionOf(scripts), settings });
  const visitor = () => openVisitor(browser);
  return {
    service,
    scripts,
    url,
    pages: new URL(pagesUrl(url)).origin,
    token: (request = {}) =>
      service.issue(ANN, { scope: ['a.use'], subject: 'agent:a', ...request }),
    async asked({ capability, parameters = {}, note, token }) {
      const bearer = token ?? (await tokenOf(service));
      const fields = note === undefined ? {} : { note };
      const { body } = await service.invoke(bearer, capability, parameters, { fields });
      assert.equal(body.failure?.type, 'approval_required', JSON.stringify(body));
      const { approval_request_id: id, decision_url: link } = body.failure;
      const resume = (approval_grant: string) =>
        service.invoke(bearer, capability, parameters, { fields: { approval_grant } });
      return { id, token: bearer, link, resume };
    },
    async read({ id, token }) {
      const reply = await service.ask('GET', `/svc/approval_requests/${id}`, { bearer: token });
      assert.equal(reply.status, 200, reply.text);
      return reply.body;
    },
    visitor,
    async approver(key, { link }) {
      const opened = await visitor();
      await opened.page.goto(link);
      await opened.signIn(key);
      await opened.bar.waitFor();
      return opened;
    },
  };
}

/** Each request is of another agent, so none has a history. */
let agents = 0;

async function tokenOf(service: TestService): Promise<string> {
  agents += 1;
  const request = { scope: ['a.use'], subject: `agent:helper-${agents}` };
  return (await service.issue(ANN, request)).token;
}

async function openVisitor(browser: Browser): Promise<Visitor> {
  const context = closedAtEnd(await browser.newContext());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => void complaints.push(message.text()));
  page.on('pageerror', (error) => void complaints.push(error.message));
  page.on('dialog', (dialog) => void complaints.push(`dialog ${dialog.message()}`));
  return {
    context,
    page,
    complaints,
    approve: page.locator('.decide').getByRole('button', { name: /^Approve/ }),
    deny: page.locator('.decide').getByRole('button', { name: /^Deny/ }),
    dialog: page.getByRole('dialog'),
    bar: page.locator('.decide'),
    async signIn(key) {
      await page.getByLabel('Key', { exact: true }).fill(key);
      await page.getByRole('button', { name: 'Sign in with this key' }).click();
    },
  };
}

/** Changes the answers of a method of the API on their way to the page. */
export async function alterAnswers(
  page: Page,
  method: string,
  alter: (answer: never) => void,
): Promise<void> {
  await page.route(`**/console/api/${method}`, async (route: Route) => {
    const response = await route.fetch();
    const answer: unknown = await response.json();
    alter(answer as never);
    await route.fulfill({ response, json: answer });
  });
}
