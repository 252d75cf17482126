/**
 * The service that a file of the user defines: which of its exports it is, and what is wrong with the file.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { printable } from '../../domain/wire/printable.ts';
import { packageFolder } from '../../package.ts';
import type { ServiceDefinition } from '../../service/author/definition.ts';
import { type Exports, importUserModule, unimportable } from './module.ts';

/** Takes precedence over other definitions that a file exports. */
const EXPORT_NAME = 'service';

const EXPECTED = 'write "export const service = createService(…)", without serve()';

/** Rejects with an error for people: what is wrong, in which file and line where that is known. */
export async function loadDefinition(
  file: string,
  importFile = importUserModule,
): Promise<ServiceDefinition> {
  const path = resolve(file);
  const fault = unimportable(path);
  if (fault !== undefined) throw new Error(fault);
  const exported = await importFile(path).catch((error: unknown) => {
    throw new Error(importFault(error, path), { cause: error });
  });
  return definitionIn(exported);
}

/** The definition among the exports of a module. */
export function definitionIn(exported: Exports): ServiceDefinition {
  // A module that was compiled to CommonJS has its exports in the default export.
  const { default: inner } = exported;
  const all = { ...exported, ...(isRecord(inner) && inner.__esModule === true ? inner : {}) };
  const named = all[EXPORT_NAME];
  if (isDefinition(named)) return named;

  const found = Object.entries(all).filter(([, value]) => isDefinition(value));
  const [first, second] = new Set(found.map(([, value]) => value));
  if (first === undefined) throw new Error(`it exports no service; ${EXPECTED}`);
  if (second === undefined) return first as ServiceDefinition;
  const names = found.map(([name]) => name).join(', ');
  throw new Error(`it exports several services (${names}); name one of them "${EXPORT_NAME}"`);
}

function isDefinition(value: unknown): value is ServiceDefinition {
  if (!isRecord(value)) return false;
  const { id, catalog, code } = value;
  return typeof id === 'string' && code instanceof Map && isRecord(catalog);
}

function isRecord(value: unknown): value is Exports {
  return typeof value === 'object' && value !== null;
}

/** Lines for people: the first completes "Cannot serve …: ", the others are faults of a definition. */
function importFault(error: unknown, path: string): string {
  if (!(error instanceof Error)) return `it throws ${String(error)}`;
  const [first = '', ...more] = error.message.split('\n');
  if (error.name === 'TransformError') return transformFault(more[0] ?? first, path);
  const isSyntax = error.name === 'SyntaxError';
  const location = sourceLine(error) ?? (isSyntax ? syntaxLocation(path) : undefined);
  const before = location === undefined ? '' : `${location}: `;
  if (isSyntax && location === undefined) return `a file that it imports does not parse: ${first}`;
  if (error.name !== 'DefinitionError') return `${before}${first.replace(/^Cannot /, 'cannot ')}`;
  return [`${before}the definition has faults:`, ...more].join('\n');
}

/** Of esbuild: `<file>:<line>:<column>: ERROR: <what>`. */
function transformFault(line: string, path: string): string {
  const [, file = path, at = '', what = line] = /^(.+):(\d+):\d+: ERROR: (.*)$/.exec(line) ?? [];
  return `${shownPath(file)}:${at}: ${what}`;
}

const FRAME = /^\s*at (?:async )?(?:[^/]*\()?((?:file:\/\/)?\/[^()]*):(\d+):\d+\)?$/;

/** The head of the stack of an import that finds no such export. */
const HEAD = /^((?:file:\/\/)?\/.*):(\d+)$/;

/** File and line of the user's code where the error comes from. */
function sourceLine({ stack = '' }: Error): string | undefined {
  const own = ['src', 'dist/src', 'node_modules'].map(
    (name) => `${packageFolder()}${sep}${name}${sep}`,
  );
  for (const text of stack.split('\n')) {
    const [, file = '', line = ''] = FRAME.exec(text) ?? HEAD.exec(text) ?? [];
    const path = pathOf(file);
    const isForeign =
      path.includes(`${sep}node_modules${sep}`) || own.some((each) => path.startsWith(each));
    if (path !== '' && !isForeign) return `${shownPath(path)}:${line}`;
  }
  return undefined;
}

/** Node 20 does not say where a module does not parse. Its own check does, and runs nothing of the file. */
function syntaxLocation(path: string): string | undefined {
  const { stderr } = spawnSync(process.execPath, ['--check', path], { encoding: 'utf8' });
  const [, file = '', line = ''] = HEAD.exec(stderr.split('\n', 1)[0] ?? '') ?? [];
  return file === '' ? undefined : `${shownPath(pathOf(file))}:${line}`;
}

function pathOf(file: string): string {
  return file.startsWith('file:') ? fileURLToPath(file) : (file.split('?')[0] ?? '');
}

/** What the person reads: one line, and one for each fault of a definition or a configuration. */
export function faultLines(cannot: string, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const text = message.startsWith('Cannot ') ? message : `${cannot}: ${message}`;
  return `${text.split('\n').map(printable).join('\n')}\n`;
}

/** Relative to the working folder, where the file is below it. */
function shownPath(path: string): string {
  const shown = relative(process.cwd(), path);
  return shown === '' || shown.startsWith('..') ? path : shown;
}
