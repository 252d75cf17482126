/**
 * The built page of the console: its HTML with the addresses of this service, and the files that it loads.
 *
 * Read from disk once, at the first request. The names of scripts and styles contain a digest of their
 * contents, so a browser keeps them.
 *
 * @module
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Asset {
  readonly type: string;
  readonly body: Uint8Array;
}

export interface Assets {
  /** The page for one session. */
  page(facts: PageFacts): string;
  file(name: string): Asset | undefined;
  /** A page that verifies a log without this service. */
  readonly verifier: Uint8Array;
}

/** What the page learns from its HTML. */
interface PageFacts {
  readonly basePath: string;
  readonly csrf: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Beside the compiled files of the package; a program that runs from its sources uses what was built last. */
const FOLDERS = ['../../console-page/', '../../../dist/src/console-page/'];

let read: Assets | undefined;

/** Throws when the page was not built. */
export function consoleAssets(): Assets {
  read ??= readAssets();
  return read;
}

function readAssets(): Assets {
  const folder = FOLDERS.map((each) => new URL(each, import.meta.url)).find((each) =>
    existsSync(new URL('index.html', each)),
  );
  if (!folder) throw new Error('Cannot serve the console: its page was not built (npm run build)');
  const html = readFileSync(new URL('index.html', folder), 'utf8');
  const names = readdirSync(fileURLToPath(new URL('assets/', folder)));
  const files = new Map(names.map((name) => [name, assetOf(new URL(`assets/${name}`, folder))]));
  return {
    page({ basePath, csrf }) {
      const facts = Object.entries({ 'writ-base': basePath, 'writ-csrf': csrf })
        .map(([name, content]) => `<meta name="${name}" content="${escaped(content)}">`)
        .join('');
      // By functions: a "$" in a text that replaces another would have a meaning.
      return html
        .replaceAll('="./', () => `="${escaped(basePath)}/console/`)
        .replace('</head>', () => `${facts}</head>`);
    },
    file: (name) => files.get(name),
    verifier: readFileSync(new URL('verify.html', folder)),
  };
}

function assetOf(url: URL): Asset {
  const type = TYPES[extname(url.pathname)] ?? 'application/octet-stream';
  return { type, body: readFileSync(url) };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
