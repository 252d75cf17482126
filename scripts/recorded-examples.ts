/**
 * Records the examples of the API description: tells the scenarios to the travel desk over HTTP and keeps
 * one answered exchange of each operation, and one refusal of each failure type.
 *
 * Two recordings of the same code are the same text: volatile values have stand-ins. Long lists are cut.
 *
 * @module
 */

import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type ServeOptions, type Service, serve } from 'writ';
import { DEMO_IDENTITIES, travelDesk } from '../examples/travel/service.ts';
import { askedJet, deskOver, OPERATOR_KEY, wholeOf } from '../src/conformance/desk.ts';
import { surfaceScenarios } from '../src/conformance/scenarios.ts';
import { overHttp, type Surface } from '../src/conformance/surface.ts';
import { createLog } from '../src/log.ts';
import type { Examples, RecordedExample } from '../src/openapi/examples.generated.ts';
import { type OperationName, operations } from '../src/protocol/operations.ts';
import type { JsonObject } from '../src/protocol/primitives.ts';
import { withStandIns } from './stand-ins.ts';

interface Exchange {
  readonly name: OperationName;
  readonly request: JsonObject;
  readonly status: number;
  readonly body: JsonObject;
}

type Tell = (surface: Surface) => Promise<void>;

/** Items of a list, and capabilities of a document: they show the form of the others. */
const SHOWN_MAX = 2;

/** What a capability defines is not counted: it shows nothing of the protocol. */
const OF_CAPABILITIES = ['parameters', 'preview', 'result'];

/** The travel desk, which seals a checkpoint at its start and then only when a story asks for one. */
const DESK: Service = {
  ...travelDesk,
  trust: { level: 'anchored', anchoring: { cadence: 'PT1H' } },
};

export async function recordedExamples(): Promise<Examples> {
  const exchanges: Exchange[] = [];
  await atDesk(DESK, {}, exchanges, async (surface) => {
    for (const tell of stories()) await tell(surface);
  });
  await recordOperators(exchanges);
  const names = Object.keys(operations) as OperationName[];
  return Object.fromEntries(
    names.map((name) => [name, exampleOf(name, exchanges)]),
  ) as unknown as Examples;
}

/** As a module that the API description imports: one line for each operation. */
export function examplesFile(examples: Examples): string {
  const lines = Object.entries(examples).map(
    ([name, example]) => `  ${JSON.stringify(name)}: ${JSON.stringify(example)},`,
  );
  return `/**
 * One recorded exchange of every operation, and its refusals. Made by \`npm run generate\`.
 *
 * @module
 */

import type { OperationName } from '../protocol/operations.ts';
import type { JsonObject } from '../protocol/primitives.ts';

export interface RecordedExample {
  readonly request: JsonObject;
  /** By status. */
  readonly answers: { readonly 200: JsonObject; readonly 202?: JsonObject };
  /** By failure type. */
  readonly refusals: Readonly<Record<string, { readonly status: number; readonly body: JsonObject }>>;
}

export type Examples = Readonly<Record<OperationName, RecordedExample>>;

export const EXAMPLES: Examples = {
${lines.join('\n')}
};
`;
}

/** The fullest answer of each status, and the first refusal of each type. */
function exampleOf(name: OperationName, exchanges: readonly Exchange[]): RecordedExample {
  const found = exchanges.filter((exchange) => exchange.name === name);
  const fullest = (status: number) =>
    found
      .filter((exchange) => exchange.status === status)
      .sort((one, other) => fieldsOf(other).size - fieldsOf(one).size)[0];
  const [answered, pending] = [fullest(200), fullest(202)];
  if (!answered) throw new Error(`Cannot show ${name}: no story has an answer of it`);

  const refusals: Record<string, { status: number; body: JsonObject }> = {};
  for (const { status, body } of found.filter((exchange) => exchange.status >= 400)) {
    refusals[(body.failure as { type: string }).type] ??= { status, body };
  }
  const answers = { 200: answered.body, ...(pending && { 202: pending.body }) };
  return { request: answered.request, answers, refusals };
}

/** The paths of the fields of an exchange; items of a list share theirs. */
function fieldsOf({ request, body }: Exchange): Set<string> {
  const found = new Set<string>();
  const visit = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, part] of Object.entries(value)) {
      const path = Array.isArray(value) ? at : `${at}.${key}`;
      found.add(path);
      if (!OF_CAPABILITIES.includes(key)) visit(part, path);
    }
  };
  visit({ request, body }, '');
  return found;
}

/** Those of the log first: where an entry stands in it then depends on no other story. */
function stories(): Tell[] {
  const found: { subject: string; tell: Tell }[] = [];
  let subject = '';
  let surface: Surface | undefined;
  surfaceScenarios('as it is recorded', () => surface as Surface, {
    describe(name, body) {
      subject = name;
      body();
    },
    test(_, body) {
      const tell: Tell = (given) => {
        surface = given;
        return body();
      };
      found.push({ subject, tell });
    },
  });
  const ofLog = ({ subject: about }: { subject: string }) => Number(about === 'log');
  return found.sort((one, other) => ofLog(other) - ofLog(one)).map(({ tell }) => tell);
}

/** What no scenario brings the desk to: a supplier that does not answer, and a webhook. */
async function recordOperators(exchanges: Exchange[]): Promise<void> {
  const target = createServer((_, response) => response.end()).listen(0, '127.0.0.1');
  await once(target, 'listening');
  const { port } = target.address() as AddressInfo;
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`;
  const url = `http://127.0.0.1:${port}`;
  const webhooks = [{ name: 'pager', url, secret, allow_inside: true }];
  const late = new EventEmitter();
  const handler = async () => ({ heard: await once(late, 'end') });
  const code = new Map(DESK.code);
  const pass = code.get('buy_lounge_pass');
  if (!pass) throw new Error('Cannot record: the desk sells no lounge pass');
  code.set('buy_lounge_pass', { ...pass, deadlineMs: 40, handler });
  try {
    await atDesk({ ...DESK, code }, { webhooks }, exchanges, async (surface) => {
      await tellOfOperators(surface);
      // A desk that closes waits for its handlers.
      late.emit('end');
    });
  } finally {
    target.close();
  }
}

async function tellOfOperators(surface: Surface): Promise<void> {
  const desk = deskOver(surface);
  const budget = { currency: 'USD', max_amount: 300 };
  const { token } = await desk.rootToken(['travel.extras'], { budget });
  const { body } = await desk.invoke(token, 'buy_lounge_pass');
  await desk.answer('operator.indeterminate', {}, OPERATOR_KEY);
  const invocation_id = String(body.invocation_id);
  const found = { invocation_id, outcome: 'not_executed', reason: 'no pass was sold' } as const;
  await desk.answer('operator.reconcile', found, OPERATOR_KEY);
  await askedJet(desk);
  const listed = () => wholeOf(desk).answer('operator.deliveries', {}, OPERATOR_KEY);
  while ((await listed()).deliveries.some(({ state }) => state !== 'delivered')) await pause(20);
  await desk.answer('operator.deliveries', {}, OPERATOR_KEY);
}

/** Opens a desk for the stories. Its surface records; the whole one beside it does not. */
async function atDesk(
  definition: Service,
  settings: object,
  exchanges: Exchange[],
  tell: Tell,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-examples-'));
  const given = { identities: DEMO_IDENTITIES, port: 0, store: 'memory:', rate_limits: 'off' };
  const service = await serve(definition, {
    settings: { ...given, ...settings } as NonNullable<ServeOptions['settings']>,
    environment: {},
    folder,
    signals: false,
    log: createLog('silent'),
  });
  try {
    const http = overHttp(service.url);
    await tell({ whole: http, ask: recorded(http, exchanges) });
  } finally {
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Keeps every exchange that is not a stream. */
function recorded(surface: Surface, exchanges: Exchange[]): Surface['ask'] {
  return async (name, request, credential) => {
    const now = Date.now();
    const told = await surface.ask(name, request, credential);
    const { status = 0, body, events } = told;
    const exchange = withStandIns({ request, body }, now);
    if (events.length === 0) exchanges.push({ name, status, ...cut(exchange) });
    return told;
  };
}

function cut<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value), (key, part) => {
    if (Array.isArray(part)) return part.slice(0, SHOWN_MAX);
    if (key !== 'capabilities') return part;
    return Object.fromEntries(Object.entries(part).slice(0, SHOWN_MAX));
  });
}
