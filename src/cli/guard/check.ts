/**
 * `writ guard check`: whether the files of a guard can be used, and what they would offer.
 *
 * Asks the upstream only with `--connect`. Without it the reviewed tools count as what the upstream offers.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { printable } from '../../domain/wire/printable.ts';
import { openGate } from '../../guard/gate.ts';
import type { Upstream } from '../../guard/upstream.ts';
import { createLog } from '../../log.ts';
import { system } from '../../platform.ts';
import { joinedValues } from '../shell/arguments.ts';
import { EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';
import { accountOf, connect } from './connect.ts';
import { guardFiles, type Reviewed, readGuardFiles } from './files.ts';
import { pinnedTools, stateOf } from './state.ts';
import { offLines } from './welcome.ts';

const CHECK_USAGE = `Usage: writ guard check [options]

Reads the policy and the lock of a guard, and prints each fault with its line, or
what the guard would offer.

  --policy <file>  the policy (default: writ-guard.yaml)
  --connect        compare with the tools that the upstream offers now
  --help           this text

Exit status: 0 it can be used, 1 it has a fault, 2 it could not be read.
`;

const OPTIONS = {
  policy: { type: 'string' },
  connect: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

export async function check(args: readonly string[], io: Io): Promise<number> {
  const { values } = parseArgs({ args: joinedValues(args, OPTIONS), options: OPTIONS });
  if (values.help) {
    io.out(CHECK_USAGE);
    return EXIT_OK;
  }
  const files = guardFiles(values.policy);
  const read = readGuardFiles(files);
  if ('faults' in read) return found(io, read.faults);
  const upstream = values.connect
    ? await connect(read.policy.upstream, {
        files,
        env: io.env,
        platform: system,
        log: createLog('warn'),
      })
    : pinnedUpstream(read);
  const gate = openGate(upstream, system, () => {});
  try {
    const account = accountOf(read.policy, io.env);
    const state = await stateOf(read, { gate, account });
    if ('fault' in state.listing) return found(io, [state.listing.fault]);
    const offered = [...state.definition.catalog.capabilities.keys()];
    io.out(`${offLines(state)}${offered.map((name) => `Offered: ${name}\n`).join('')}`);
    return EXIT_OK;
  } catch (error) {
    return found(io, (error as Error).message.split('\n'));
  } finally {
    await gate.close();
  }
}

function found(io: Io, faults: readonly string[]): number {
  io.err(faults.map((fault) => `${printable(fault)}\n`).join(''));
  return EXIT_FOUND;
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
