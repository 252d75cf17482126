/**
 * Walks: the files and functions of the product that one live request runs through.
 *
 * Measured by the coverage of V8 for a service in this process, and printed as JSON: ARCHITECTURE.md names the files of
 * a request, and `architecture.process.test.ts` compares.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { serve } from 'writ';
import { DEMO_IDENTITIES, travelDesk } from '../../examples/travel/service.ts';
import type { TokenRecord } from '../../src/storage/port/records.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { admitCall } from './fixtures.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Functions that ran, by path from the root of the repository. */
export type Walk = Record<string, number>;

process.stdout.write(`${JSON.stringify(await measureWalks())}\n`);

/** Each request once, after another one of its kind has filled what is cached. */
async function measureWalks(): Promise<Record<string, Walk>> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-walks-'));
  const environment = {
    PORT: '0',
    WRIT_DATA: folder,
    WRIT_MARK: 'none',
    WRIT_LOG_LEVEL: 'silent',
  };
  const settings = { identities: DEMO_IDENTITIES };
  const start = () => serve(travelDesk, { settings, environment });
  const service = await start();
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  const walks: Record<string, Walk> = {};
  try {
    const send = sendTo(service.url);
    for (const { name, prepare } of [...requestsTo(send), deadCall(send, folder, start)]) {
      await (await prepare())();
      const measured = await prepare();
      await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
      await measured();
      const { result } = await session.post('Profiler.takePreciseCoverage');
      await session.post('Profiler.stopPreciseCoverage');
      walks[name] = touchedFiles(result);
    }
  } finally {
    session.disconnect();
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }
  return walks;
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number }[];
  }[];
}

/** Only files of the product, in the order of their paths. */
function touchedFiles(scripts: readonly ScriptCoverage[]): Walk {
  const touched: [path: string, functions: number][] = [];
  for (const { url, functions } of scripts) {
    if (!url.startsWith('file:')) continue;
    const path = relative(ROOT, fileURLToPath(url));
    if (!path.startsWith('src/')) continue;
    const ran = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length;
    if (ran > 0) touched.push([path, ran]);
  }
  return Object.fromEntries(touched.sort());
}

interface MeasuredRequest {
  readonly name: string;
  /** Makes what the request needs, and returns the request. */
  prepare(): Promise<() => Promise<Body>>;
}

type Body = Record<string, unknown>;
type Send = (path: string, bearer: string, input?: object, key?: string) => Promise<Body>;

function issueBy(send: Send): () => Promise<Body> {
  return () =>
    send('/svc/tokens', 'demo-human-key', {
      scope: ['travel.search', 'travel.book', 'travel.refund'],
      budget: { currency: 'USD', max_amount: 5_000 },
    });
}

/** The call of a process that is gone, which the next start closes. */
function deadCall(send: Send, folder: string, start: () => ReturnType<typeof serve>) {
  return {
    name: 'a call whose process died',
    async prepare() {
      const { token_id } = await issueBy(send)();
      return async () => {
        const store = await openSqlite(join(folder, 'writ.db'));
        const token = (await store.describeToken(token_id as string, 0))?.token as TokenRecord;
        const invocation_id = 'inv-0123456789ab';
        const facts = { ids: { invocation_id } };
        await admitCall(store, token, { now: store.now(), intent: { invocation_id, facts } });
        const next = await start();
        while ((await store.openIntents(token.root_principal, 1)).length > 0) await turn();
        await next.close();
        await store.close();
        return {};
      };
    },
  };
}

function requestsTo(send: Send): MeasuredRequest[] {
  const issue = issueBy(send);
  const token = async () => (await issue()).token as string;
  return [
    { name: 'issue a token', prepare: async () => issue },
    {
      name: 'permissions',
      async prepare() {
        const bearer = await token();
        return () => send('/svc/permissions', bearer, {});
      },
    },
    {
      name: 'invoke book_flight',
      async prepare() {
        const bearer = await token();
        const route = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
        const found = await send('/svc/invoke/search_flights', bearer, { parameters: route });
        const { cheapest_flight } = found.result as { cheapest_flight: { quote: unknown } };
        const parameters = { quote: cheapest_flight.quote, passenger: 'Ann Lee' };
        return () => send('/svc/invoke/book_flight', bearer, { parameters }, randomUUID());
      },
    },
    {
      name: 'approve a request',
      async prepare() {
        const parameters = { booking_id: 'BK-1000', amount: 250, reason: 'cancelled' };
        const asked = await send('/svc/invoke/issue_refund', await token(), { parameters });
        const { approval_request_id } = asked.failure as { approval_request_id: string };
        const grant = { approval_request_id, grant_type: 'one_time' };
        return () => send('/svc/approval_grants', 'demo-approver-key', grant);
      },
    },
    {
      name: 'query the audit log',
      async prepare() {
        const bearer = await token();
        return () => send('/svc/audit', bearer, {});
      },
    },
  ];
}

function sendTo(url: string): Send {
  return async (path, bearer, input, key) => {
    const headers = {
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
      ...(key && { 'idempotency-key': key }),
    };
    const body = JSON.stringify(input);
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body });
    const answer = (await response.json()) as Body;
    if (response.ok || response.status === 403) return answer;
    throw new Error(`Cannot measure ${path}: ${JSON.stringify(answer)}`);
  };
}
