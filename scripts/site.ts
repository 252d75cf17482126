/**
 * Builds the documentation site: the pages by VitePress, and beside them the HTTP API as a page and as OpenAPI, and the
 * schema of a policy.
 *
 *     npm run site [-- --serve] [--port N]
 *     npm run site:try [-- --pictures FOLDER] [reference/guard …]
 *
 * The first builds into site/dist, and with `--serve` serves the site on loopback until it is stopped. The second builds
 * it for a path below the root of a host and opens every page in Chromium, or those that begin as named. It prints each
 * fault and ends with exit code 1 when there is one; with `--pictures` it also keeps pictures of some pages, for a person
 * to look at.
 *
 * @module
 */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { preview } from 'vite';
import { STATIC_FILES } from '../site/pages.ts';
import { openApiDocument } from '../src/openapi/openapi.ts';
import { makeSchemas } from '../src/openapi/schemas.ts';
import { type OperationName, operations } from '../src/protocol/operations.ts';
import { trySite } from '../test/site/checks.ts';
import { takeSitePictures } from '../test/site/pictures.ts';
import { openBrowser } from '../test/support/chromium.ts';
import { pageParts } from './api-page.ts';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BUILT = join(ROOT, 'site/dist');
/** What is tried is below the root, where a link that forgets the path of the site leads out of it. */
const TRIED_BASE = '/writ/';
const TRIED_REPOSITORY = 'https://repository.example/writ/blob/main/';

const { values, positionals } = parseArgs({
  options: {
    try: { type: 'boolean', default: false },
    pictures: { type: 'string' },
    serve: { type: 'boolean', default: false },
    port: { type: 'string', default: '8430' },
  },
  allowPositionals: true,
});

process.exitCode = await (values.try ? buildAndTry() : buildAndServe());

async function buildAndServe(): Promise<number> {
  const code = await buildSite(BUILT, {});
  if (code !== 0) return code;
  console.log(`The site is in ${relative('.', BUILT)}`);
  if (values.serve) {
    const base = `/${process.env.WRIT_SITE_BASE ?? ''}/`.replace(/\/+/g, '/');
    const { url } = await serveSite(BUILT, Number(values.port), base);
    console.log(`Open ${url} (Ctrl-C ends it)`);
  }
  return 0;
}

async function buildAndTry(): Promise<number> {
  // `npm run check` cannot: the types of VitePress are installed with the site alone.
  const tsc = ['node_modules/typescript/bin/tsc', '--project', 'site'];
  const types = spawnSync(process.execPath, tsc, { stdio: 'inherit' });
  if (types.status !== 0) return 1;
  const folder = mkdtempSync(join(tmpdir(), 'writ-site-'));
  try {
    const place = { WRIT_SITE_BASE: TRIED_BASE, WRIT_SITE_REPOSITORY: TRIED_REPOSITORY };
    return (await buildSite(folder, place)) || (await tryBuilt(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function tryBuilt(folder: string): Promise<number> {
  const server = await serveSite(folder, 0, TRIED_BASE);
  const browser = await openBrowser();
  const site = { browser, url: server.url, folder, repository: TRIED_REPOSITORY };
  try {
    if (values.pictures !== undefined) {
      mkdirSync(values.pictures, { recursive: true });
      await takeSitePictures(site, values.pictures);
    }
    const faults = await trySite(site, positionals, console.log);
    console.log(`${faults} faults`);
    return faults > 0 ? 1 : 0;
  } finally {
    await browser.close();
    await server.close();
  }
}

/** Returns the exit code of VitePress, which has printed why it refuses a page. */
async function buildSite(folder: string, place: Record<string, string>): Promise<number> {
  const vitepress = join(ROOT, 'site/node_modules/vitepress/bin/vitepress.js');
  const child = spawn(process.execPath, [vitepress, 'build', 'site', '--outDir', folder], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...place },
  });
  // Its standard output is a sign of life; ours says where the site is.
  child.stdout.pipe(process.stderr, { end: false });
  const [code] = await once(child, 'exit');
  if (code === 0) writeStaticFiles(folder);
  else console.error('Cannot build the site: VitePress refused a page');
  return code ?? 1;
}

function writeStaticFiles(folder: string): void {
  for (const [name, source] of Object.entries(STATIC_FILES)) {
    copyFileSync(join(ROOT, source), join(folder, name));
  }
  const api = openApiDocument(Object.keys(operations) as OperationName[], makeSchemas());
  const page = pageParts(api, api).map(({ html }) => html);
  // A service has the document at its root; the site may be below a path.
  const inSite = page.join('').replace('href="/openapi.json"', 'href="openapi.json"');
  writeFileSync(join(folder, 'api.html'), inSite);
}

/** As a plain file host does. Port 0 lets the system choose. `base` begins and ends with a slash. */
async function serveSite(folder: string, port: number, base: string) {
  const server = await preview({
    configFile: false,
    root: folder,
    base,
    appType: 'custom',
    logLevel: 'error',
    build: { outDir: folder },
    preview: { host: '127.0.0.1', port, strictPort: true },
    plugins: [
      {
        name: 'writ-site',
        configurePreviewServer({ middlewares }) {
          middlewares.use((request, _, next) => {
            request.url = request.url?.replace(/\/(?=$|\?)/, '/index.html');
            next();
          });
          // After the files.
          return () => {
            middlewares.use((_, response) => {
              response.writeHead(404, { 'content-type': 'text/html; charset=utf-8' });
              response.end(readFileSync(join(folder, '404.html')));
            });
          };
        },
      },
    ],
  });
  return { url: server.resolvedUrls?.local[0] ?? '', close: () => server.close() };
}
