/**
 * Writes the documents that are made from the code, or with `--check` tells which are out of date.
 *
 * A document made from the code cannot contradict it. This file knows where each goes; what a page
 * says is decided beside it, in the module named for the page.
 *
 * @module
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configurationPage } from './configuration-page.ts';
import { failuresPage } from './failures-page.ts';
import { openApiFile } from './openapi-file.ts';

interface GeneratedDocument {
  /** From the root of the repository. */
  readonly path: string;
  content(): string;
}

const documents: GeneratedDocument[] = [
  { path: 'docs/configuration.md', content: configurationPage },
  { path: 'docs/failures.md', content: failuresPage },
  { path: 'docs/openapi.json', content: openApiFile },
];

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

process.exitCode = process.argv.includes('--check') ? check() : write();

function check(): number {
  const stale = staleDocuments();
  for (const { path } of stale) console.error(`${path} differs from the code it is made from`);
  if (stale.length === 0) return 0;

  console.error('Mend with: npm run generate');
  return 1;
}

function write(): number {
  for (const { path, content } of staleDocuments()) {
    const file = join(ROOT, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content());
    console.log(`wrote ${path}`);
  }
  return 0;
}

function staleDocuments(): GeneratedDocument[] {
  return documents.filter(({ path, content }) => {
    const file = join(ROOT, path);
    return !existsSync(file) || readFileSync(file, 'utf8') !== content();
  });
}
