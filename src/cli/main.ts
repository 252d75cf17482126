/**
 * The command line: the list of all commands. Each is loaded only when it is asked for.
 *
 * @module
 */

import { approvals } from './approvals/approvals.ts';
import { audit } from './audit/audit.ts';
import { login, logout } from './login/login.ts';
import { witness } from './serve/witness.ts';
import type { Entry } from './shell/command.ts';
import type { Command, Io } from './shell/io.ts';
import { runProgram } from './shell/program.ts';
import { fsck } from './store/fsck.ts';
import { keys } from './store/keys.ts';
import { recover } from './store/recover.ts';
import { token } from './token/token.ts';
import { types } from './types/types.ts';
import { verify } from './verify/verify.ts';

/** Commands that read their own arguments. */
const OWN: Readonly<Record<string, Command>> = {
  approvals,
  audit,
  fsck,
  guard: async (args, io) => (await import('./guard/guard.ts')).guard(args, io),
  keys,
  login,
  logout,
  mcp: async (args, io) => (await import('./serve/mcp.ts')).mcp(args, io),
  recover,
  token,
  types,
  verify,
  witness,
};

const ENTRIES: readonly Entry[] = [
  own('approvals', 'compute what a passkey signs for a decision (digest)'),
  own('audit', 'read the log of a service (query), or save it (export)'),
  {
    name: 'checkpoint',
    summary: 'list the signed heads of the log, or seal one now',
    load: async () => (await import('./operate/checkpoint.ts')).checkpointCommand(),
  },
  own('fsck', 'check that the log is complete and unchanged'),
  own('guard', 'put budgets, approvals and the log in front of an MCP server or an HTTP API'),
  own('keys', 'make the next key of a folder, or sign the successor of a key'),
  own('login', 'get a delegation from a service by signing in with a browser'),
  own('logout', 'end the delegation of a login'),
  own('mcp', 'serve the capabilities of a token to an agent, as MCP tools'),
  own('recover', 'let a service append again after its log was rolled back or its mark lost'),
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
  own('token', 'show what a JWT says and whether it verifies (inspect)'),
  own('types', 'write the types of a service, for a typed client'),
  own('verify', 'verify what a service signed, with its keys alone'),
  own('witness', 'run a witness that cosigns checkpoints of logs'),
];

function own(name: string, summary: string): Entry {
  const cannot = `run "writ ${name}"`;
  const none = { operands: {}, options: {}, examples: [], exits: [], cannot };
  return { name, summary, load: async () => ({ name, summary, ...none, run: async () => 2 }) };
}

const STREAM: Entry = {
  name: 'audit',
  summary: 'export the log of a service continuously',
  load: async () => ({
    name: 'audit',
    summary: 'export the log of a service continuously',
    commands: [(await import('./audit/stream/command.ts')).streamCommand()],
  }),
};

export async function main(argv: readonly string[], io: Io): Promise<number> {
  const [name = '', ...args] = argv;
  if (name === 'audit' && args[0] === 'stream') return runProgram([STREAM], argv, io);
  const run = Object.hasOwn(OWN, name) ? OWN[name] : undefined;
  return run ? run(args, io) : runProgram(ENTRIES, argv, io);
}
