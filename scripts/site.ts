/**
 * Builds the documentation site: `npm run site [-- --serve] [--port N]`. It prints where the site is; with `--serve` it
 * also serves the site on loopback until it is stopped.
 *
 * @module
 */

import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { BUILT, buildSite } from './site-build.ts';
import { serveSite } from './site-server.ts';

const { values } = parseArgs({
  options: {
    serve: { type: 'boolean', default: false },
    port: { type: 'string', default: '8430' },
  },
});

process.exitCode = await buildSite();
if (process.exitCode === 0) console.log(`The site is in ${relative('.', BUILT)}`);
if (process.exitCode === 0 && values.serve) {
  const base = `/${process.env.WRIT_SITE_BASE ?? ''}/`.replace(/\/+/g, '/');
  const { url } = await serveSite(BUILT, Number(values.port), base);
  console.log(`Open ${url} (Ctrl-C ends it)`);
}
