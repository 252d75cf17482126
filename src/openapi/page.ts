/**
 * The API page in parts, as `scripts/api-page.ts` rendered it when the package was built.
 *
 * Read from disk once, at the first request for the page.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs';
import type { OperationName } from '../protocol/operations.ts';

export interface PagePart {
  readonly html: string;
  /** Shown where one of these is offered; everywhere without. */
  readonly of?: readonly OperationName[];
  /** Shown only where these ask for a credential, or only where they do not. */
  readonly gated?: boolean;
}

export interface BuiltPage {
  readonly styleHash: string;
  readonly parts: readonly PagePart[];
}

/** Beside the compiled files of the package; a program that runs from its sources uses what was built last. */
const FILES = ['./page.json', '../../dist/src/openapi/page.json'];

let read: BuiltPage | undefined;

/** Throws when the page was not built. */
export function builtPage(): BuiltPage {
  read ??= readPage();
  return read;
}

function readPage(): BuiltPage {
  const file = FILES.map((each) => new URL(each, import.meta.url)).find((each) => existsSync(each));
  if (!file) throw new Error('Cannot serve the API page: it was not built (npm run build)');
  return JSON.parse(readFileSync(file, 'utf8'));
}
