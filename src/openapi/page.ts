/**
 * What `scripts/api-page.ts` made when the package was built: the API page in parts, and the schemas of the API.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs';
import type { OperationName } from '../protocol/operations.ts';
import { makeSchemas, type Schemas } from './schemas.ts';

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
  readonly schemas: Schemas;
}

/** Beside the compiled files of the package; a program that runs from its sources uses what was built last. */
const FILES = ['./page.json', '../../dist/src/openapi/page.json'];

/** Reads it from disk. Throws when it was not built. */
export function builtPage(): BuiltPage {
  const built = readBuilt();
  if (!built) throw new Error('Cannot serve the API page: it was not built (npm run build)');
  return built;
}

/** Made anew where it was not built, as in a service that its author bundled into one file. */
export function builtSchemas(): Schemas {
  return readBuilt()?.schemas ?? makeSchemas();
}

function readBuilt(): BuiltPage | undefined {
  const file = FILES.map((each) => new URL(each, import.meta.url)).find((each) => existsSync(each));
  return file && JSON.parse(readFileSync(file, 'utf8'));
}
