/**
 * `writ connect`: prints how an MCP client is connected with a service.
 *
 * Changes no file, asks no service, and prints no token: over HTTP the client signs in with a browser, and the
 * command form uses the login of this user.
 *
 * @module
 */

import { serviceOf } from '../login/session.ts';
import { type Group, type Io, type Leaf, leaf } from '../shell/command.ts';
import { flag, value } from '../shell/options.ts';
import { JSON_OPTION, printJson } from '../shell/output.ts';
import { baseOf } from '../shell/remote.ts';
import { shellWord } from '../shell/values.ts';

type ClientName = 'claude-code' | 'vscode' | 'cursor';

/** How the client reaches the service: an address, or a command that it starts. */
type Target =
  | { readonly url: string }
  | { readonly command: string; readonly args: readonly string[] };

interface Connection {
  readonly client: ClientName;
  readonly name: string;
  /** The words of the command, where the client has one. */
  readonly command?: readonly string[];
  /** A file of the client, and what belongs into it. */
  readonly file?: string;
  readonly configuration?: object;
}

export function connectCommand(): Group {
  return {
    name: 'connect',
    summary: 'print how to connect Claude Code, VS Code or Cursor',
    commands: [
      connectLeaf('claude-code', 'print the command that adds a service to Claude Code'),
      connectLeaf('vscode', 'print the command that adds a service to VS Code'),
      connectLeaf('cursor', 'print what belongs into .cursor/mcp.json'),
    ],
  };
}

function connectLeaf(client: ClientName, summary: string): Leaf {
  return leaf({
    name: client,
    summary,
    about: `Prints how the client connects to a service. Changes no file, and prints no token: the client opens your browser,
where you sign in. With --stdio the client starts "writ mcp", which uses your login ("writ login").

A command is quoted for POSIX shells. With --json, standard output has the words of the command, the file of the client
and its configuration.`,
    options: {
      service: value(
        '<url>',
        'the service (default: $WRIT_CLIENT_SERVICE, else that of your login)',
      ),
      name: value('<name>', 'the name of the service in the client (default: from its address)'),
      stdio: flag('the client starts "writ mcp" instead of connecting to <url>/mcp'),
      ...JSON_OPTION,
    },
    examples: [
      [`writ connect ${client} --service https://desk.example.com`, 'sign in with a browser'],
      [
        `writ connect ${client} --service https://desk.example.com --name desk --stdio`,
        'as a command',
      ],
    ],
    cannot: 'print the connection',
    async run(given, io) {
      const url = baseOf(serviceOf(given.service, io));
      const name = given.name ?? nameFrom(url);
      checkName(name);
      const args = ['writ', 'mcp', '--service', url];
      const target: Target = given.stdio ? { command: 'npx', args } : { url: `${url}/mcp` };
      print(CONNECTIONS[client](name, target), given, io);
    },
  });
}

const CONNECTIONS: Readonly<Record<ClientName, (name: string, target: Target) => Connection>> = {
  'claude-code': (name, target) => {
    const add = ['claude', 'mcp', 'add', '--transport'];
    const command =
      'url' in target
        ? [...add, 'http', name, target.url]
        : [...add, 'stdio', name, '--', target.command, ...target.args];
    return { client: 'claude-code', name, command };
  },
  vscode: (name, target) => {
    const server = { type: 'url' in target ? 'http' : 'stdio', ...target };
    const command = ['code', '--add-mcp', JSON.stringify({ name, ...server })];
    const configuration = { servers: { [name]: server } };
    return { client: 'vscode', name, command, file: '.vscode/mcp.json', configuration };
  },
  cursor: (name, target) => {
    const configuration = { mcpServers: { [name]: { ...target } } };
    return { client: 'cursor', name, file: '.cursor/mcp.json', configuration };
  },
};

/** The names that every one of the clients accepts. None of them means something to a shell. */
function checkName(name: string): void {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(name)) return;
  throw new Error(`expected letters, digits, "-" and "_" after --name, not "${name}"`);
}

function nameFrom(url: string): string {
  const { hostname } = new URL(url);
  if (/^(?:localhost|127\..*|\[::1\])$/.test(hostname)) return 'writ';
  const name = hostname.replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '');
  return name.slice(0, 64) || 'writ';
}

function print(connection: Connection, { json }: { readonly json: boolean }, io: Io): void {
  if (json) {
    printJson(io, connection);
    return;
  }
  const { command, file, configuration } = connection;
  const text = JSON.stringify(configuration, null, 2);
  if (!command) {
    io.out(`${text}\n`);
    io.err(`Put this into ${file} of your project, or merge it with what is there.\n`);
    return;
  }
  io.out(`${command.map(shellWord).join(' ')}\n`);
  if (file) io.err(`Or put this into ${file} of your project:\n${text}\n`);
}
