/**
 * A desk whose store can be put back to an older copy, asked over a real socket.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { beforeEach } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { type RunningService, serve } from '../../src/http/serve.ts';
import { createLog } from '../../src/log.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import { temporaryFolder } from '../support/ends.ts';
import { copyOf, freshDatabase, runSql } from '../support/postgres.ts';
import { ONE_TIME } from '../support/scripts.ts';

/** How often a handler ran. */
export let calls = 0;
const definition = createService({
  id: 'recovered-desk',
  trust: { level: 'anchored', anchoring: { cadence: 'P1D' } },
  capabilities: [
    defineCapability({
      name: 'look',
      description: 'Reads, and counts that it did',
      side_effect: 'read',
      minimum_scope: ['w.use'],
      handler: () => ({ calls: ++calls }),
    }),
    defineCapability({
      name: 'act',
      description: 'Acts, and counts that it did',
      side_effect: 'write',
      minimum_scope: ['w.use'],
      approval: {
        when: 'always',
        grant_policy: ONE_TIME,
      },
      handler: () => ({ calls: ++calls }),
    }),
  ],
});

export const IDENTITIES = [
  { key: 'alice-key', principal: 'human:alice@example.com', scopes: ['w.use'] },
  { key: 'bob-key', principal: 'human:bob@example.com', scopes: ['approver:*'] },
  { key: 'first-key', principal: 'service:first', scopes: ['operator:*'] },
];
export const SECOND = {
  key: 'second-key',
  principal: 'service:second',
  scopes: ['operator:recover'],
};

export let folder: string;

/** A folder of its own for every test of the file that calls this. */
export function ownFolder(): void {
  beforeEach(() => {
    folder = temporaryFolder();
    configure(IDENTITIES);
  });
}

/** YAML, because Node imports a JSON file once and would not see a change. */
export function configure(identities: readonly object[]): void {
  writeFileSync(join(folder, 'writ.config.yaml'), JSON.stringify({ identities }));
}

export interface Place {
  url: string;
  /** Keeps a copy of the store as it is now. */
  keep(): Promise<void>;
  /** Puts the copy back. */
  restore(): Promise<void>;
  /** Takes the store away. The keys stay. */
  remove(): Promise<unknown>;
  /** Changes rows behind the service's back. */
  edit(sql: string): Promise<unknown>;
}

export const PLACES: Record<string, () => Promise<Place>> = {
  SQLite: async () => ({
    url: `sqlite:${join(folder, 'data/writ.db')}`,
    keep: async () => cpSync(join(folder, 'data'), join(folder, 'copy'), { recursive: true }),
    restore: async () => {
      rmSync(join(folder, 'data'), { recursive: true });
      cpSync(join(folder, 'copy'), join(folder, 'data'), { recursive: true });
    },
    remove: async () => {
      for (const part of ['', '-wal', '-shm'])
        rmSync(join(folder, `data/writ.db${part}`), { force: true });
    },
    edit: async (sql) => {
      const database = new DatabaseSync(join(folder, 'data/writ.db'));
      database.exec(sql);
      database.close();
    },
  }),
  PostgreSQL: async () => {
    const database = await freshDatabase();
    let copy = database;
    const place: Place = {
      url: database.url,
      keep: async () => {
        copy = await copyOf(place.url);
      },
      restore: async () => {
        place.url = (await copyOf(copy.url)).url;
      },
      remove: () => runSql(place.url, 'DROP SCHEMA public CASCADE; CREATE SCHEMA public'),
      edit: (sql) => runSql(place.url, sql),
    };
    return place;
  },
};

function environment({ url }: Place): Record<string, string> {
  return {
    WRIT_CONFIG: join(folder, 'writ.config.yaml'),
    WRIT_STORE: url,
    WRIT_DATA: join(folder, 'data'),
    WRIT_MARK: join(folder, 'mark.db'),
  };
}

/** One life of the service, on a port of its own. */
export async function life<Result>(
  place: Place,
  run: (desk: Desk) => Promise<Result>,
): Promise<Result> {
  const service = await serve(definition, {
    settings: { port: 0 },
    environment: environment(place),
    folder,
    signals: false,
    log: createLog('silent'),
  });
  try {
    return await run(deskAt(service));
  } finally {
    await service.close();
  }
}

export type Desk = ReturnType<typeof deskAt>;

function deskAt({ url }: RunningService) {
  const ask = async (method: string, path: string, bearer?: string, body?: object) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(bearer && { authorization: `Bearer ${bearer}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
    return { status: response.status, body: (await response.json()) as any };
  };
  return {
    url,
    ask,
    issue: async () => {
      const { body } = await ask('POST', '/svc/tokens', 'alice-key', { scope: ['w.use'] });
      return body.token as string;
    },
    invoke: (token: string, name: string, more: object = {}) =>
      ask('POST', `/svc/invoke/${name}`, token, { parameters: {}, ...more }),
    seal: async () => {
      const { body } = await ask('POST', '/svc/operator/checkpoints', 'first-key');
      return (await ask('GET', `/svc/checkpoints/${body.checkpoint.checkpoint_id}`)).body;
    },
  };
}

export async function writ(args: string[], place: Place, secrets: Record<string, string> = {}) {
  const said = { out: '', err: '' };
  const status = await main(args, {
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    env: { ...environment(place), ...secrets },
  });
  return { status, ...said };
}

export const FIRST_OPERATOR = { WRIT_CLIENT_CREDENTIAL: 'first-key' };

/** A store with a token, a pending request and a seal; a copy of it; and a longer life after that. */
export async function rolledBack(place: Place) {
  const before = await life(place, async (desk) => {
    const token = await desk.issue();
    assert.equal((await desk.invoke(token, 'look')).status, 200);
    // One request that was granted, whose grant nobody used, and one that still waits.
    const asked = await desk.invoke(token, 'act');
    const { approval_request_id } = asked.body.failure;
    const decision = { approval_request_id, grant_type: 'one_time' };
    assert.equal((await desk.ask('POST', '/svc/approval_grants', 'bob-key', decision)).status, 200);
    assert.equal((await desk.invoke(token, 'act')).body.failure.type, 'approval_required');
    return { token, checkpoint: await desk.seal() };
  });
  await place.keep();
  const lost = await life(place, async (desk) => {
    for (let i = 0; i < 3; i++) await desk.invoke(before.token, 'look');
    return desk.seal();
  });
  await place.restore();
  return { ...before, lost };
}
