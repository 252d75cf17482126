/**
 * The baselines: what one request costs before any governance. One of them runs per process.
 *
 * @module
 */

import { createServer } from 'node:http';

const SERVERS = { node: startNode, fastify: startFastify, mcp: startMcp };

const start = SERVERS[process.argv[2]];
if (!start) throw new Error(`Cannot start "${process.argv[2]}": it is no baseline`);
process.stdout.write(`listening on http://127.0.0.1:${await start()}\n`);

async function startNode() {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const text = JSON.stringify(JSON.parse(Buffer.concat(chunks)));
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
  });
  return portOf(server);
}

async function startFastify() {
  const { fastify } = await import('fastify');
  const app = fastify();
  app.post('/', async (request) => request.body);
  // As many bytes as the document it is compared with.
  app.get('/:bytes', async (request, reply) =>
    reply.type('application/json').send(documentOf(Number(request.params.bytes))),
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  return app.server.address().port;
}

const documents = new Map();

function documentOf(bytes) {
  const known = documents.get(bytes);
  if (known) return known;
  documents.set(bytes, Buffer.from(JSON.stringify('x'.repeat(bytes - 2))));
  return documentOf(bytes);
}

/** The official server with one trivial tool. */
async function startMcp() {
  const { createMcpHandler, Server } = await import('@modelcontextprotocol/server');
  const { toNodeHandler } = await import('@modelcontextprotocol/node');
  const tool = { name: 'echo', inputSchema: { type: 'object' } };
  const handler = createMcpHandler(() => {
    const info = { name: 'baseline', version: '1' };
    const server = new Server(info, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', async () => ({ tools: [tool] }));
    server.setRequestHandler('tools/call', async ({ params }) => ({
      content: [{ type: 'text', text: JSON.stringify(params.arguments) }],
    }));
    return server;
  });
  return portOf(createServer(toNodeHandler(handler)));
}

function portOf(server) {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });
}
