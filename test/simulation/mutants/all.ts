/**
 * All deliberate bugs.
 *
 * @module
 */

import type { Mutant } from './mutant.ts';
import { SERVICE_MUTANTS } from './service.ts';
import { STORE_MUTANTS } from './store.ts';

export const MUTANTS: readonly Mutant[] = [...SERVICE_MUTANTS, ...STORE_MUTANTS];
