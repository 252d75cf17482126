/**
 * The five scenes of the demo. Each acts with the real parts, tells their answers, and ends with an error when the outcome
 * is another one than it claims.
 *
 * @module
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, createClient, withRecovery } from 'writ/client';
import { type Agent, type Answer, agentWith, signedInAgent } from './agent.ts';
import type { Guarded } from './guarded.ts';
import type { Narrator } from './narrator.ts';
import type { Person } from './person.ts';
import { raiseBudget } from './tamper.ts';

/** What the scenes act with. The agents are there once a scene has introduced them. */
export interface Stage {
  readonly guard: Guarded;
  readonly narrator: Narrator;
  readonly person: Person;
  readonly signal: AbortSignal;
  /** Takes what has to be closed at the end. */
  readonly atEnd: (end: () => Promise<void>) => void;
  readonly agents: Map<string, Agent>;
}

export interface Scene {
  readonly title: string;
  play(stage: Stage): Promise<void>;
}

/** Milliseconds that the agent waits for the person at most: one hour. */
const APPROVAL_MS_MAX = 3_600_000;

const INVOICES = [
  { payer: 'payer-1', invoice: 'INV-7' },
  { payer: 'payer-2', invoice: 'INV-8' },
] as const;
const REFUND = { payment: 'PAY-1', amount: 80 };

export const SCENES: readonly Scene[] = [
  { title: 'Guard a payments server, and give an agent 300 USD', play: consentToBudget },
  { title: 'Two sub-agents, one budget', play: raceForBudget },
  { title: 'A refund waits for your passkey', play: approveRefund },
  { title: 'You end the agent', play: endAgent },
  { title: 'Somebody edits the database', play: (stage) => editRow(stage, raiseBudget) },
];

async function consentToBudget(stage: Stage): Promise<void> {
  const { guard, narrator, person, signal, atEnd, agents } = stage;
  const { tell, hint } = narrator;
  await tell(
    'say',
    'This MCP server pays whatever it is asked to pay. The guard stands in front of it; a short policy says what costs money and what a person approves.',
  );
  await tell('act', 'writ guard');
  const tools = `payments offers 3 tools at ${guard.url}`;
  await tell('plain', tools);
  await hint(`Watch it in a browser: ${guard.pages}/console/ and ${guard.pages}/agents`);
  await hint(`Sign in there with the key in ${guard.keyFile}`);
  // Before anything happens: the keys that the log is verified with at the end.
  writeFileSync(keysFile(guard), await (await fetch(`${guard.url}/.well-known/jwks.json`)).text());

  await tell(
    'say',
    'An agent connects with the official MCP client, and is sent to the consent page. You let it pay and refund, for at most 300 USD in total.',
  );
  const open = (address: URL) => person.consent(address);
  const agent = await signedInAgent({ url: guard.url, name: 'Bill Desk', open, signal });
  atEnd(() => agent.close());
  agents.set('agent', agent);
  await tell('act', 'agent: tools/list');
  const offered = await agent.tools();
  expect(offered.includes('pay_invoice'), `the agent is offered ${offered.join(', ')}`);
  await tell('good', offered.join(', '));
  await tell('act', 'agent: list_invoices');
  const { invoices } = resultOf(await agent.call('list_invoices')) as { invoices: Invoice[] };
  const texts = invoices.map(({ invoice, amount }) => `${invoice} ${amount} USD`);
  await tell('good', texts.join(', '));
}

async function raceForBudget(stage: Stage): Promise<void> {
  const { guard, narrator, person, atEnd, agents } = stage;
  const { tell } = narrator;
  const agent = agents.get('agent') as Agent;
  await tell(
    'say',
    'The agent passes its authority on to two sub-agents. Both pay an invoice of 200 USD at the same moment; the 300 USD are shared.',
  );
  const payers = await Promise.all(
    INVOICES.map(async ({ payer, invoice }) => {
      const token = await passedOn(guard, agent, payer);
      const opened = await agentWith(payer, guard.url, token);
      atEnd(() => opened.close());
      agents.set(payer, opened);
      return { opened, given: { invoice, amount: 200 } };
    }),
  );
  for (const { opened, given } of payers) {
    await tell('act', `${opened.name}: pay_invoice ${given.invoice}, 200 USD`);
  }
  const answers = await Promise.all(
    payers.map(({ opened, given }) => opened.call('pay_invoice', given)),
  );
  for (const [at, answer] of answers.entries()) {
    const name = payers[at]?.opened.name;
    if (answer.ok) await tell('good', `${name} paid 200 USD to ${answer.result.to}`);
    else await tell('bad', `${name}: ${answer.text}`);
  }
  const refused = answers.filter(({ ok }) => !ok);
  expect(refused.length === 1, `${refused.length} of two payments were refused`);
  expect(
    /^budget_exceeded: [^\n]* 100\.00 remains/.test(refused[0]?.text ?? ''),
    `the second payment was refused otherwise: ${refused[0]?.text}`,
  );
  const { invoices } = resultOf(await agent.call('list_invoices')) as { invoices: Invoice[] };
  const paid = invoices.filter((each) => each.paid);
  expect(paid.length === 1, `the server has ${paid.length} paid invoices`);
  await person.lookAt('/agents', /^My agents/, 'My agents');
  await tell('say', 'The payments server got one payment only.');
}

async function approveRefund({ guard, narrator, person, signal, agents }: Stage): Promise<void> {
  const { tell } = narrator;
  const client = clientOf(guard, (agents.get('agent') as Agent).token());
  const refund = { capability: 'refund_payment', parameters: REFUND };
  await tell('say', 'The policy wants a person for each refund. The agent asks, and waits.');
  await tell('act', `agent: refund_payment ${REFUND.payment}, ${REFUND.amount} USD`);
  const asked = await client.invoke({ ...refund, note: 'The customer paid twice.' });
  expect(
    !asked.ok && asked.failure.type === 'approval_required',
    'the refund was made without a person',
  );
  if (asked.ok) return;
  await tell('bad', `approval_required: ${asked.failure.detail.replace(/apr_\w+/, 'apr_…')}`);
  await tell('plain', 'The agent waits.');
  await tell('say', 'You look at the request on your phone, and sign it with your passkey.');
  const address = new URL(asked.failure.decision_url ?? '');
  const [{ reply, stopped }] = await Promise.all([
    withRecovery(client, refund, { waitMaxMs: APPROVAL_MS_MAX, signal }),
    person.approve(address),
  ]);
  expect(reply.ok, `the agent stopped (${stopped})`);
  if (!reply.ok) return;
  const { result, budget_context: budget } = reply.answer;
  await tell('good', `The agent continues by itself: ${JSON.stringify(result)}`);
  await tell('plain', `${budget?.budget_remaining} of ${budget?.budget_max} USD remain`);
}

async function endAgent({ guard, narrator, person, agents }: Stage): Promise<void> {
  const { tell } = narrator;
  const callers = ['agent', 'payer-1'].map((name) => {
    const { token } = agents.get(name) as Agent;
    return { name, client: clientOf(guard, token()) };
  });
  const read = { capability: 'list_invoices', parameters: {} };
  for (const { name, client } of callers) {
    expect((await client.invoke(read)).ok, `${name} cannot call before it is ended`);
  }
  const isEnded = async () => !(await callers[0]?.client.ask('permissions', {}))?.ok;
  await tell('say', 'You press End on the page My agents.');
  await person.endAgent(isEnded);
  for (const { name, client } of callers) {
    await tell('act', `${name}: list_invoices`);
    const reply = await client.invoke(read);
    expect(!reply.ok && reply.failure.type === 'invalid_token', `${name} goes on after its end`);
    if (!reply.ok) await tell('bad', `${reply.failure.type}: ${reply.failure.detail}`);
  }
  await tell('say', 'The service refuses every further call of the agent and its sub-agents.');
}

/** `edit` changes the row of this token in the database. It is a parameter so that a test can leave the row as it is. */
export async function editRow(
  { guard, narrator, person }: Pick<Stage, 'guard' | 'narrator' | 'person'>,
  edit: (database: string, tokenId: string) => string,
): Promise<void> {
  const { tell } = narrator;
  const owner = clientOf(guard, guard.key);
  const issued = await owner.ask('tokens.issue', {
    subject: 'agent:bookkeeper',
    scope: ['payments.read', 'payments.irreversible'],
    budget: { currency: 'USD', max_amount: 50 },
  });
  if (!issued.ok) throw new Error(`the owner cannot delegate: ${issued.failure.detail}`);
  const bookkeeper = clientOf(guard, issued.answer.token);
  const read = { capability: 'list_invoices', parameters: {} };
  await tell(
    'say',
    'Another agent has 50 USD. Somebody with access to the database makes it 5000.',
  );
  await tell('act', 'bookkeeper: list_invoices');
  const before = await bookkeeper.invoke(read);
  expect(before.ok, 'the bookkeeper cannot call before its row is edited');
  await tell('good', `${(before.answer.result.invoices as unknown[]).length} invoices`);

  await tell('act', edit(guard.database, issued.answer.token_id));
  await tell('act', 'bookkeeper: pay_invoice INV-8, 200 USD');
  const payment = { capability: 'pay_invoice', parameters: { invoice: 'INV-8', amount: 200 } };
  const after = await bookkeeper.invoke(payment);
  expect(
    !after.ok && after.failure.type === 'invalid_token',
    `the service does not refuse the token of the edited row (${after.ok ? 'paid' : after.failure.type})`,
  );
  if (!after.ok) await tell('bad', `${after.failure.type}: ${after.failure.detail}`);
  const alarm = await alarmOf(guard);
  expect(alarm?.id === issued.answer.token_id, 'the guard raised no alarm for the row');
  await tell('bad', `alarm ${alarm?.alarm}: ${alarm?.msg}`);
  await checkStore(guard, narrator);
  const entry = `/console/trust?entry=${before.answer.invocation_id}`;
  await person.lookAt(entry, / is in checkpoint /, 'The browser verifies an entry, too');
}

/** The guard writes it beside its answer, so it may come a moment later. */
async function alarmOf({ log }: Guarded): Promise<Record<string, unknown> | undefined> {
  for (let tries = 0; tries < 100; tries += 1) {
    const alarm = log().find((line) => line.alarm === 'row_altered');
    if (alarm) return alarm;
    await pause(50);
  }
  return undefined;
}

/** `writ fsck` finds the edited row, and `writ verify log` finds the log whole. */
async function checkStore(guard: Guarded, { tell }: Narrator): Promise<void> {
  await tell('act', 'writ fsck');
  const checked = await guard.writ('fsck', '--keys', join(guard.folder, '.writ', 'keys'));
  const found = checked.out.split('\n').find((line) => line.startsWith('budget tok_'));
  expect(checked.status === 1 && found !== undefined, `fsck does not find it:\n${checked.out}`);
  await tell('bad', (found ?? '').replace(/tok_\w+/, 'tok_…'));

  const service = ['--service', guard.url, '--token-file', guard.keyFile];
  const file = join(guard.folder, 'payments.log');
  await tell('act', 'writ audit export --whole --out payments.log');
  await must(guard, ['checkpoint', 'seal', ...service]);
  await must(guard, ['audit', 'export', '--whole', '--out', file, ...service]);
  await tell('act', 'writ verify log payments.log --jwks keys.json');
  const verified = await guard.writ('verify', 'log', file, '--jwks', keysFile(guard));
  const covers = /checkpoint \d+ covers all \d+ entries/.exec(verified.out)?.[0];
  expect(
    verified.status === 0 && /^Verified$/m.test(verified.out) && covers !== undefined,
    `the log does not verify:\n${verified.out}`,
  );
  await tell('good', `Verified: ${covers}`);
}

async function must(guard: Guarded, command: string[]): Promise<void> {
  const { status, out } = await guard.writ(...command);
  expect(status === 0, `writ ${command.slice(0, 2).join(' ')} ended with ${status}: ${out}`);
}

interface Invoice {
  readonly invoice: string;
  readonly amount: number;
  readonly paid: boolean;
}

/** A token for a sub-agent. It has the authority of the agent's token and no budget of its own. */
async function passedOn(guard: Guarded, agent: Agent, name: string): Promise<string> {
  const [, claims = ''] = agent.token().split('.');
  const { jti } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { jti: string };
  const reply = await clientOf(guard, agent.token()).ask('tokens.issue', {
    subject: `agent:${name}`,
    scope: ['payments.read', 'payments.irreversible'],
    parent_token: jti,
  });
  if (!reply.ok) throw new Error(`the agent cannot delegate: ${reply.failure.detail}`);
  return reply.answer.token;
}

function clientOf({ url }: Guarded, credential: string): Client {
  return createClient({ url, credential });
}

function keysFile({ folder }: Guarded): string {
  return join(folder, 'keys.json');
}

function resultOf(answer: Answer): Record<string, unknown> {
  expect(answer.ok, answer.text);
  return answer.result;
}

function expect(isTrue: boolean | undefined, otherwise: string): asserts isTrue {
  if (isTrue !== true) throw new Error(otherwise);
}
