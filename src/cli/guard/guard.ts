/**
 * `writ guard`: puts budgets, approvals and the log in front of tools that exist already.
 *
 * Finds what is asked for: to serve, to review, to check, or to print the schema of a policy.
 *
 * @module
 */

import { policyJsonSchema } from '../../guard/policy/schema.ts';
import { type Group, type Leaf, leaf } from '../shell/command.ts';
import { EXIT_OK } from '../shell/exit.ts';
import { checkCommand } from './check.ts';
import { guardFiles } from './files.ts';
import { GUARD_OPERANDS, GUARD_OPTIONS, readOptions } from './options.ts';
import { reviewCommand } from './review.ts';
import { serveGuard } from './serving.ts';

const SUMMARY = 'put budgets, approvals and the log in front of an MCP server or an HTTP API';

export function guardCommand(): Group {
  return {
    name: 'guard',
    summary: SUMMARY,
    own: serveCommand(),
    commands: [reviewCommand(), checkCommand(), schemaCommand()],
  };
}

function serveCommand(): Leaf {
  return leaf({
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
}

function schemaCommand(): Leaf {
  return leaf({
    name: 'schema',
    summary: 'print the JSON Schema of writ-guard.yaml, for editors',
    examples: [['writ guard schema > writ-guard.schema.json', 'a file for your editor']],
    cannot: 'print the schema',
    async run(_, io) {
      io.out(`${JSON.stringify(policyJsonSchema(), null, 2)}\n`);
    },
  });
}
