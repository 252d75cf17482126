/**
 * The command line: finds the command, and prints the usage text if there is none.
 *
 * Decides nothing else: each command reads its own options and returns a status of `exit.ts`.
 *
 * @module
 */

import { printable } from '../domain/wire/printable.ts';
import { packageManifest } from '../package.ts';
import { approvals } from './approvals.ts';
import { audit } from './audit/audit.ts';
import { EXIT_FAILED, EXIT_OK } from './exit.ts';
import { fsck } from './fsck.ts';
import type { Command, Io } from './io.ts';
import { keys } from './keys.ts';
import { login, logout } from './login/login.ts';
import { recover } from './recover.ts';
import { token } from './token.ts';
import { types } from './types/types.ts';
import { verify } from './verify/verify.ts';
import { witness } from './witness.ts';

const COMMANDS: Readonly<Record<string, { run: Command; summary: string }>> = {
  approvals: {
    run: approvals,
    summary: 'compute what a passkey signs for a decision (digest)',
  },
  audit: { run: audit, summary: 'read the log of a service (query), or save it (export)' },
  fsck: { run: fsck, summary: 'check that the log is complete and unchanged' },
  guard: {
    run: guard,
    summary: 'put budgets, approvals and the log in front of an MCP server or an HTTP API',
  },
  keys: { run: keys, summary: 'make the next key of a folder, or sign the successor of a key' },
  login: { run: login, summary: 'get a delegation from a service by signing in with a browser' },
  logout: { run: logout, summary: 'end the delegation of a login' },
  mcp: {
    run: mcp,
    summary: 'serve the capabilities of a token to an agent, as MCP tools',
  },
  recover: {
    run: recover,
    summary: 'let a service append again after its log was rolled back or its mark lost',
  },
  token: { run: token, summary: 'show what a JWT says and whether it verifies (inspect)' },
  types: { run: types, summary: 'write the types of a service, for a typed client' },
  verify: { run: verify, summary: 'verify what a service signed, with its keys alone' },
  witness: { run: witness, summary: 'run a witness that cosigns checkpoints of logs' },
};

/** Loaded only for this command: no other one needs the MCP package. */
async function mcp(args: readonly string[], io: Io): Promise<number> {
  const command = await import('./mcp.ts');
  return command.mcp(args, io);
}

/** Loaded only for this command: no other one needs a whole service. */
async function guard(args: readonly string[], io: Io): Promise<number> {
  const command = await import('./guard/guard.ts');
  return command.guard(args, io);
}

export async function main(argv: readonly string[], io: Io): Promise<number> {
  const [name, ...args] = argv;
  if (name === '--help' || name === '-h' || name === 'help') {
    io.out(usage());
    return EXIT_OK;
  }
  if (name === '--version' || name === '-v') {
    if (args.length > 0) {
      io.err(`Cannot run "${name}" with "${printable(args.join(' '))}": it takes no arguments\n`);
      return EXIT_FAILED;
    }
    io.out(`${packageManifest().version}\n`);
    return EXIT_OK;
  }
  const command = Object.hasOwn(COMMANDS, name ?? '') ? COMMANDS[name ?? ''] : undefined;
  if (command === undefined) {
    io.err(name === undefined ? usage() : `Cannot run "${name}": no such command\n\n${usage()}`);
    return EXIT_FAILED;
  }
  return command.run(args, io);
}

function usage(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(
    ([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`,
  );
  const options =
    '  --help     this text, or that of a command\n  --version  the version of this program';
  return `Usage: writ <command> [options]\n\nCommands:\n${lines.join('\n')}\n\nOptions:\n${options}\n`;
}
