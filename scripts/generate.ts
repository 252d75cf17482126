/**
 * Writes the documents and modules that are made from the code, or with `--check` tells which are out of
 * date.
 *
 * What is made from the code cannot contradict it. This file knows where each goes; what a page
 * says is decided beside it, in the module named for the page.
 *
 * @module
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandTree } from '../src/cli/main.ts';
import { policyJsonSchema } from '../src/guard/policy/schema.ts';
import { openApiDocument } from '../src/openapi/openapi.ts';
import { makeSchemas } from '../src/openapi/schemas.ts';
import { type OperationName, operations } from '../src/protocol/operations.ts';
import { cliPage } from './cli-page.ts';
import { configurationPage } from './configuration-page.ts';
import { failuresPage } from './failures-page.ts';
import { fieldsPage } from './fields-page.ts';
import { operationsPage } from './operations-page.ts';
import { lookModule } from './page-look.ts';
import { examplesFile, recordedExamples } from './recorded-examples.ts';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** Which `writ init` writes, in the order in which it prints them. */
const STARTER_FILES = [
  'src/service.ts',
  'test/service.test.ts',
  'writ.config.yaml',
  'tsconfig.json',
  'README.md',
  '.gitignore',
];

const every = Object.keys(operations) as OperationName[];
const examples = await recordedExamples();
const api = openApiDocument(every, makeSchemas(), {}, examples);

/** By path from the root of the repository. */
const documents: Readonly<Record<string, string>> = {
  'docs/capabilities.md': fieldsPage(),
  'docs/cli.md': cliPage(await commandTree()),
  'docs/configuration.md': configurationPage(),
  'docs/failures.md': failuresPage(),
  'docs/guard.schema.json': `${JSON.stringify(policyJsonSchema(), null, 2)}\n`,
  'docs/operations.md': operationsPage(),
  'docs/openapi.json': `${JSON.stringify(api, null, 2)}\n`,
  'src/cli/serve/starter.generated.ts': starterModule(),
  'src/http/page/look.generated.ts': lookModule(ROOT),
  'src/openapi/examples.generated.ts': examplesFile(examples),
};

const stale = Object.entries(documents).filter(([path, content]) => {
  return !existsSync(join(ROOT, path)) || textOf(path) !== content;
});

if (process.argv.includes('--check')) check();
else write();

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function starterModule(): string {
  const rows = STARTER_FILES.map((name) => {
    const text = JSON.stringify(textOf(`examples/starter/${name}`));
    return `  ${JSON.stringify(name)}: ${text},\n`;
  });
  return `/**
 * Made by \`npm run generate\` from examples/starter.
 *
 * @module
 */

export const STARTER: Readonly<Record<string, string>> = {
${rows.join('')}};
`;
}

function check(): void {
  for (const [path] of stale) console.error(`${path} differs from the code it is made from`);
  if (stale.length === 0) return;

  console.error('Fix with: npm run generate');
  process.exitCode = 1;
}

function write(): void {
  for (const [path, content] of stale) {
    const file = join(ROOT, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    console.log(`wrote ${path}`);
  }
}
