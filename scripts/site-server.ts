/**
 * Serves the built site on loopback as a plain file host does: a file, the index of a folder, or the page 404.html.
 *
 * @module
 */

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.gif': 'image/gif',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.mp4': 'video/mp4',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webm': 'video/webm',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};

export interface SiteServer {
  /** Ends with `base`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Port 0 lets the system choose. `base` begins and ends with a slash. */
export async function serveSite(folder: string, port: number, base = '/'): Promise<SiteServer> {
  const server = createServer(async ({ url = '/' }, response) => {
    const found = await fileAt(folder, url, base);
    const content = found ?? { type: TYPES['.html'], body: await notFound(folder) };
    const type = content.type ?? 'application/octet-stream';
    response.writeHead(found ? 200 : 404, { 'content-type': type }).end(content.body);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${taken}${base}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function fileAt(folder: string, url: string, base: string) {
  const path = pathOf(url);
  if (path === undefined || !path.startsWith(base)) return undefined;

  const name = path.endsWith('/') ? `${path}index.html` : path;
  try {
    const body = await readFile(join(folder, name.slice(base.length)));
    return { type: TYPES[extname(name)], body };
  } catch {
    return undefined;
  }
}

/** Without the query, and never above the folder: an absolute path normalizes to one below `/`. */
function pathOf(url: string): string | undefined {
  try {
    const path = decodeURIComponent(url.replace(/[?#].*$/, ''));
    return path.startsWith('/') && !path.includes('\0') ? normalize(path) : undefined;
  } catch {
    return undefined;
  }
}

function notFound(folder: string): Promise<Buffer | string> {
  return readFile(join(folder, '404.html')).catch(() => 'Not found');
}
