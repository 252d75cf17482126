/**
 * `writ guard`: puts budgets, approvals and the log in front of tools that exist already.
 *
 * Finds what is asked for: to serve, to review, to check, or to print the schema of a policy.
 *
 * @module
 */

import { printable } from '../../domain/wire/printable.ts';
import { openGate } from '../../guard/gate.ts';
import { ruleWarnings } from '../../guard/policy/rule-warnings.ts';
import { policyJsonSchema } from '../../guard/policy/schema.ts';
import type { Upstream } from '../../guard/upstream.ts';
import { createLog } from '../../log.ts';
import { system } from '../../platform.ts';
import { type Group, type Io, leaf } from '../shell/command.ts';
import { EXIT_FAILED, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { flag } from '../shell/options.ts';
import { JSON_OPTION, printJson } from '../shell/output.ts';
import { connectUpstream, upstreamAccount } from './connect.ts';
import { guardFiles, type Reviewed, readGuardFiles } from './files.ts';
import { GUARD_OPERANDS, GUARD_OPTIONS, POLICY_OPTION, readOptions } from './options.ts';
import { reviewCommand } from './review.ts';
import { serveGuard } from './serving.ts';
import { type GuardState, pinnedTools, stateOf } from './state.ts';
import { offLines } from './welcome.ts';

const SUMMARY = 'put budgets, approvals and the log in front of an MCP server or an HTTP API';

export function guardCommand(): Group {
  return {
    name: 'guard',
    summary: SUMMARY,
    own: serveCommand,
    commands: [reviewCommand, checkCommand, schemaCommand],
  };
}

const serveCommand = leaf({
  name: 'guard',
  summary: SUMMARY,
  about: `Puts governance in front of an MCP server or an HTTP API: one that it starts (after --), one at an address (--url), or an API (--openapi). The first run shows its tools, asks which ones you offer, and writes writ-guard.yaml (the policy, which you edit) and writ-guard.lock.json (the tools as you reviewed them). Later the policy names the upstream. Every run serves the tools over MCP and HTTP, with sign-in, approvals, budgets and a verifiable log. A tool that changes is off until "writ guard review". An edited policy takes effect without a restart.

Settings such as PORT and WRIT_DATA are those of every service (docs/configuration.md).`,
  operands: GUARD_OPERANDS,
  options: GUARD_OPTIONS,
  examples: [
    ['writ guard -- npx mcp-server-filesystem ./shared', 'start a server that is installed'],
    [
      "writ guard --url https://mcp.example.com/mcp --header 'Authorization: Bearer $API_TOKEN'",
      'a server at an address',
    ],
    [
      'writ guard --openapi ./api.yaml --origin https://api.example.com/v1 --offer reads',
      'an HTTP API',
    ],
    ['writ guard', 'again, with the policy of this folder'],
  ],
  exits: [[EXIT_OK, 'it was stopped']],
  cannot: 'guard',
  async run(given, io) {
    const options = readOptions(given);
    await serveGuard(options, guardFiles(options.policy), io);
  },
});

const schemaCommand = leaf({
  name: 'schema',
  summary: 'print the JSON Schema of writ-guard.yaml, for editors',
  examples: [['writ guard schema > writ-guard.schema.json', 'a file for your editor']],
  cannot: 'print the schema',
  async run(_, io) {
    io.out(`${JSON.stringify(policyJsonSchema(), null, 2)}\n`);
  },
});

/**
 * `writ guard check`: whether the files of a guard can be used, and what they would offer.
 *
 * Asks the upstream only with `--connect`. Without it the reviewed tools count as what the upstream offers.
 */
const checkCommand = leaf({
  name: 'check',
  summary: 'check the policy and the lock of a guard',
  about:
    'Reads the policy and the lock of a guard, and prints each fault with its line, or what the guard would offer.',
  options: {
    ...POLICY_OPTION,
    connect: flag('compare with the tools that the upstream offers now'),
    ...JSON_OPTION,
  },
  examples: [
    ['writ guard check', 'the files of this folder'],
    ['writ guard check --connect --json', 'and the tools of the upstream, for a program'],
  ],
  exits: [
    [EXIT_OK, 'it can be used'],
    [EXIT_FOUND, 'it has a fault'],
    [EXIT_FAILED, 'it could not be read'],
  ],
  cannot: 'check the guard',
  async run({ policy, connect: isConnected, json }, io) {
    const checked = await checkedAt(policy, isConnected, io);
    if (json) printJson(io, 'faults' in checked ? checked : jsonOf(checked));
    else print(checked, io);
    return 'faults' in checked ? EXIT_FOUND : EXIT_OK;
  },
});

interface Faulty {
  readonly faults: readonly string[];
}

async function checkedAt(
  policy: string | undefined,
  isConnected: boolean,
  io: Io,
): Promise<GuardState | Faulty> {
  const files = guardFiles(policy);
  const read = readGuardFiles(files);
  if ('faults' in read) return { faults: read.faults };
  const upstream = isConnected
    ? await connectUpstream(read.policy.upstream, {
        files,
        env: io.env,
        platform: system,
        log: createLog('warn'),
      })
    : pinnedUpstream(read);
  const gate = openGate(upstream, system, () => {});
  try {
    const account = upstreamAccount(read.policy, io.env);
    const state = await stateOf(read, { gate, account });
    return 'fault' in state.listing ? { faults: [state.listing.fault] } : state;
  } catch (error) {
    return { faults: (error as Error).message.split('\n') };
  } finally {
    await gate.close();
  }
}

function print(checked: GuardState | Faulty, io: Io): void {
  if ('faults' in checked) {
    io.err(checked.faults.map((fault) => `${printable(fault)}\n`).join(''));
    return;
  }
  io.out(offLines(checked));
  io.out(
    offeredBy(checked)
      .map((name) => `Offered: ${name}\n`)
      .join(''),
  );
  for (const warning of ruleWarnings(checked.definition.catalog)) {
    io.err(`Warning: ${printable(warning)}\n`);
  }
}

function jsonOf(state: GuardState): object {
  const off = [...state.off].map(([capability, reason]) => ({ capability, reason }));
  return { offered: offeredBy(state), off, warnings: ruleWarnings(state.definition.catalog) };
}

function offeredBy({ definition }: GuardState): string[] {
  return [...definition.catalog.capabilities.keys()];
}

/** Offers what was reviewed, and takes no call. */
function pinnedUpstream(reviewed: Reviewed): Upstream {
  return {
    tools: async () => pinnedTools(reviewed),
    call: async () => Promise.reject(new Error('Cannot call a tool: no upstream is connected')),
    watch: () => {},
    close: async () => {},
  };
}
