/**
 * `writ guard`: puts budgets, approvals and the log in front of tools that exist already.
 *
 * Finds what is asked for: to serve, to review, to check, or to print the schema of a policy.
 *
 * @module
 */

import { printable } from '../../domain/wire/printable.ts';
import { policyJsonSchema } from '../../guard/policy/schema.ts';
import { CREDENTIAL_VARIABLE } from '../login/credential.ts';
import { EXIT_FAILED, EXIT_OK } from '../shell/exit.ts';
import type { Command, Io } from '../shell/io.ts';
import { check } from './check.ts';
import { guardFiles } from './files.ts';
import { readOptions } from './options.ts';
import { review } from './review.ts';
import { serveGuard } from './serving.ts';

const GUARD_USAGE = `Usage: writ guard [options] -- <command> [arguments]
       writ guard [options] --url <address of an MCP server>
       writ guard [options] --openapi <file> [--origin <https://…>]
       writ guard [options]                 the policy names the upstream
       writ guard review | check | schema   each with --help

Puts governance in front of an MCP server or an HTTP API. The first run shows its
tools, asks which ones you offer, and writes writ-guard.yaml (the policy, which you
edit) and writ-guard.lock.json (the tools as you reviewed them). Every run serves
them over MCP and HTTP, with sign-in, approvals, budgets and a verifiable log. A
tool that changes is off until "writ guard review". An edited policy takes effect
without a restart.

Upstream
  --url <address>      an MCP server that is reached over HTTP
  --openapi <file>     an OpenAPI document of an HTTP API
  --origin <origin>    where that API is (default: the server that the document names)
  --inside             the address may be this machine or a private network
  --env <name>         a variable that the command gets (may be repeated); it gets
                       PATH, HOME and the like, and no other
  --header <text>      a credential, such as 'Authorization: Bearer $API_TOKEN': in
                       single quotes, with the name of a variable

First run
  --offer <tools>      which tools to offer: names with commas, reads, all or none
                       (default: a question on a terminal, else reads; for --openapi
                       there is no default)
  --id <name>          the id of the service (default: from the upstream)

Serving
  --policy <file>      the policy (default: writ-guard.yaml); the lock is beside it
  --tools search       offer agents a search-and-call pair instead of all tools
  --stdio              also serve MCP on standard input and output, for an agent that
                       starts this command; ends with the input
  --token-file <file>  with --stdio: the delegation token of the agent (default:
                       $${CREDENTIAL_VARIABLE}, else the owner gives one
                       with the budget of the policy)
  --help               this text

Settings such as PORT and WRIT_DATA are those of every service (docs/configuration.md).

Exit status: 0 it was stopped, 1 a check or a review found something, 2 it could
not run.
`;

const PARTS: Readonly<Record<string, Command>> = { review, check, schema };

export async function guard(args: readonly string[], io: Io): Promise<number> {
  const [part = ''] = args;
  try {
    if (Object.hasOwn(PARTS, part)) return (await PARTS[part]?.(args.slice(1), io)) ?? EXIT_OK;
    const options = readOptions(args);
    if (options.help) {
      io.out(GUARD_USAGE);
      return EXIT_OK;
    }
    await serveGuard(options, guardFiles(options.policy), io);
    return EXIT_OK;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    io.err(`Cannot guard: ${why.split('\n').map(printable).join('\n')}\n`);
    return EXIT_FAILED;
  }
}

/** `writ guard schema`: for editors. */
async function schema(args: readonly string[], io: Io): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    io.out('Usage: writ guard schema\n\nPrints the JSON Schema of writ-guard.yaml, for editors.\n');
    return EXIT_OK;
  }
  if (args.length > 0) throw new Error('"writ guard schema" takes no arguments');
  io.out(`${JSON.stringify(policyJsonSchema(), null, 2)}\n`);
  return EXIT_OK;
}
