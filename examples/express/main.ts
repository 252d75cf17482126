/**
 * A shop on express, with its own pages and its own sign-in, and a governed service under `/desk`.
 *
 * @module
 */

import express from 'express';
import { type AppRequest, createService, defineCapability, mount } from 'writ';
import * as z from 'zod';

const STOCK: Record<string, number> = { lamp: 7 };
const SESSIONS: Record<string, string> = { 'session-of-ann': 'human:ann@shop.example' };

const readStock = defineCapability({
  name: 'read_stock',
  description: 'How many pieces of a product are left',
  inputs: z.object({ product: z.string() }),
  output: z.object({ product: z.string(), left: z.int() }),
  side_effect: 'read',
  minimum_scope: ['stock.read'],
  handler: ({ product }) => ({ product, left: STOCK[product] ?? 0 }),
});

const port = Number(process.env.PORT ?? 3000);
const desk = await mount(createService({ id: 'shop-desk', capabilities: [readStock] }), {
  prefix: '/desk',
  settings: {
    store: 'memory:',
    public_url: `http://127.0.0.1:${port}/desk`,
    entitlements: [{ principals: ['human:*'], scopes: ['stock.*'], subjects: ['agent:*'] }],
  },
  identify: signedIn,
  root: true,
});

const app = express();
// Before the body parser: the service reads the bytes of a body itself.
app.use(desk.listener);
app.use(express.json());
app.get('/', (_request, response) => void response.send('The shop is open'));

const server = app.listen(port, '127.0.0.1', () => {
  process.stdout.write(`The shop is at http://127.0.0.1:${port}\n`);
});
process.once('SIGTERM', () => {
  server.close(() => void desk.close());
});

/** The session of the shop, as its own pages know it. */
function signedIn({ headers }: AppRequest): string | null {
  const session = /(?:^|; )session=([\w-]+)/.exec(String(headers.cookie))?.[1] ?? '';
  return SESSIONS[session] ?? null;
}
