/**
 * Stops an import of the package on a Node that is too old, before any other part of it runs.
 *
 * @module
 */

import { olderNode } from './package.ts';

const fault = olderNode();
if (fault !== undefined) throw new Error(fault);
