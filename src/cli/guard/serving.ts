/**
 * Serves a guard: over HTTP with the pages of people and MCP, and with `--stdio` also to the agent that started it.
 *
 * Opens the service as every other one; nothing here runs around its checks. Standard output belongs to the agent
 * where there is one.
 *
 * @module
 */

import { type Config, type GivenSettings, loadConfig } from '../../config/config.ts';
import { printable } from '../../domain/wire/printable.ts';
import type { GuardPolicy } from '../../guard/policy/read.ts';
import type { UpstreamPolicy } from '../../guard/policy/upstream-schema.ts';
import { type ServedService, serve } from '../../http/serve.ts';
import { createLog, type Logger } from '../../log.ts';
import { mcpSurface } from '../../mcp/http.ts';
import { type PipedServer, serveMcpOverPipes } from '../../mcp/stdio.ts';
import { system } from '../../platform.ts';
import type { Runtime } from '../../service/runtime.ts';
import { CREDENTIAL_VARIABLE, credentialOf } from '../login/session.ts';
import type { Io } from '../shell/command.ts';
import { type Agent, agentGateway, type Given, openAgent } from './agent.ts';
import { connectUpstream, upstreamAccount } from './connect.ts';
import { type GuardFiles, hasPolicy, refuseExposed } from './files.ts';
import { firstRun, laterRun } from './first-run.ts';
import { type LiveGuard, openLiveGuard } from './live.ts';
import type { GuardOptions } from './options.ts';
import { type Owner, ownerIdentity, ownerOf } from './owner.ts';
import type { GuardState } from './state.ts';
import { welcome } from './welcome.ts';

/** Serves until the process is asked to stop, or the agent has ended the input. */
export async function serveGuard(options: GuardOptions, files: GuardFiles, io: Io): Promise<void> {
  const config = await readConfig(io);
  const owner = ownerOf(config);
  const tell = options.isStdio ? io.err : io.out;
  const log = createLog(config.log_level);
  const open = async (policy: UpstreamPolicy) => {
    refuseExposed(policy.command ?? [], files, [config.data, config.keys]);
    return connectUpstream(policy, { files, env: io.env, platform: system, log });
  };
  const run = { files, options, platform: system, io, tell, open };
  const later = laterLines(options, owner);
  let first = hasPolicy(files) ? laterRun(run) : await firstRun(run);
  const agents = new Set<Agent>();
  const opening = openLiveGuard({
    files,
    platform: system,
    tell,
    open(policy) {
      const upstream = first ?? open(policy);
      first = undefined;
      return upstream;
    },
    account: (policy) => upstreamAccount(policy, io.env),
    async onChange(state) {
      tell(later(state));
      for (const agent of agents) await agent.follow(givenBy(state));
    },
  });
  // Nothing else would close what the first run opened.
  const live = await opening.finally(() => first?.close());
  try {
    later(live.state());
    await serveLive({ options, io, live, owner, tell, log, agents });
  } finally {
    await live.close();
  }
}

interface Serving {
  readonly options: GuardOptions;
  readonly io: Io;
  readonly live: LiveGuard;
  readonly owner: Owner | undefined;
  readonly log: Logger;
  readonly agents: Set<Agent>;
  tell(text: string): void;
}

async function serveLive(serving: Serving): Promise<void> {
  const { options, io, live, owner, tell, log } = serving;
  let runtime: Runtime | undefined;
  const surface = (opened: Runtime) => {
    runtime = opened;
    return mcpSurface(opened);
  };
  const settings = settingsOf(live.state(), serving);
  // Before anything is printed: who reads that the guard is there may stop it at once.
  const stopped = io.untilStopped?.() ?? NEVER;
  const running = await serve(
    live.state().definition,
    { settings, environment: io.env, signals: false, log },
    [surface],
  );
  let pipes: PipedServer | undefined;
  try {
    await live.follow(running);
    if (options.isStdio) pipes = await servePipes(serving, running, () => runtime as Runtime);
    tell(welcome(live.state(), { running, owner, isStdio: options.isStdio }));
    await Promise.race([stopped, pipes?.ended ?? NEVER]);
  } finally {
    await pipes?.close();
    for (const agent of serving.agents) agent.close();
    await running.close();
  }
}

const NEVER = new Promise<never>(() => {});

/** The settings of this program; the environment and the configuration file override them. */
async function readConfig(io: Io): Promise<Config> {
  const config = await loadConfig(process.cwd(), QUIET, io.env);
  if (config.workers === 1) return config;
  throw new Error('a guard is one process; leave out WRIT_WORKERS');
}

/** The person at the terminal reads the same lines. */
const QUIET: GivenSettings = { log_level: 'warn' };

function settingsOf({ reviewed }: GuardState, { owner, options }: Serving): GivenSettings {
  const { guard: id, tools, tools_as } = reviewed.policy;
  const scopes = [...tools.values()].map(({ scope }) => scope);
  return {
    ...QUIET,
    // MCP clients register themselves; a person decides on each of them.
    sign_in: { registration: 'on' },
    mcp_tools: options.tools ?? tools_as,
    ...(owner && { identities: [ownerIdentity(owner, { id, scopes })] }),
    ...(options.isStdio && { port: 0 }),
  };
}

/**
 * What of a changed policy waits for the next start, as lines for the person: settings are read once. The first
 * state is what runs.
 */
function laterLines({ tools: chosen }: GuardOptions, owner: Owner | undefined) {
  let started: GuardPolicy | undefined;
  let last = '';
  return ({ reviewed: { policy } }: GuardState): string => {
    started ??= policy;
    const given = new Set([...started.tools.values()].map(({ scope }) => scope));
    const isGiven = (scope: string) => given.has(scope) || scope.startsWith(`${policy.guard}.`);
    const wanted = [...policy.tools.values()].map(({ scope }) => scope);
    const fresh = owner ? [...new Set(wanted)].filter((scope) => !isGiven(scope)) : [];
    const lines = [
      ...(chosen === undefined && policy.tools_as !== started.tools_as
        ? ['"tools_as" takes effect when you start the guard again']
        : []),
      ...fresh.map(
        (scope) => `The owner can give the scope "${scope}" when you have started the guard again`,
      ),
    ];
    const text = lines.map((line) => `${printable(line)}\n`).join('');
    if (text === last) return '';
    last = text;
    return text;
  };
}

/** MCP on standard input and output, for the agent that started this process. */
async function servePipes(
  { options, io, live, owner, tell, agents }: Serving,
  { config }: Pick<ServedService, 'config'>,
  runtime: () => Runtime,
): Promise<PipedServer> {
  if (!io.pipes) throw new Error('standard input or output is not open');
  const onError = (error: unknown) => {
    tell(`${printable(error instanceof Error ? error.message : String(error))}\n`);
  };
  const serving = { platform: system, tools: config.mcp_tools, onError };
  const isOwnToken = options.tokenFile !== undefined || io.env[CREDENTIAL_VARIABLE] !== undefined;
  if (isOwnToken || !owner) {
    const token = credentialOf(options.tokenFile, io);
    const gateway = agentGateway(runtime, () => token);
    return serveMcpOverPipes(gateway, io.pipes, serving);
  }
  const agent = await openAgent({
    runtime,
    ownerKey: owner.key,
    folder: config.data,
    given: givenBy(live.state()),
    platform: system,
    onError,
  });
  agents.add(agent);
  return serveMcpOverPipes(agent.gateway, io.pipes, serving);
}

/** What the policy gives to an agent that starts the guard itself. */
function givenBy({ reviewed: { policy }, off }: GuardState): Given {
  const { guard, tools, budget } = policy;
  const offered = [...tools].filter(([capability]) => !off.has(capability));
  const scope = [...new Set(offered.map(([, { scope: needed }]) => needed))].sort();
  return {
    guard,
    scope,
    ...(budget && { budget: { currency: budget.currency, max_amount: budget.amount } }),
  };
}
