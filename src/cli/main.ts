/**
 * The command line: the list of all commands. Each is loaded only when it is asked for.
 *
 * @module
 */

import type { Entry, Group, Io, Leaf } from './shell/command.ts';
import { runProgram } from './shell/program.ts';

const SUMMARIES = {
  agents: 'list the agents of a principal, and end one',
  approvals: 'show, decide and watch approval requests',
  ask: 'ask a service for any operation by its name',
  attack: 'attack a service, and say which rules held',
  audit: 'read, follow or save the log of a service',
  backup: 'copy the store into one file while services run',
  calls: 'list calls of unknown outcome, and reconcile them',
  checkpoint: 'list the signed heads of the log, or seal one now',
  completion: 'print the completion script of a shell',
  connect: 'print how to connect Claude Code, VS Code or Cursor',
  deliveries: 'list notifications about approvals, and whether they arrived',
  doctor: 'check configuration, store, keys, clock, mark and what must be reachable',
  freeze: 'refuse a principal, a capability or everything',
  fsck: 'check that the log is complete and unchanged',
  guard: 'put budgets, approvals and the log in front of an MCP server or an HTTP API',
  identities: 'add, list and remove credentials that the store keeps',
  init: 'make a folder with a service that runs at once',
  invoke: 'use a capability',
  keys: 'list, rotate and withdraw the keys of a service',
  login: 'get a delegation from a service by signing in with a browser',
  logout: 'end the delegation of a login',
  mcp: 'serve the capabilities of a token to an agent, as MCP tools',
  people: 'invite people who sign in with a passkey, and remove them and their devices',
  permissions: 'show what a token may do, and what it lacks',
  recover: 'let a service append again after its log was rolled back or its mark lost',
  restore: 'make a new store from a backup',
  serve: 'serve the service that a file defines',
  stdio: 'serve the service that a file defines over standard input and output',
  token: 'issue, delegate, inspect and revoke tokens',
  types: 'write the types of a service, for a typed client',
  unfreeze: 'lift a freeze',
  verify: 'verify what a service signed, with its keys alone',
  witness: 'run a witness that cosigns checkpoints of logs',
} as const;

const LOADERS: Readonly<Record<keyof typeof SUMMARIES, Entry['load']>> = {
  agents: async () => (await import('./operate/agents.ts')).agentsCommand(),
  approvals: async () => (await import('./approvals/approvals.ts')).approvalsCommand(),
  ask: async () => (await import('./call/ask.ts')).askCommand,
  attack: async () => (await import('./attack/attack.ts')).attackCommand,
  audit: async () => (await import('./audit/audit.ts')).auditCommand,
  backup: async () => (await import('./store/backup.ts')).backupCommand,
  calls: async () => (await import('./operate/calls.ts')).callsCommand,
  checkpoint: async () => (await import('./operate/checkpoint.ts')).checkpointCommand,
  completion: async () =>
    (await import('./completion/completion.ts')).completionCommand(commandTree),
  connect: async () => (await import('./call/connect.ts')).connectCommand(),
  deliveries: async () => (await import('./operate/deliveries.ts')).deliveriesCommand,
  doctor: async () => (await import('./doctor/doctor.ts')).doctorCommand,
  freeze: async () => (await import('./operate/freeze.ts')).freezeCommand(),
  fsck: async () => (await import('./store/fsck.ts')).fsckCommand,
  guard: async () => (await import('./guard/guard.ts')).guardCommand(),
  identities: async () => (await import('./operate/identities.ts')).identitiesCommand(),
  init: async () => (await import('./serve/init.ts')).initCommand,
  invoke: async () => (await import('./call/invoke.ts')).invokeCommand,
  keys: async () => (await import('./store/keys.ts')).keysCommand(),
  login: async () => (await import('./login/login.ts')).loginCommand,
  logout: async () => (await import('./login/login.ts')).logoutCommand,
  mcp: async () => (await import('./serve/mcp.ts')).mcpCommand,
  people: async () => (await import('./operate/people.ts')).peopleCommand(),
  permissions: async () => (await import('./call/permissions.ts')).permissionsCommand,
  recover: async () => (await import('./store/recover.ts')).recoverCommand,
  restore: async () => (await import('./store/restore.ts')).restoreCommand,
  serve: async () => (await import('./serve/serve.ts')).serveCommand,
  stdio: async () => (await import('./serve/stdio.ts')).stdioCommand,
  token: async () => (await import('./token/token.ts')).tokenCommand(),
  types: async () => (await import('./types/types.ts')).typesCommand,
  unfreeze: async () => (await import('./operate/freeze.ts')).unfreezeCommand(),
  verify: async () => (await import('./verify/verify.ts')).verifyCommand(),
  witness: async () => (await import('./serve/witness.ts')).witnessCommand,
};

const ENTRIES: readonly Entry[] = (Object.keys(SUMMARIES) as (keyof typeof SUMMARIES)[]).map(
  (name) => ({ name, summary: SUMMARIES[name], load: LOADERS[name] }),
);

/** Every command with all of its options, for completion and documentation. */
export function commandTree(): Promise<readonly (Leaf | Group)[]> {
  return Promise.all(ENTRIES.map((entry) => entry.load()));
}

/** Runs a command line. Resolves with the exit status. */
export function main(argv: readonly string[], io: Io): Promise<number> {
  return runProgram(ENTRIES, argv, io);
}
