/**
 * Strace, if it can be had: to count system calls, and to make chosen ones fail.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

export const STRACE = 'strace';

/** In milliseconds. A machine without a package mirror must not hold up the suite. */
const INSTALL_MS_MAX = 60_000;

const INSTALL =
  'apt-get install -qq -y strace || (apt-get update -qq && apt-get install -qq -y strace)';

/** Why strace cannot be used here; undefined when it can. Installs it where that is ours to do. */
export function whyNoStrace(): string | undefined {
  if (!isInstalled()) installByApt();
  if (!isInstalled()) return 'strace is not installed';
  const tried = spawnSync(STRACE, ['-f', '-o', '/dev/null', 'true']);
  return tried.status === 0 ? undefined : 'this machine does not let strace trace';
}

function isInstalled(): boolean {
  return spawnSync(STRACE, ['-V']).status === 0;
}

/** As root on Debian, which is how containers of a build run. */
function installByApt(): void {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) return;
  spawnSync('sh', ['-c', INSTALL], {
    stdio: 'ignore',
    timeout: INSTALL_MS_MAX,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
}
