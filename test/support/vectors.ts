/**
 * Where published test vectors lie, if they are there: beside the repository, not inside it.
 *
 * @module
 */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The absolute folder of one kind of vectors, or undefined when this checkout stands alone. */
export function vectors(kind: string): string | undefined {
  const folder = fileURLToPath(new URL(`../../../shared/vectors/${kind}`, import.meta.url));
  return existsSync(folder) ? folder : undefined;
}
