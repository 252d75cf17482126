/**
 * An MCP server of a few lines for tests: its tools are those of a JSON file, and it says so when the file changes.
 * Each call is one line of a second file. Started as `node toolbox.mjs <tools file> <calls file>`.
 *
 * @module
 */

import { appendFileSync, readFileSync, watchFile } from 'node:fs';
import { createInterface } from 'node:readline';

const [toolsFile, callsFile] = process.argv.slice(2);
const say = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'toolbox', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: JSON.parse(readFileSync(toolsFile, 'utf8')) }),
  'tools/call': ({ name, arguments: given }) => {
    appendFileSync(callsFile, `${JSON.stringify({ name, given })}\n`);
    return { content: [{ type: 'text', text: `${name} was called` }] };
  },
};

watchFile(toolsFile, { interval: 20 }, () => say({ method: 'notifications/tools/list_changed' }));

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params = {} } = JSON.parse(line);
    if (id === undefined) return;
    const run = METHODS[method];
    if (run) say({ id, result: run(params) });
    else say({ id, error: { code: -32601, message: 'no such method' } });
  })
  .on('close', () => process.exit());
