/**
 * The command line: the list of all commands. Each is loaded only when it is asked for.
 *
 * @module
 */

import { approvals } from './approvals/approvals.ts';
import type { Entry, Group, Leaf } from './shell/command.ts';
import type { Command, Io } from './shell/io.ts';
import { runProgram } from './shell/program.ts';

/** Commands that read their own arguments. */
const OWN: Readonly<Record<string, Command>> = { approvals };

const ENTRIES: readonly Entry[] = [
  {
    name: 'approvals',
    summary: 'compute what a passkey signs for a decision (digest)',
    load: async () => ({ name: 'approvals', summary: '', commands: [] }),
  },
  {
    name: 'audit',
    summary: 'read the log of a service, or save it',
    load: async () => (await import('./audit/audit.ts')).auditCommand(),
  },
  {
    name: 'checkpoint',
    summary: 'list the signed heads of the log, or seal one now',
    load: async () => (await import('./operate/checkpoint.ts')).checkpointCommand(),
  },
  {
    name: 'fsck',
    summary: 'check that the log is complete and unchanged',
    load: async () => (await import('./store/fsck.ts')).fsckCommand(),
  },
  {
    name: 'guard',
    summary: 'put budgets, approvals and the log in front of an MCP server or an HTTP API',
    load: async () => (await import('./guard/guard.ts')).guardCommand(),
  },
  {
    name: 'keys',
    summary: 'make the next key of a folder, or sign the successor of a key',
    load: async () => (await import('./store/keys.ts')).keysCommand(),
  },
  {
    name: 'login',
    summary: 'get a delegation from a service by signing in with a browser',
    load: async () => (await import('./login/login.ts')).loginCommand(),
  },
  {
    name: 'logout',
    summary: 'end the delegation of a login',
    load: async () => (await import('./login/login.ts')).logoutCommand(),
  },
  {
    name: 'mcp',
    summary: 'serve the capabilities of a token to an agent, as MCP tools',
    load: async () => (await import('./serve/mcp.ts')).mcpCommand(),
  },
  {
    name: 'recover',
    summary: 'let a service append again after its log was rolled back or its mark lost',
    load: async () => (await import('./store/recover.ts')).recoverCommand(),
  },
  {
    name: 'serve',
    summary: 'serve the service that a file defines',
    load: async () => (await import('./serve/serve.ts')).serveCommand(),
  },
  {
    name: 'stdio',
    summary: 'serve the service that a file defines over standard input and output',
    load: async () => (await import('./serve/stdio.ts')).stdioCommand(),
  },
  {
    name: 'token',
    summary: 'show what a JWT says and whether it verifies',
    load: async () => (await import('./token/token.ts')).tokenCommand(),
  },
  {
    name: 'types',
    summary: 'write the types of a service, for a typed client',
    load: async () => (await import('./types/types.ts')).typesCommand(),
  },
  {
    name: 'verify',
    summary: 'verify what a service signed, with its keys alone',
    load: async () => (await import('./verify/verify.ts')).verifyCommand(),
  },
  {
    name: 'witness',
    summary: 'run a witness that cosigns checkpoints of logs',
    load: async () => (await import('./serve/witness.ts')).witnessCommand(),
  },
];

export async function main(argv: readonly string[], io: Io): Promise<number> {
  const [name = '', ...args] = argv;
  const run = Object.hasOwn(OWN, name) ? OWN[name] : undefined;
  return run ? run(args, io) : runProgram(ENTRIES, argv, io);
}

/** Every command with all of its options, for completion and documentation. */
export async function commandTree(): Promise<readonly (Leaf | Group)[]> {
  const entries = ENTRIES.filter(({ name }) => !Object.hasOwn(OWN, name));
  return Promise.all(entries.map((entry) => entry.load()));
}
