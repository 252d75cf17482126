/**
 * `writ guard --stdio`: an agent starts the guard and speaks MCP to it, with the delegation that the owner gives.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Client } from '@modelcontextprotocol/client';
import { test, vi } from 'vitest';
import { call, newAgent, VERSIONS } from '../mcp/agent.ts';
import {
  ask,
  type GuardFolder,
  guard,
  guardFolder,
  ownerKey,
  type RunningCommand,
  type RunOptions,
  tokenFor,
} from './command.ts';

type Transport = Parameters<Client['connect']>[0];

/** The official client over the streams of the command. */
async function agentOf(
  { pipes, ended, printed }: RunningCommand,
  version: (typeof VERSIONS)[number] = VERSIONS[0],
): Promise<Client> {
  const transport: Transport = {
    async start() {
      createInterface({ input: pipes.output }).on('line', (line) =>
        transport.onmessage?.(JSON.parse(line)),
      );
    },
    async send(message) {
      pipes.input.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      pipes.input.end();
      transport.onclose?.();
    },
  };
  const client = newAgent(version);
  const isOver = ended.then(() => Promise.reject(new Error(printed())));
  await Promise.race([client.connect(transport), isOver]);
  isOver.catch(() => {});
  return client;
}

const POLICY = (place: GuardFolder, more: string) => `guard: notes
upstream:
  command: ${JSON.stringify(place.command.slice(1))}
${more}`;

const TOOLS = `tools:
  read_note: { effect: read, cost: 1 USD }
  write_note: { effect: write, approval: always }
`;

/** A folder in which all tools of the policy were reviewed. */
async function reviewedFolder(more: string): Promise<GuardFolder> {
  const place = guardFolder();
  writeFileSync(place.policyFile, POLICY(place, more));
  assert.equal(await guard(place, ['review'], { answers: ['y', 'y'] }).ended, 0);
  return place;
}

function started(place: GuardFolder, options: RunOptions = {}, words: readonly string[] = []) {
  return guard(place, ['--stdio', ...words], options);
}

for (const version of VERSIONS) {
  test(`writ guard --stdio serves the official client in ${version.version}, until its input ends`, async () => {
    const place = guardFolder();
    const running = guard(place, ['--stdio', '--id', 'notes', ...place.command]);
    const agent = await agentOf(running, version);

    const { tools } = await agent.listTools();
    const read = await call(agent, 'read_note', { id: 'a' });
    await agent.close();

    assert.deepEqual(
      tools.map(({ name }) => name),
      ['read_note'],
    );
    assert.equal(read.isError, false);
    assert.match(read.text, /read_note was called/);
    assert.equal(await running.ended, 0);
    assert.deepEqual(running.out, []);
    assert.match(running.printed(), /This agent: MCP on standard input and output/);
  });
}

test('the agent that starts a guard spends the budget of the policy once, however often it starts it', async () => {
  const place = await reviewedFolder(`budget: 2 USD\n${TOOLS}`);
  const first = started(place);
  const one = await agentOf(first);
  const answers = [await call(one, 'read_note', { id: 'a' })];
  await one.close();
  await first.ended;
  const two = await agentOf(started(place));

  answers.push(await call(two, 'read_note', { id: 'a' }));
  answers.push(await call(two, 'read_note', { id: 'a' }));

  assert.deepEqual(
    answers.map(({ isError }) => isError),
    [false, false, true],
  );
  assert.equal(answers[2]?.answer.failure.type, 'budget_exceeded');
  assert.equal(statSync(join(place.folder, '.writ', 'guard-agent.json')).mode & 0o777, 0o600);
  assert.equal(place.calls().length, 2);
});

test('a write waits for the owner, who decides at an address that works meanwhile', async () => {
  const place = await reviewedFolder(TOOLS);
  const running = started(place);
  const agent = await agentOf(running);

  const asked = await call(agent, 'write_note', { id: 'a', text: 'b' });
  const { failure } = asked.answer;
  const { approval_request_id, decision_url } = failure;
  const page = await fetch(decision_url, { redirect: 'manual' });
  const url = await running.url();
  const approved = await ask(url, '/svc/approval_grants', ownerKey(place), {
    approval_request_id,
    grant_type: 'one_time',
  });
  const done = await call(agent, 'write_note', { id: 'a', text: 'b' });

  assert.equal(failure.type, 'approval_required');
  assert.ok(page.status < 400);
  assert.equal(approved.status, 200);
  assert.equal(done.isError, false);
  assert.deepEqual(place.calls(), [{ name: 'write_note', given: { id: 'a', text: 'b' } }]);
});

test('a delegation that the owner ended is not given again by another start', async () => {
  const place = await reviewedFolder(TOOLS);
  const first = started(place);
  const agent = await agentOf(first);
  const url = await first.url();
  const { token_id } = JSON.parse(
    readFileSync(join(place.folder, '.writ', 'guard-agent.json'), 'utf8'),
  );
  const revoked = await ask(url, '/svc/tokens/revoke', ownerKey(place), { token_id });
  await agent.close();
  await first.ended;

  const second = started(place);

  assert.equal(revoked.status, 200);
  assert.equal(await second.ended, 2);
  assert.match(second.printed(), /the owner ended the delegation of agent:stdio/);
});

test('an edited policy gives the agent the scopes of new tools, and no second budget', async () => {
  const paid = 'tools:\n  read_note: { effect: read, cost: 0.3 USD }\n';
  const place = await reviewedFolder(`budget: 0.4 USD\n${paid}`);
  const running = started(place);
  const agent = await agentOf(running);
  assert.equal((await call(agent, 'read_note', { id: 'a' })).isError, false);

  const more = `budget: 0.5 USD\n${paid}  write_note: { effect: write }\n`;
  writeFileSync(place.policyFile, POLICY(place, more));
  await running.until('The changed policy is in force');
  assert.equal(await guard(place, ['review'], { answers: ['y'] }).ended, 0);

  await vi.waitFor(
    async () => {
      const done = await call(agent, 'write_note', { id: 'a', text: 'b' });
      assert.equal(done.isError, false, done.text);
    },
    { timeout: 20_000, interval: 50 },
  );
  const second = await call(agent, 'read_note', { id: 'a' });
  assert.equal(second.answer.failure?.type, 'budget_exceeded');
  assert.match(second.text, /0\.2/);
  writeFileSync(place.policyFile, POLICY(place, more.replace('0.5', '0.1')));
  await vi.waitFor(
    async () => {
      const third = await call(agent, 'read_note', { id: 'a' });
      assert.equal(third.answer.failure?.type, 'budget_exceeded');
      assert.match(third.text, /budget is 0\.00/);
    },
    { timeout: 20_000, interval: 50 },
  );
});

test('writ guard --stdio takes a token of its own instead of that of the owner', async () => {
  const place = await reviewedFolder(TOOLS);
  const other = guard(place, []);
  const token = await tokenFor(await other.url(), ownerKey(place), ['notes.write']);
  const running = started(place, { env: { WRIT_CLIENT_CREDENTIAL: token } });
  const agent = await agentOf(running);

  const { tools } = await agent.listTools();

  assert.deepEqual(
    tools.map(({ name }) => name),
    ['write_note'],
  );
  assert.equal(existsSync(join(place.folder, '.writ', 'guard-agent.json')), false);
});

test('with tools_as search an agent gets the pair', async () => {
  const place = await reviewedFolder(`tools_as: search\n${TOOLS}`);
  const agent = await agentOf(started(place));

  const { tools } = await agent.listTools();

  assert.deepEqual(tools.map(({ name }) => name).sort(), [
    'call_capability',
    'search_capabilities',
  ]);
});

test('a secret of the upstream is in no file, no output and no answer', async () => {
  const canary = 'canary-51c7f0e2';
  const place = guardFolder();
  const options = { env: { NOTES_TOKEN: canary } };
  const running = guard(
    place,
    ['--stdio', '--id', 'notes', '--env', 'NOTES_TOKEN', ...place.command],
    options,
  );
  const agent = await agentOf(running);
  const read = await call(agent, 'read_note', { id: 'a' });
  await agent.close();
  await running.ended;

  assert.equal(read.isError, false);
  assert.ok(!JSON.stringify(read).includes(canary));
  assert.ok(!running.printed().includes(canary));
  for (const entry of readdirSync(place.folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = readFileSync(join(entry.parentPath, entry.name));
    assert.ok(!bytes.includes(canary), entry.name);
  }
  assert.match(readFileSync(place.policyFile, 'utf8'), /NOTES_TOKEN/);
});
