/**
 * A real Chromium for tests: the one in `CHROME_PATH`, one on the path, or Debian's own package,
 * which root installs when there is none. Looked for only when a test asks, so others pay nothing.
 *
 * It starts with a profile of its own and says nothing to anybody but the page's server.
 *
 * @module
 */

import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Seconds to wait for another installation that has the lock. */
const APT_LOCK_SECONDS = 300;

/** Milliseconds for a download of a hundred megabytes. */
const BROWSER_MS_MAX = 600_000;

/** A browser without a window. The caller closes it. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium() ?? (await installChromium());
  // The sandbox needs a user; as root there is none to fall back to.
  return chromium.launch({ executablePath, args: FLAGS, chromiumSandbox: !isRoot() });
}

function findChromium(): string | undefined {
  const given = process.env.CHROME_PATH;
  if (given) {
    if (isExecutable(given)) return given;
    throw new Error(`Cannot start the browser: CHROME_PATH is "${given}", which cannot be run`);
  }
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function installChromium(): Promise<string> {
  const advice = 'install Chromium or Chrome, or name its program in CHROME_PATH';
  if (!isRoot() || !existsSync('/etc/debian_version')) {
    throw new Error(`Cannot start the browser: none of ${NAMES.join(', ')} is on PATH; ${advice}`);
  }
  try {
    // Lists that were never fetched, or name a version that is gone, are fetched anew.
    await apt('install', 'chromium').catch(async () => {
      await apt('update');
      await apt('install', 'chromium');
    });
  } catch (cause) {
    const { stderr = '' } = cause as { stderr?: string };
    throw new Error(`Cannot install Chromium: ${stderr.trim()}; ${advice}`, { cause });
  }
  const found = findChromium();
  if (!found) throw new Error(`Cannot start the browser: apt installed none; ${advice}`);
  return found;
}

async function apt(command: string, ...packages: string[]): Promise<void> {
  const options = [
    '-y',
    '--no-install-recommends',
    '-o',
    `DPkg::Lock::Timeout=${APT_LOCK_SECONDS}`,
  ];
  await promisify(execFile)('apt-get', [command, ...options, ...packages], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: BROWSER_MS_MAX,
    maxBuffer: 16 * 1_024 * 1_024,
  });
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
