/**
 * The command line: the list of all commands. Each is loaded only when it is asked for.
 *
 * @module
 */

import type { Entry, Group, Leaf } from './shell/command.ts';
import type { Io } from './shell/io.ts';
import { runProgram } from './shell/program.ts';

const ENTRIES: readonly Entry[] = [
  {
    name: 'agents',
    summary: 'list the agents of a principal, and end one',
    load: async () => (await import('./operate/agents.ts')).agentsCommand(),
  },
  {
    name: 'approvals',
    summary: 'show, decide and watch approval requests',
    load: async () => (await import('./approvals/approvals.ts')).approvalsCommand(),
  },
  {
    name: 'attack',
    summary: 'attack a service, and say which rules held',
    load: async () => (await import('./attack/attack.ts')).attackCommand(),
  },
  {
    name: 'audit',
    summary: 'read, follow or save the log of a service',
    load: async () => (await import('./audit/audit.ts')).auditCommand(),
  },
  {
    name: 'backup',
    summary: 'copy the store into one file while services run',
    load: async () => (await import('./store/backup.ts')).backupCommand(),
  },
  {
    name: 'calls',
    summary: 'list calls of unknown outcome, and reconcile them',
    load: async () => (await import('./operate/calls.ts')).callsCommand(),
  },
  {
    name: 'checkpoint',
    summary: 'list the signed heads of the log, or seal one now',
    load: async () => (await import('./operate/checkpoint.ts')).checkpointCommand(),
  },
  {
    name: 'completion',
    summary: 'print the completion script of a shell',
    load: async () => (await import('./completion/completion.ts')).completionCommand(commandTree),
  },
  {
    name: 'connect',
    summary: 'print how to connect Claude Code, VS Code or Cursor',
    load: async () => (await import('./call/connect.ts')).connectCommand(),
  },
  {
    name: 'deliveries',
    summary: 'list notifications about approvals, and whether they arrived',
    load: async () => (await import('./operate/deliveries.ts')).deliveriesCommand(),
  },
  {
    name: 'doctor',
    summary: 'check configuration, store, keys, clock, mark and what must be reachable',
    load: async () => (await import('./doctor/doctor.ts')).doctorCommand(),
  },
  {
    name: 'freeze',
    summary: 'refuse a principal, a capability or everything',
    load: async () => (await import('./operate/freeze.ts')).freezeCommand(),
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
    name: 'identities',
    summary: 'add, list and remove credentials that the store keeps',
    load: async () => (await import('./operate/identities.ts')).identitiesCommand(),
  },
  {
    name: 'init',
    summary: 'make a folder with a service that runs at once',
    load: async () => (await import('./serve/init.ts')).initCommand(),
  },
  {
    name: 'invoke',
    summary: 'use a capability',
    load: async () => (await import('./call/invoke.ts')).invokeCommand(),
  },
  {
    name: 'keys',
    summary: 'list, rotate and withdraw the keys of a service',
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
    name: 'permissions',
    summary: 'show what a token may do, and what it lacks',
    load: async () => (await import('./call/permissions.ts')).permissionsCommand(),
  },
  {
    name: 'recover',
    summary: 'let a service append again after its log was rolled back or its mark lost',
    load: async () => (await import('./store/recover.ts')).recoverCommand(),
  },
  {
    name: 'restore',
    summary: 'make a new store from a backup',
    load: async () => (await import('./store/restore.ts')).restoreCommand(),
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
    summary: 'issue, delegate, inspect and revoke tokens',
    load: async () => (await import('./token/group.ts')).tokenCommand(),
  },
  {
    name: 'types',
    summary: 'write the types of a service, for a typed client',
    load: async () => (await import('./types/types.ts')).typesCommand(),
  },
  {
    name: 'unfreeze',
    summary: 'lift a freeze',
    load: async () => (await import('./operate/freeze.ts')).unfreezeCommand(),
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

/** Every command with all of its options, for completion and documentation. */
export function commandTree(): Promise<readonly (Leaf | Group)[]> {
  return Promise.all(ENTRIES.map((entry) => entry.load()));
}

/** Runs a command line. Resolves with the exit status. */
export function main(argv: readonly string[], io: Io): Promise<number> {
  return runProgram(ENTRIES, argv, io);
}
