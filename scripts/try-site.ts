/**
 * Tries the documentation site: `npm run site:try [-- --pictures FOLDER] [reference/guard …]`.
 *
 * It builds the site for a path below the root of a host, serves it on loopback, and opens every page in Chromium,
 * or those that begin as named.
 * It prints each fault and ends with exit code 1 when there is one. With `--pictures` it also keeps pictures of some
 * pages, for a person to look at.
 *
 * @module
 */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openBrowser } from '../test/chromium.ts';
import { trySite } from '../test/site/checks.ts';
import { takeSitePictures } from '../test/site/pictures.ts';
import { buildSite } from './site-build.ts';
import { serveSite } from './site-server.ts';

/** Below the root, where a link that forgets the path of the site leads out of it. */
const BASE = '/writ/';
const REPOSITORY = 'https://repository.example/writ/blob/main/';

const { values, positionals } = parseArgs({
  options: { pictures: { type: 'string' } },
  allowPositionals: true,
});

const folder = mkdtempSync(join(tmpdir(), 'writ-site-'));
try {
  process.exitCode = await buildSite({ base: BASE, repository: REPOSITORY, folder });
  if (process.exitCode === 0) await tryBuilt();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function tryBuilt(): Promise<void> {
  const server = await serveSite(folder, 0, BASE);
  const browser = await openBrowser();
  const site = { browser, url: server.url, folder, repository: REPOSITORY };
  try {
    if (values.pictures !== undefined) {
      mkdirSync(values.pictures, { recursive: true });
      await takeSitePictures(site, values.pictures);
    }
    const faults = await trySite(site, positionals, console.log);
    console.log(`${faults} faults`);
    if (faults > 0) process.exitCode = 1;
  } finally {
    await browser.close();
    await server.close();
  }
}
