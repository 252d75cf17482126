/**
 * The baselines: what one request costs before any governance. One of them runs per process.
 *
 * @module
 */

import { createServer } from 'node:http';

const kind = process.argv[2];
const body = JSON.stringify({ ok: true });

if (kind === 'node') {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const text = chunks.length > 0 ? JSON.stringify(JSON.parse(Buffer.concat(chunks))) : body;
      response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
  });
  server.listen(0, '127.0.0.1', () => say(server.address().port));
} else {
  const { fastify } = await import('fastify');
  const app = fastify();
  app.post('/', async (request) => request.body);
  app.get('/', async () => ({ ok: true }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  say(app.server.address().port);
}

function say(port) {
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`);
}
