/**
 * Builds the documentation site into site/dist: the pages by VitePress, and beside them the HTTP API as a page and
 * as OpenAPI, and the schema of a policy.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { STATIC_FILES } from '../site/pages.ts';
import { apiPage } from '../src/http/reference.ts';
import { type OperationName, operations } from '../src/protocol/operations.ts';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** Where the built site is. */
export const BUILT = join(ROOT, 'site/dist');

export interface Place {
  /** The path of the site on its host. */
  readonly base?: string;
  /** The address of the files of the repository. */
  readonly repository?: string;
  /** Where the files are written. */
  readonly folder?: string;
}

/**
 * Returns the exit code of VitePress, which has printed why it refuses a page. What is not given is read from the
 * environment.
 */
export async function buildSite(place: Place = {}): Promise<number> {
  const { base, repository, folder = BUILT } = place;
  const vitepress = join(ROOT, 'site/node_modules/vitepress/bin/vitepress.js');
  const child = spawn(process.execPath, [vitepress, 'build', 'site', '--outDir', folder], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      ...(base !== undefined && { WRIT_SITE_BASE: base }),
      ...(repository !== undefined && { WRIT_SITE_REPOSITORY: repository }),
    },
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
  const every = Object.keys(operations) as OperationName[];
  // A service has the document at its root; the site may be below a path.
  const page = apiPage(every, []).replace('href="/openapi.json"', 'href="openapi.json"');
  writeFileSync(join(folder, 'api.html'), page);
}
