/**
 * All weaknesses: each takes one rule away from a real service, and names the cases that must notice.
 *
 * @module
 */

import { LOG_WEAKNESSES } from './weak-log.ts';
import { MONEY_WEAKNESSES } from './weak-money.ts';
import type { Weakness } from './weak-proxy.ts';
import { SURFACE_WEAKNESSES } from './weak-surface.ts';
import { TOKEN_WEAKNESSES } from './weak-tokens.ts';

export const WEAKNESSES: readonly Weakness[] = [
  ...TOKEN_WEAKNESSES,
  ...MONEY_WEAKNESSES,
  ...LOG_WEAKNESSES,
  ...SURFACE_WEAKNESSES,
];
