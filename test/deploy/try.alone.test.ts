/**
 * The deployment of docs/deploying.md for real, with few calls: replicas behind PgBouncer and the proxies that are
 * installed or can be. `npm run deploy:try` does the same with more load.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { atEnd } from '../ends.ts';
import { tryDeployment } from './checks.ts';
import { openStack } from './stack.ts';

/** Only to end a test that hangs: a killed replica alone takes 20 seconds to be noticed. */
const PATIENT = { timeout: 600_000 };

test(
  'replicas behind a pooler and proxies lose no call when one is killed or stopped',
  PATIENT,
  async () => {
    const stack = await openStack(2);
    atEnd(stack.stop);
    for (const each of stack.missing) process.stderr.write(`not tried: ${each}\n`);
    if (stack.proxies.length === 0) return;

    const findings = await tryDeployment(stack, { clients: 4, calls: 40 });

    const unmet = findings.filter(({ isMet }) => !isMet);
    const logs = unmet.length > 0 ? stack.replicas.map(({ log }) => log.slice(-4_000)) : [];
    assert.deepEqual(unmet, [], logs.join('\n'));
    assert.ok(findings.length >= 8);
  },
);
