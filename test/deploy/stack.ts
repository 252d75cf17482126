/**
 * The deployment of docs/operating.md on this machine: PostgreSQL, PgBouncer in transaction mode, replicas of the travel
 * desk that share keys and mark, and the reverse proxies that are installed, each with its file of deploy/.
 *
 * Everything listens on loopback and writes into one temporary folder. What is missing is named, and the rest runs.
 *
 * @module
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type TestProvider, testProvider, WEB_SECRET } from '../oidc/provider.ts';
import { daemonProgram, isRoot } from '../support/debian.ts';
import { freePorts } from '../support/free-ports.ts';
import { runSql, startPostgres } from '../support/postgres.ts';
import {
  CERTIFICATE,
  CERTIFICATE_KEY,
  caddyFile,
  deployed,
  haproxyFile,
  nginxFile,
  type ProxyPlace,
  pgbouncerFile,
  REPOSITORY,
} from './files.ts';

interface Replica {
  readonly port: number;
  process: ChildProcess;
  /** What all its processes wrote to standard error. */
  log: string;
}

export interface Balancer {
  readonly name: 'nginx' | 'haproxy' | 'caddy';
  readonly port: number;
  /** Sends no new request to a replica and waits for those that it has, or sends requests again. */
  setDown?(replica: number, isDown: boolean): Promise<void>;
}

export interface Stack {
  /** What could not be tried, and why. */
  readonly missing: readonly string[];
  readonly proxies: readonly Balancer[];
  readonly replicas: readonly Replica[];
  readonly provider: TestProvider;
  /** The public address: the name and port that the proxies answer for. */
  readonly publicUrl: string;
  /** The store without a pooler between. */
  readonly storeUrl: string;
  readonly pooler: string;
  readonly folder: string;
  readonly keys: Readonly<Record<'alice' | 'operator', string>>;
  start(replica: number): Promise<void>;
  stop(): Promise<void>;
}

const READY_MS_MAX = 60_000;

/** After a reload of nginx, and at most for the requests that HAProxy still has at a replica. */
const DRAIN_MS = 2_000;
const DRAIN_MS_MAX = 30_000;

/** Of the service at the identity provider. */
const CLIENT_ID = 'deployed-desk';

const hash = (text: string) => createHash('sha256').update(text).digest('hex');

type Ends = (() => unknown)[];

export async function openStack(count: number): Promise<Stack> {
  const ends: Ends = [];
  const stop = async () => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  try {
    return { ...(await open(count, ends)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function open(count: number, ends: Ends): Promise<Omit<Stack, 'stop'>> {
  // Open to the user that PgBouncer runs as: nothing secret is in it but keys of this run, in folders of their own.
  const folder = mkdtempSync(join(isRoot() ? '/tmp' : tmpdir(), 'writ-deploy-'));
  chmodSync(folder, 0o755);
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  const missing: string[] = [];
  const postgres = await startPostgres();
  ends.push(postgres.stop);
  for (const name of ['writ', 'writ_mark']) await runSql(postgres.url, `CREATE DATABASE ${name}`);
  await runSql(postgres.url, deployed('pgbouncer.sql'));
  const databasePort = Number(new URL(postgres.url).port);
  const pooler = await startPooler(folder, databasePort, { ends, missing });

  const ports = await freePorts(count + 6);
  const replicaPorts = ports.slice(0, count);
  const [first = 0, second = 0, third = 0, ...plain] = ports.slice(count);
  const provider = await testProvider();
  ends.push(provider.stop);
  const publicUrl = `https://localhost:${first}`;
  await provider.register(webClient(publicUrl));
  const keys = { alice: `wk_${token()}`, operator: `wk_${token()}` };
  writeSecrets(folder, keys, provider.issuer);
  const place = (port: number, index: number): ProxyPlace => ({
    port,
    plainPort: plain[index] ?? 0,
    replicas: replicaPorts,
    folder,
  });
  const environment = {
    WRIT_PUBLIC_URL: publicUrl,
    DATABASE_HOST: `127.0.0.1:${pooler.port}`,
    MARK_HOST: `127.0.0.1:${pooler.port}`,
    DATABASE_OPTIONS: pooler.options,
  };
  const replicas: Replica[] = [];
  const start = async (index: number): Promise<void> => {
    const port = replicaPorts[index] as number;
    const child = launchReplica(folder, port, environment);
    const replica = replicas[index] ?? { port, process: child, log: '' };
    replica.process = child;
    replicas[index] = replica;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      replica.log += text;
    });
    ends.push(() => ended(child));
    await untilOpen(port, child, () => replica.log);
  };
  for (let index = 0; index < count; index += 1) await start(index);
  const proxies = [
    await startNginx(place(first, 0), { ends, missing }),
    await startHaproxy(place(second, 1), { ends, missing }),
    await startCaddy(place(third, 2), { ends, missing }),
  ].filter((each) => each !== undefined);
  const storeUrl = postgres.url.replace(/\/postgres$/, '/writ');
  return {
    missing,
    proxies,
    replicas,
    provider,
    publicUrl,
    storeUrl,
    folder,
    keys,
    start,
    pooler: pooler.name,
  };
}

interface Parts {
  readonly ends: Ends;
  readonly missing: string[];
}

/** Where the replicas connect: PgBouncer, or PostgreSQL itself where PgBouncer is missing. */
async function startPooler(folder: string, databasePort: number, { ends, missing }: Parts) {
  const program = await daemonProgram('pgbouncer', 'pgbouncer');
  if ('missing' in program) {
    missing.push(program.missing);
    return { name: 'none', port: databasePort, options: '' };
  }
  const { stdout } = await promisify(execFile)(program.path, ['--version']);
  const version = /PgBouncer (\d+)\.(\d+)/.exec(stdout) ?? ['', '0', '0'];
  const hasPrepared = Number(version[1]) > 1 || Number(version[2]) >= 21;
  const [port = 0] = await freePorts(1);
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, pgbouncerFile({ port, databasePort, folder, hasPrepared }));
  writeFileSync(join(folder, 'userlist.txt'), '"writ" "unused"\n');
  const user = isRoot() ? ['-u', 'nobody'] : [];
  await startDaemon(program.path, [...user, file], { port, ends, folder });
  return {
    name: version[0],
    port,
    options: hasPrepared ? '' : 'prepared_statements=off',
  };
}

async function startNginx(
  place: ProxyPlace,
  { ends, missing }: Parts,
): Promise<Balancer | undefined> {
  const program = await daemonProgram('nginx', 'nginx-light');
  if ('missing' in program) return void missing.push(program.missing);
  const { folder, port, replicas } = place;
  const file = join(folder, 'nginx.conf');
  const args = ['-p', folder, '-c', file];
  const down = new Set<number>();
  writeFileSync(file, nginxFile(place));
  await startDaemon(program.path, [...args, '-g', 'daemon off;'], { port, ends, folder });
  return {
    name: 'nginx',
    port,
    async setDown(replica, isDown) {
      down[isDown ? 'add' : 'delete'](replicas[replica] as number);
      writeFileSync(file, nginxFile(place, down));
      await promisify(execFile)(program.path, [...args, '-s', 'reload']);
      // The worker before finishes what it has begun; its last connections must have reached the replica.
      await pause(DRAIN_MS);
    },
  };
}

async function startHaproxy(
  place: ProxyPlace,
  { ends, missing }: Parts,
): Promise<Balancer | undefined> {
  const program = await daemonProgram('haproxy', 'haproxy');
  if ('missing' in program) return void missing.push(program.missing);
  const { folder, port } = place;
  const [file, socket, pem] = ['haproxy.cfg', 'haproxy.sock', 'desk.pem'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  writeFileSync(pem, readFileSync(CERTIFICATE, 'utf8') + readFileSync(CERTIFICATE_KEY, 'utf8'));
  writeFileSync(file, haproxyFile(place, socket, pem));
  await startDaemon(program.path, ['-db', '-f', file], { port, ends, folder });
  return {
    name: 'haproxy',
    port,
    async setDown(replica, isDown) {
      const server = `writ/writ-${replica + 1}`;
      await say(socket, `set server ${server} state ${isDown ? 'drain' : 'ready'}`);
      const until = Date.now() + DRAIN_MS_MAX;
      // Out: it has no request left. Back: a check has found it ready, so the next one may go out.
      const isDone = ({ sessions, isUp }: Served) => (isDown ? sessions === 0 : isUp);
      while (!isDone(await servedBy(socket, `writ-${replica + 1}`)) && Date.now() < until)
        await pause(50);
    },
  };
}

interface Served {
  readonly sessions: number;
  readonly isUp: boolean;
}

/** What HAProxy says of a replica: a line of comma-separated fields, of which these are the fifth and the eighteenth. */
async function servedBy(socket: string, server: string): Promise<Served> {
  const lines = (await say(socket, 'show stat')).split('\n').map((line) => line.split(','));
  const line = lines.find(([backend, name]) => backend === 'writ' && name === server) ?? [];
  return { sessions: Number(line[4]), isUp: line[17] === 'UP' };
}

/** One command to HAProxy, and its answer. */
async function say(socket: string, command: string): Promise<string> {
  const line = connect(socket);
  let answer = '';
  line.setEncoding('utf8').on('data', (text: string) => {
    answer += text;
  });
  line.end(`${command}\n`);
  await once(line, 'close');
  return answer;
}

async function startCaddy(
  place: ProxyPlace,
  { ends, missing }: Parts,
): Promise<Balancer | undefined> {
  const program = await daemonProgram('caddy', 'caddy');
  if ('missing' in program) return void missing.push(program.missing);
  const { folder, port } = place;
  const file = join(folder, 'Caddyfile');
  writeFileSync(file, caddyFile(place));
  const args = ['run', '--config', file, '--adapter', 'caddyfile'];
  await startDaemon(program.path, args, { port, ends, folder });
  return { name: 'caddy', port };
}

async function startDaemon(
  path: string,
  args: readonly string[],
  { port, ends, folder }: { port: number; ends: Ends; folder: string },
): Promise<void> {
  const { PATH = '' } = process.env;
  const env = { PATH: `${PATH}:/usr/sbin:/sbin`, HOME: folder, XDG_DATA_HOME: folder };
  const child = spawn(path, [...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text = (text + part).slice(-8_192);
    });
  }
  // Not SIGKILL: the workers of nginx would outlive it.
  ends.push(() => ended(child, 'SIGTERM'));
  await untilOpen(port, child, () => text);
}

function launchReplica(folder: string, port: number, environment: Record<string, string>) {
  const { PATH = '', XDG_STATE_HOME } = process.env;
  return spawn(process.execPath, [join(REPOSITORY, 'dist/examples/travel/main.js')], {
    cwd: folder,
    env: {
      PATH,
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      PORT: String(port),
      ...(XDG_STATE_HOME && { XDG_STATE_HOME }),
      WRIT_DATA: join(folder, 'data'),
      WRIT_TRUSTED_PROXIES: '127.0.0.1',
      WRIT_LOG_LEVEL: 'warn',
      CREDENTIALS_DIRECTORY: join(folder, 'secrets'),
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

/** The settings of deploy/writ.config.mjs, and an identity provider. */
function writeSecrets(folder: string, keys: Stack['keys'], issuer: string): void {
  const secrets = join(folder, 'secrets');
  mkdirSync(secrets, { mode: 0o700 });
  const identities = [
    {
      principal: 'human:alice@example.com',
      key_sha256: hash(keys.alice),
      scopes: ['travel.*'],
      subjects: ['agent:*'],
      caller_class: 'internal',
    },
    {
      principal: 'service:operator',
      key_sha256: hash(keys.operator),
      scopes: ['operator:*'],
      caller_class: 'internal',
    },
  ];
  const write = (name: string, text: string) =>
    writeFileSync(join(secrets, name), text, { mode: 0o600 });
  write('identities.json', JSON.stringify(identities));
  write('database_password', token());
  write('mark_password', token());
  const sign_in = { client_id: CLIENT_ID, client_secret: WEB_SECRET };
  const audience = 'urn:example:travel-desk';
  writeFileSync(
    join(folder, 'writ.config.mjs'),
    `import settings from ${JSON.stringify(join(REPOSITORY, 'deploy/writ.config.mjs'))};
export default { ...settings, oidc: ${JSON.stringify([{ issuer, audience, sign_in }])} };
`,
    { mode: 0o600 },
  );
  if (isRoot()) chownSync(secrets, 0, 0);
}

function webClient(publicUrl: string) {
  return {
    client_id: CLIENT_ID,
    client_secret: WEB_SECRET,
    redirect_uris: [`${publicUrl}/sign-in/callback`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
}

function token(): string {
  return randomBytes(24).toString('base64url');
}

/** Ends a process that this file started. */
export async function ended(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL') {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
  return child.exitCode;
}

async function untilOpen(port: number, child: ChildProcess, log: () => string): Promise<void> {
  const deadline = Date.now() + READY_MS_MAX;
  for (;;) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true));
      socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
    });
    if (isOpen) return;
    const isOver = child.exitCode !== null || child.signalCode !== null || Date.now() > deadline;
    if (isOver) throw new Error(`Cannot start ${child.spawnfile}: it wrote "${log()}"`);
    await pause(50);
  }
}
