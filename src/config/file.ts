/**
 * Finds and reads the configuration file, in one of four languages.
 *
 * Knows no setting. Messages about a file never quote its contents, since
 * it contains credentials.
 *
 * @module
 */

import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { YAMLParseError } from 'yaml';

const CONFIG_FILES = ['writ.config.mjs', 'writ.config.js', 'writ.config.yaml', 'writ.config.ts'];

type FileReading = { settings: object } | { fault: string; cause?: unknown };

/** The settings of the named file, or of the one in the folder; none without a file. */
export async function readConfigFile(
  named: string | undefined,
  folder: string,
): Promise<FileReading> {
  const found = named ? { path: resolve(folder, named) } : onlyFileIn(folder);
  if ('fault' in found) return found;
  const { path } = found;
  if (!path) return { settings: {} };
  if (!existsSync(path)) return { fault: `Cannot read "${path}": there is no such file` };
  if (statSync(path).isDirectory()) {
    return { fault: `Cannot read "${path}": it is a folder, expected a file` };
  }
  try {
    const content = await unlessStuck(importConfig(path));
    if (typeof content === 'object' && content !== null && !Array.isArray(content)) {
      return { settings: content };
    }
  } catch (cause) {
    return { fault: `Cannot read "${path}": ${readingFault(cause)}`, cause };
  }
  return { fault: `Cannot use "${path}": expected an object of settings` };
}

/** Every `writ.config.*` is read or refused: a file that is ignored would mislead its author. */
function onlyFileIn(folder: string): { path?: string } | { fault: string } {
  const listed = existsSync(folder) ? readdirSync(folder) : [];
  const names = listed.filter((name) => /^writ\.config\.\w+$/.test(name));
  const [name, other] = names.sort();
  if (name === undefined) return {};
  const path = join(folder, name);
  if (other !== undefined) {
    return { fault: `Cannot choose between "${path}" and "${other}": keep one of them` };
  }
  if (CONFIG_FILES.includes(name)) return { path };
  return { fault: `Cannot read "${path}": expected one of ${CONFIG_FILES.join(', ')}` };
}

async function importConfig(path: string): Promise<unknown> {
  if (/^\.ya?ml$/.test(extname(path))) {
    const { parse } = await import('yaml');
    // A higher level prints warnings that quote lines of the file.
    return parse(readFileSync(path, 'utf8'), { logLevel: 'error' });
  }
  const { href } = pathToFileURL(path);
  const loaded = extname(path) === '.ts' ? await importTypeScript(href) : await import(href);
  const content = loaded.default ?? loaded.config;
  // Outside of an ES module package tsx compiles to CommonJS, whose exports are the default export.
  return content?.__esModule ? (content.default ?? content.config) : content;
}

/**
 * Rejects when the event loop is empty and the file is still loading: a promise that the file awaits at
 * its top level never settles. Without this the process ends with exit code 13 and no message.
 */
export async function unlessStuck<Content>(loading: Promise<Content>): Promise<Content> {
  const settled = new AbortController();
  const stuck = once(process, 'beforeExit', settled).then(() => {
    throw new Error('it never finished loading: a promise that it awaits never settles');
  });
  try {
    return await Promise.race([loading, stuck]);
  } finally {
    settled.abort();
  }
}

/** The position where a text does not parse, never the text there: it may be a secret. */
function readingFault(cause: unknown): string {
  const { name, message, linePos } = cause as YAMLParseError;
  const [start] = linePos ?? [];
  if (start) return `line ${start.line}, column ${start.col} is not YAML`;
  if (message.startsWith('Unresolved alias')) return 'a YAML alias in it has no anchor';
  // The further lines of a message quote the text.
  if (!/Syntax|Transform/.test(name) && !message.includes('\n')) return message;
  return 'it does not parse; an editor, or node --check, shows where';
}

/** Node 20 cannot import TypeScript, so there this needs tsx, which a development checkout has. */
async function importTypeScript(href: string) {
  const name = 'tsx/esm/api';
  const tsx = await import(name).catch(() => undefined);
  if (tsx) return tsx.tsImport(href, import.meta.url);
  if ('typescript' in process.features && process.features.typescript) return import(href);
  throw new Error('a .ts file needs the package "tsx", or Node 22.18 or later');
}
