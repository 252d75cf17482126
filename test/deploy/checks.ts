/**
 * What a deployment must do, each as one check with what was found. Bounded in calls and in time.
 *
 * @module
 */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Ask, clientOf, type Reply } from './client.ts';
import { REPOSITORY } from './files.ts';
import { type Balancer, ended, type Stack } from './stack.ts';

export interface Finding {
  readonly check: string;
  readonly isMet: boolean;
  readonly found: string;
}

/** How many calls each part of the trial makes. */
export interface Extent {
  readonly clients: number;
  readonly calls: number;
}

const PRICE = 25;

/** A process without a heartbeat counts as dead after 20 seconds; the next pass closes its calls. */
const RECOVERY_MS_MAX = 90_000;

interface Trial {
  readonly stack: Stack;
  readonly ask: Ask;
  readonly extent: Extent;
  note(check: string, isMet: boolean, found: string): void;
}

/** All checks in order. `onFinding` hears of each as it is made. */
export async function tryDeployment(
  stack: Stack,
  extent: Extent,
  onFinding: (finding: Finding) => void = () => {},
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const { ask, close } = clientOf(stack);
  const note = (check: string, isMet: boolean, found: string) => {
    const finding = { check, isMet, found };
    findings.push(finding);
    onFinding(finding);
  };
  const trial: Trial = { stack, ask, extent, note };
  try {
    for (const proxy of stack.proxies) {
      await callsAndStreams(trial, proxy);
      await signIn(trial, proxy);
    }
    await budget(trial);
    await killedReplica(trial);
    for (const proxy of stack.proxies) await rollingRestart(trial, proxy);
    await consistent(trial);
  } finally {
    close();
  }
  return findings;
}

async function callsAndStreams({ stack, ask, note }: Trial, proxy: Balancer): Promise<void> {
  const { name } = proxy;
  const { token } = await issue({ stack, ask }, proxy, 1_000);
  const bought = await invoke(ask, proxy, token, 'one');
  note(`${name}: a call`, bought.status === 200, `status ${bought.status}`);

  // The second is the same page to the service, which decodes the path.
  for (const path of ['/metrics', '/%6detrics']) {
    const { status } = await ask(proxy, path, { bearer: stack.keys.operator });
    note(`${name}: ${path} is not public`, status === 404, `status ${status}`);
  }

  const months = 6;
  const stream = await ask(proxy, '/svc/invoke/export_report', {
    bearer: token,
    body: { parameters: { months }, stream: true },
  });
  const events = stream.text.match(/^event: \w+/gm) ?? [];
  // A proxy that buffers hands over everything at the end, in one part.
  const first = stream.chunks.find((part) => part.includes('event: progress')) ?? '';
  const isWhole = events.length >= months + 1 && stream.text.includes('event: completed');
  const isLive = first !== '' && !first.includes('event: completed');
  const found = `${events.length} events in ${stream.chunks.length} parts`;
  note(`${name}: a stream is passed on event by event`, isWhole && isLive, found);

  const large = await ask(proxy, '/svc/invoke/buy_lounge_pass', {
    bearer: token,
    body: { parameters: { airport: 'x'.repeat(300_000) } },
  });
  const type = large.body.failure?.type ?? 'no failure';
  // Caddy answers 502 to a body whose rest the service did not read.
  const isRefused = large.status === 413 || (name === 'caddy' && large.status === 502);
  note(`${name}: a long body is refused`, isRefused, `${large.status} ${type}`);
}

/** Begins at one proxy and ends at another replica, if chance has it: sessions are in the store. */
async function signIn({ stack, ask, note }: Trial, proxy: Balancer): Promise<void> {
  const { name } = proxy;
  const { publicUrl, provider } = stack;
  const guarded = await ask(proxy, '/agents');
  const to = new URL(String(guarded.headers.location ?? 'none:'), publicUrl);
  const isOwn = to.origin === publicUrl && to.pathname === '/sign-in';
  note(`${name}: a page sends to sign in`, isOwn, `${guarded.status} ${to.pathname}`);

  const metadata = await ask(proxy, '/.well-known/oauth-authorization-server');
  const { issuer } = metadata.body;
  note(`${name}: metadata has the public address`, issuer === publicUrl, `${issuer}`);

  const named = await ask(proxy, '/sign-in');
  const link = /\/sign-in\/start\?[^"]+/.exec(named.text)?.[0]?.replaceAll('&amp;', '&') ?? '/';
  const begun = await ask(proxy, link);
  const location = String(begun.headers.location);
  const cookie = cookiesOf(begun);
  const callback = await provider.answer(location, 'ann-1', publicUrl);
  const done = await ask(proxy, `${callback.pathname}${callback.search}`, { headers: { cookie } });
  const session = [cookie, cookiesOf(done)].join('; ');
  const page = await ask(proxy, '/agents', { headers: { cookie: session } });
  const isSigned = callback.origin === publicUrl && page.status === 200;
  const secure = String(done.headers['set-cookie']).includes('Secure');
  const found = `callback ${callback.origin}, page ${page.status}, Secure ${secure}`;
  note(`${name}: a person signs in`, isSigned && secure, found);
}

function cookiesOf({ headers }: Reply): string {
  const set = headers['set-cookie'] ?? [];
  return (Array.isArray(set) ? set : [set]).map((each) => each.split(';')[0]).join('; ');
}

/** More calls at once than the budget pays, over all proxies and replicas. */
async function budget(trial: Trial): Promise<void> {
  const { stack, note, extent } = trial;
  const paid = Math.floor(extent.calls / 2);
  const { token, token_id } = await issue(trial, stack.proxies[0] as Balancer, paid * PRICE);
  const load = startLoad(trial, { token, name: 'budget', calls: extent.calls });
  const replies = await load.ended;
  const done = replies.filter(({ status }) => status === 200).length;
  const refused = replies.filter(({ body }) => body.failure?.type === 'budget_exceeded').length;
  const spent = await spentOf(trial, token_id);
  const turned = replies.filter(isTurnedAway).length;
  const isUsedUp = done === paid || turned > 0;
  note(
    'budget: calls at once do not overspend it',
    isUsedUp &&
      spent === done * PRICE &&
      done <= paid &&
      done + refused + turned === replies.length,
    `${replies.length} calls, ${done} done, ${refused} refused, ${spent} of ${paid * PRICE} spent`,
  );
}

async function killedReplica(trial: Trial): Promise<void> {
  const { stack, note, extent } = trial;
  const [proxy] = stack.proxies as [Balancer];
  const { token, token_id } = await issue(trial, proxy, 10_000_000);
  const later = await issue(trial, proxy, 10_000_000);
  const load = startLoad(trial, { token, name: 'killed', calls: extent.calls * 2 });
  await load.until(extent.calls / 2);
  const killed = stack.replicas[0];
  if (killed === undefined) throw new Error('Cannot try: there is no replica');
  await ended(killed.process, 'SIGKILL');
  const replies = await load.ended;
  const done = replies.filter(({ status }) => status === 200);
  const lost = replies.length - done.length;
  note(
    'kill -9: the other replicas go on',
    await goesOn(trial, later.token),
    `${replies.length} calls, ${done.length} acknowledged, ${lost} got an error ${faultsOf(replies)}`,
  );

  const until = Date.now() + RECOVERY_MS_MAX;
  let entries = await entriesOf(trial, token, 'killed-');
  // The dead process is noticed after 20 seconds. A call that it had not admitted leaves nothing to recover.
  while (Date.now() < until && (await spentOf(trial, token_id)) !== chargedBy(entries)) {
    await pause(1_000);
    entries = await entriesOf(trial, token, 'killed-');
  }
  const ids = new Map<string, number>();
  for (const { invocation_id: id } of entries) ids.set(id, (ids.get(id) ?? 0) + 1);
  const missing = done.filter(({ body }) => ids.get(body.invocation_id) !== 1).length;
  note(
    'kill -9: each acknowledged call has exactly one entry',
    missing === 0 && done.length > 0,
    `${done.length} acknowledged, ${missing} without one`,
  );
  const spent = await spentOf(trial, token_id);
  const unknown = entries.filter(isUnknown).length;
  note(
    'kill -9: what the dead replica had begun is closed and stays charged',
    spent === chargedBy(entries) && entries.length <= replies.length,
    `${entries.length} entries, ${unknown} of unknown outcome, ${spent} spent`,
  );
  await stack.start(0);
  const back = await readyOf(trial);
  note('kill -9: the replica comes back', back, back ? 'ready' : 'not ready');
}

/** In milliseconds: balancers notice a dead replica by failed calls and checks. */
const NOTICED_MS_MAX = 15_000;

/** Whether a whole round of calls over all proxies is answered again. */
async function goesOn(trial: Trial, token: string): Promise<boolean> {
  const { extent } = trial;
  const until = Date.now() + NOTICED_MS_MAX;
  const calls = extent.clients * 2;
  for (let round = 1; Date.now() < until; round++) {
    const replies = await startLoad(trial, { token, name: `after-${round}`, calls }).ended;
    if (!replies.some(isCut)) return true;
    await pause(500);
  }
  return false;
}

const isUnknown = ({ failure_type }: Entry) => failure_type === 'outcome_unknown';

/** A call whose answer was lost was done all the same; one of unknown outcome stays charged. */
function chargedBy(entries: readonly Entry[]): number {
  return entries.filter((entry) => entry.success || isUnknown(entry)).length * PRICE;
}

/** One replica after the other: out of the balancer, SIGTERM, start, back. */
async function rollingRestart(trial: Trial, proxy: Balancer): Promise<void> {
  const { stack, note, extent } = trial;
  const { setDown } = proxy;
  if (!setDown) return;
  const { token } = await issue(trial, proxy, 10_000_000);
  const options = { name: `roll-${proxy.name}`, calls: extent.calls * 100, proxies: [proxy] };
  const load = startLoad(trial, { token, ...options });
  const codes: (number | null)[] = [];
  for (const [index, replica] of stack.replicas.entries()) {
    await setDown(index, true);
    codes.push(await ended(replica.process, 'SIGTERM'));
    await stack.start(index);
    await setDown(index, false);
    await load.until(load.count() + extent.clients);
  }
  load.finish();
  const replies = await load.ended;
  const faults = replies.filter(isCut);
  const turned = replies.filter(isTurnedAway).length;
  note(
    `${proxy.name}: a rolling restart cuts no request`,
    faults.length === 0 && codes.every((code) => code === 0),
    `${replies.length} calls, ${faults.length} cut, ${turned} turned away, exit codes ${codes} ${faultsOf(replies)}`,
  );
}

/** The service itself refused it before anything happened, because of load: the caller may try again. */
function isTurnedAway({ status, body }: Reply): boolean {
  return status === 503 && body.failure?.type === 'service_unavailable';
}

/** Neither done nor refused by the service: the proxy answered, or nothing did. */
function isCut(reply: Reply): boolean {
  return reply.status !== 200 && !isTurnedAway(reply);
}

/** Some of the different errors, on one line. */
function faultsOf(replies: readonly Reply[]): string {
  const texts = replies.filter(isCut).map(({ proxy, status, text, body }) => {
    const words = body.failure?.detail ?? text.replaceAll(/<[^>]*>|\s+/g, ' ').trim();
    return `${proxy} ${status} ${words.slice(0, 60)}`;
  });
  return [...new Set(texts)].slice(0, 4).join('; ');
}

/** The whole store, by the command that operators use. */
async function consistent({ stack, note }: Trial): Promise<void> {
  const fsck = [join(REPOSITORY, 'dist/src/cli/bin.js'), 'fsck'];
  const where = { WRIT_STORE: stack.storeUrl, WRIT_DATA: join(stack.folder, 'data') };
  // The mark of the trial is beside the store, in the database that deploy/writ.config.mjs names.
  const mark = stack.storeUrl.replace(/\/writ$/, '/writ_mark');
  const { PATH = '' } = process.env;
  const env = { PATH, ...where, WRIT_MARK: mark };
  const { stdout, code } = await promisify(execFile)(process.execPath, fsck, {
    cwd: join(stack.folder, 'data'),
    env,
  }).then(
    ({ stdout: text }) => ({ stdout: text, code: 0 }),
    (error: { stdout?: string; stderr?: string; code?: number }) => ({
      stdout: `${error.stdout}${error.stderr}`,
      code: error.code ?? 1,
    }),
  );
  note('writ fsck finds the store consistent', code === 0, stdout.trim().split('\n').at(-1) ?? '');
}

interface Load {
  /** Answers so far. */
  count(): number;
  until(count: number): Promise<void>;
  /** Sends no further call. */
  finish(): void;
  readonly ended: Promise<Reply[]>;
}

interface LoadOptions {
  readonly token: string;
  /** Begins the reference of each call. */
  readonly name: string;
  readonly calls: number;
  readonly proxies?: readonly Balancer[];
}

/** `clients` callers that call one after the other, through every proxy in turn. */
function startLoad(
  { stack, ask, extent }: Trial,
  { token, name, calls, proxies = stack.proxies }: LoadOptions,
): Load {
  const replies: Reply[] = [];
  let begun = 0;
  let isFinished = false;
  const client = async () => {
    while (begun < calls && !isFinished) {
      begun += 1;
      const proxy = proxies[begun % proxies.length] as Balancer;
      replies.push(await invoke(ask, proxy, token, `${name}-${begun}`));
    }
  };
  const clients = Promise.all(Array.from({ length: extent.clients }, client));
  return {
    count: () => replies.length,
    async until(count) {
      while (replies.length < count && replies.length < calls) await pause(5);
    },
    finish() {
      isFinished = true;
    },
    ended: clients.then(() => replies),
  };
}

function invoke(ask: Ask, proxy: Balancer, token: string, reference: string): Promise<Reply> {
  return ask(proxy, '/svc/invoke/buy_lounge_pass', {
    bearer: token,
    body: { parameters: {}, client_reference_id: reference },
    // With it, a client may send again what got no answer.
    headers: { 'idempotency-key': reference },
  });
}

async function issue(
  { stack, ask }: Pick<Trial, 'stack' | 'ask'>,
  proxy: Balancer,
  max_amount: number,
): Promise<{ token: string; token_id: string }> {
  const budgetOf = { currency: 'USD', max_amount };
  const body = { scope: ['travel.extras', 'travel.read'], budget: budgetOf };
  const reply = await ask(proxy, '/svc/tokens', { bearer: stack.keys.alice, body });
  if (reply.status !== 200) throw new Error(`Cannot issue a token: ${reply.status} ${reply.text}`);
  return reply.body;
}

async function spentOf({ stack, ask }: Trial, tokenId: string): Promise<number> {
  const [proxy] = stack.proxies as [Balancer];
  const reply = await ask(proxy, `/svc/tokens/${tokenId}`, { bearer: stack.keys.alice });
  return reply.body.budget_spent;
}

interface Entry {
  readonly invocation_id: string;
  readonly success: boolean;
  readonly failure_type?: string;
  readonly client_reference_id?: string;
}

/** The entries of the calls whose reference begins so. */
async function entriesOf({ stack, ask }: Trial, token: string, name: string): Promise<Entry[]> {
  const [proxy] = stack.proxies as [Balancer];
  const entries: Entry[] = [];
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const path = `/svc/audit?capability=buy_lounge_pass&limit=1000${more}`;
    const reply: Reply = await ask(proxy, path, { bearer: token, body: {} });
    if (reply.status !== 200) throw new Error(`Cannot read the log: ${reply.text}`);
    entries.push(...reply.body.entries);
    cursor = reply.body.next_cursor ?? null;
  } while (cursor !== null);
  return entries.filter(({ client_reference_id: reference }) => reference?.startsWith(name));
}

async function readyOf({ stack, ask }: Trial): Promise<boolean> {
  const answers = await Promise.all(stack.proxies.map((proxy) => ask(proxy, '/readyz')));
  return answers.every(({ status }) => status === 200);
}
