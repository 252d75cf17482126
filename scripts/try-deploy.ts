/**
 * Tries the files of deploy/ on this machine: `npm run deploy:try [-- --clients N] [--calls N]`.
 *
 * PostgreSQL, PgBouncer in transaction mode, three replicas, and nginx, HAProxy and Caddy where they are installed. It
 * kills a replica under load, restarts all of them one after the other, and prints what it found. Everything is on
 * loopback; it ends by itself and leaves nothing behind.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { tryDeployment } from '../test/deploy/checks.ts';
import { openStack } from '../test/deploy/stack.ts';

const REPLICAS = 3;

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '16' },
    calls: { type: 'string', default: '400' },
  },
});

/** Of the settings: this machine alone is under load, and not for long. */
const CALLS_MAX = 5_000;
const CLIENTS_MAX = 64;

async function main(): Promise<void> {
  const extent = {
    clients: Math.min(Number(values.clients), CLIENTS_MAX),
    calls: Math.min(Number(values.calls), CALLS_MAX),
  };
  const stack = await openStack(REPLICAS);
  try {
    const names = stack.proxies.map(({ name }) => name).join(', ') || 'no proxy';
    console.log(`${REPLICAS} replicas, ${stack.pooler} in transaction mode, ${names}\n`);
    for (const each of stack.missing) console.log(`not tried     ${each}`);
    if (stack.proxies.length === 0) throw new Error('Cannot try: no proxy is installed');
    const findings = await tryDeployment(stack, extent, ({ check, isMet, found }) =>
      console.log(`${isMet ? 'ok    ' : 'FAILED'}  ${check.padEnd(68)}  ${found}`),
    );
    const failed = findings.filter(({ isMet }) => !isMet).length;
    console.log(`\n${findings.length - failed} of ${findings.length} checks are met`);
    if (failed > 0) {
      process.exitCode = 1;
      for (const { port, log } of stack.replicas) console.log(`\nreplica ${port}\n${log}`);
    }
  } finally {
    await stack.stop();
  }
}

await main();
