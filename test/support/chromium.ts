/**
 * A real Chromium for tests: the one in `CHROME_PATH`, one on the path, or Debian's own package,
 * which root installs when there is none. Looked for only when a test asks, so others pay nothing.
 *
 * It starts with a profile of its own and says nothing to anybody but the page's server.
 *
 * @module
 */

import { type Browser, chromium, type LaunchOptions } from 'playwright-core';
import { canInstall, findProgram, installPackages, isExecutable, isRoot } from './debian.ts';
import { skipWithout } from './missing.ts';

/**
 * First the same browser without a window system: an empty page of it costs a fifth of the CPU time, because
 * Chromium makes a whole window for each context, with a toolbar and an address bar that are pages too.
 */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
];

/**
 * Chromium obeys the last switch of a name, so the list of Playwright is repeated. The rest are the popups
 * of the address bar: each is a page in a process of its own, made with every window.
 */
const FEATURES_OFF = [
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
  'AimEnabled',
  'WebUIOmnibox',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'WebUIOmniboxPopup',
];

const FLAGS = [
  `--disable-features=${FEATURES_OFF.join(',')}`,
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A browser without a window. The caller closes it. Without one, the test that asks is skipped. */
export async function openBrowser(): Promise<Browser> {
  const program = findChromium() ?? (await installChromium().catch(skipWithoutBrowser));
  return launchChromium(program);
}

function skipWithoutBrowser(cause: Error): never {
  return skipWithout('a browser', cause);
}

/** Starts this program, without a window. The caller closes it. */
export function launchChromium(
  executablePath: string,
  options: LaunchOptions = {},
): Promise<Browser> {
  return chromium.launch({
    ...options,
    executablePath,
    args: FLAGS,
    // The sandbox needs a user; as root there is none to fall back to.
    chromiumSandbox: !isRoot(),
  });
}

/** The program in `CHROME_PATH`, or one on the path. */
export function findChromium(): string | undefined {
  const given = process.env.CHROME_PATH;
  if (given) {
    if (isExecutable(given)) return given;
    throw new Error(`Cannot start the browser: CHROME_PATH is "${given}", which cannot be run`);
  }
  return findProgram(NAMES);
}

async function installChromium(): Promise<string> {
  const advice = 'install Chromium or Chrome, or name its program in CHROME_PATH';
  if (!canInstall()) {
    throw new Error(`Cannot start the browser: none of ${NAMES.join(', ')} is on PATH; ${advice}`);
  }
  try {
    await installPackages('chromium-headless-shell').catch(() => installPackages('chromium'));
  } catch (cause) {
    const { stderr = '' } = cause as { stderr?: string };
    throw new Error(`Cannot install Chromium: ${stderr.trim()}; ${advice}`, { cause });
  }
  const found = findChromium();
  if (!found) throw new Error(`Cannot start the browser: apt installed none; ${advice}`);
  return found;
}
