// @ts-check
/**
 * Child processes: waits for one as if it were this process, and ends with the shell that npm ran us
 * in.
 *
 * Signals that would end us go on to the child, so that nothing is left running behind a command
 * that was stopped. Knows nothing of what the child does.
 *
 * @module
 */

import { once } from 'node:events';

const RELAYED = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/** The exit code of a child that has none of its own. */
const SIGNALLED = 1;

/** Soon enough that a stopped service frees its port before it is started again by hand. */
const PARENT_POLL_MS = 200;

/**
 * Raises SIGTERM in this process when its parent ends. npm passes a signal to the shell it ran us in,
 * and a shell that did not replace itself by us dies of it without telling us: we would go on
 * serving, or installing, behind a command that was stopped.
 */
export function endWithParent() {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, PARENT_POLL_MS);
  timer.unref();
}

/**
 * Waits for a child to end. One that a signal ended ends us the same way, so that a caller sees what
 * it would have seen from the tool itself.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<number>} its exit code
 */
export async function exitOf(child) {
  /** @param {NodeJS.Signals} signal */
  const relay = (signal) => {
    // A terminal sends Ctrl-C to the child as well; twice would mean "at once" to most tools.
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    child.kill(signal);
  };

  for (const signal of RELAYED) process.on(signal, relay);
  try {
    const [code, signal] = await once(child, 'close');
    if (signal === null) return code;
  } finally {
    for (const signal of RELAYED) process.off(signal, relay);
  }

  process.kill(process.pid, child.signalCode ?? 'SIGTERM');
  // A signal of one's own is delivered at once on POSIX; elsewhere the code must do.
  return SIGNALLED;
}

/**
 * Collects what a child prints on either stream, in the order it arrives.
 *
 * @param {import('node:child_process').ChildProcess} child with both streams piped
 * @returns {() => string} what was printed so far
 */
export function outputOf(child) {
  /** @type {Buffer[]} */
  const chunks = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => chunks.push(chunk));
  }
  return () => Buffer.concat(chunks).toString('utf8');
}
