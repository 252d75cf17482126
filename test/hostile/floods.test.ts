/**
 * Floods beside one honest client, over real sockets, from the same address and with the limits that are on by
 * default: every call of the honest client is answered, and the service holds nothing afterwards.
 *
 * How long the calls take is measured by `npm run bench -- --attacks`, never asserted here.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'vitest';
import { connected, listening } from '../http/socket.ts';
import {
  ALICE,
  eventually,
  patientLoad,
  STORES,
  type TestService,
  testService,
} from '../support/world.ts';

interface Flood {
  readonly what: string;
  /** Connections of this kind at any time. */
  readonly connections: number;
  /** Uses one connection. The flood opens another when it is over. */
  attack(socket: Socket, tokens: Tokens): void;
}

interface Tokens {
  /** Of an agent that may call, and attacks. */
  readonly agent: string;
  /** An approval request that stays pending. */
  readonly pending: string;
}

const HOST = 'Host: 127.0.0.1\r\n';
const JSON_TYPE = 'Content-Type: application/json\r\n';

const post = (path: string, bearer: string, body: string, more = '') =>
  `POST ${path} HTTP/1.1\r\n${HOST}${JSON_TYPE}Authorization: Bearer ${bearer}\r\n${more}` +
  `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

const SEARCH = JSON.stringify({
  parameters: { origin: 'SEA', destination: 'SFO', date: '2026-12-01' },
});
const STREAM = JSON.stringify({ ...JSON.parse(SEARCH), stream: true });
const RPC = { jsonrpc: '2.0', id: 1 };
const MCP = 'Accept: application/json, text/event-stream\r\n';

const FLOODS: readonly Flood[] = [
  {
    what: 'wrong tokens, read',
    connections: 3,
    attack(socket, { agent }) {
      let guess = 0;
      const ask = () => socket.write(post('/svc/invoke/x', `${agent}${guess++}`, SEARCH));
      socket.on('data', () => setTimeout(ask, 5));
      ask();
    },
  },
  {
    what: 'wrong tokens in a pipeline, never read',
    connections: 2,
    attack: (socket, { agent }) =>
      void socket.pause().write(post('/svc/audit', `${agent}x`, '{}').repeat(100)),
  },
  {
    what: 'heads that never end',
    connections: 12,
    attack: (socket) => dripping(socket, `GET /svc/manifest HTTP/1.1\r\n${HOST}`, 'A: b\r\n'),
  },
  {
    what: 'bodies that never end',
    connections: 12,
    attack: (socket, { agent }) =>
      dripping(socket, post('/svc/invoke/x', agent, ' '.repeat(9_999)).slice(0, -9_990), ' '),
  },
  {
    what: 'chunks of one byte',
    connections: 3,
    attack: (socket) =>
      dripping(
        socket,
        `POST /svc/handshake HTTP/1.1\r\n${HOST}${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n`,
        '1\r\n \r\n',
      ),
  },
  {
    what: 'connections that say nothing',
    connections: 12,
    attack: () => undefined,
  },
  {
    what: 'clients that close their half at once',
    connections: 4,
    attack: (socket, { agent }) => void socket.end(post('/svc/invoke/x', agent, SEARCH)),
  },
  {
    what: 'clients that break the connection while they are served',
    connections: 4,
    attack(socket, { agent }) {
      socket.write(post('/svc/invoke/search_flights', agent, SEARCH));
      setTimeout(() => socket.resetAndDestroy(), 5);
    },
  },
  {
    what: 'large documents, never read',
    connections: 3,
    attack: (socket) =>
      void socket.pause().write(`GET /openapi.json HTTP/1.1\r\n${HOST}\r\n`.repeat(100)),
  },
  {
    what: 'streams, never read',
    connections: 3,
    attack: (socket, { agent }) =>
      void socket.pause().write(post('/svc/invoke/search_flights', agent, STREAM).repeat(20)),
  },
  {
    what: 'tools over MCP, never read',
    connections: 3,
    attack(socket, { agent }) {
      const list = JSON.stringify({ ...RPC, method: 'tools/list', params: {} });
      socket.pause().write(post('/mcp', agent, list, MCP).repeat(20));
    },
  },
  {
    what: 'waits for a decision that does not come',
    connections: 20,
    attack: (socket, { agent, pending }) =>
      void socket.write(
        `GET /svc/approval_requests/${pending} HTTP/1.1\r\n${HOST}` +
          `Authorization: Bearer ${agent}\r\nPrefer: wait=60\r\n\r\n`,
      ),
  },
  {
    what: 'bodies that are deep and long',
    connections: 3,
    attack(socket, { agent }) {
      const deep = `{"parameters":${'['.repeat(100_000)}`;
      socket.on('data', () => undefined);
      socket.write(post('/svc/invoke/search_flights', agent, deep).repeat(3));
    },
  },
  {
    what: 'what is no HTTP',
    connections: 3,
    attack: (socket) => void socket.write('\x16\x03\x01\x02\x00\x01'.repeat(1_000)),
  },
];

function dripping(socket: Socket, head: string, piece: string): void {
  socket.write(head);
  const timer = setInterval(() => socket.write(piece), 20);
  socket.on('close', () => clearInterval(timer));
}

/** In milliseconds: attackers and the service share the processor of this test. */
const REOPEN_MS = 100;

interface Started {
  /** Whether as many connections were made as it has. */
  hasBegun(): boolean;
  stop(): void;
}

/** Opens connections until it is stopped. Each is replaced when the service or the attack has ended it. */
function startFlood(port: number, flood: Flood, tokens: Tokens): Started {
  const sockets = new Set<Socket>();
  let isOver = false;
  let made = 0;
  const open = async () => {
    if (isOver) return;
    const socket = await connected(port).catch(() => undefined);
    if (!socket) {
      setTimeout(() => void open(), REOPEN_MS);
      return;
    }
    made += 1;
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      setTimeout(() => void open(), REOPEN_MS);
    });
    if (isOver) socket.destroy();
    else flood.attack(socket, tokens);
  };
  for (let count = 0; count < flood.connections; count += 1) void open();
  return {
    hasBegun: () => made >= flood.connections,
    stop() {
      isOver = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** One of each kind of call that an agent makes. Resolves with the statuses. */
async function honestRound(url: string, token: string): Promise<number[]> {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const ask = async (path: string, body: string) => {
    const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body });
    const text = await reply.text();
    assert.doesNotMatch(text, /"success":false|"isError":true|event: failed/, text);
    return reply.status;
  };
  const list = JSON.stringify({ ...RPC, method: 'tools/list', params: {} });
  return Promise.all([
    ask('/svc/invoke/search_flights', SEARCH),
    ask('/svc/invoke/search_flights', STREAM),
    ask('/svc/permissions', '{}'),
    ask('/svc/audit', '{}'),
    ask('/mcp', list),
  ]);
}

async function pendingRequest({ invoke }: TestService, token: string): Promise<string> {
  const parameters = { route: 'SEA-SFO', date: '2026-12-01' };
  const { body } = await invoke(token, 'charter_jet', parameters);
  assert.equal(body.failure?.type, 'approval_required', JSON.stringify(body));
  return body.failure.approval_request_id;
}

const ROUNDS = 5;

/** A busy machine must not fail it. */
const PATIENT = { timeout: 120_000 };

for (const { name, open } of STORES) {
  test(`an honest client is served beside every flood at once (${name})`, PATIENT, async () => {
    const load = patientLoad();
    const bounds = { stallMs: 500, sweepMs: 50 };
    const service = await testService({ store: (await open()).url, load, bounds });
    const port = await listening(service);
    const budget = { currency: 'USD', max_amount: 100_000 };
    const scope = ['travel.search', 'travel.read', 'travel.charter'];
    const attacker = await service.issue(ALICE, { scope, budget, subject: 'agent:attacker' });
    const honest = await service.issue('demo-agent-key', { scope: ['travel.search'] });
    const pending = await pendingRequest(service, attacker.token);
    const tokens = { agent: attacker.token, pending };

    const floods = FLOODS.map((flood) => startFlood(port, flood, tokens));
    await eventually(() => floods.every(({ hasBegun }) => hasBegun()));
    const statuses = new Set<number>();
    try {
      for (let round = 0; round < ROUNDS; round += 1) {
        const answered = await honestRound(`http://127.0.0.1:${port}`, honest.token);
        for (const status of answered) statuses.add(status);
      }
    } finally {
      for (const { stop } of floods) stop();
    }

    assert.deepEqual([...statuses], [200]);
    await eventually(() => load.inWork() === 0);
    assert.deepEqual(
      service.log.filter((line) => /"level":"(?:error|fatal)"/.test(line)),
      [],
    );
  });
}
