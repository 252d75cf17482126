/**
 * Plays the scenes of the demo, and ends everything that it started: the guard, the browser, the temporary folder.
 *
 * A scene that fails ends the demo; the message names it. A signal, or a terminal that is gone, ends it between two steps.
 *
 * @module
 */

import type { Browser } from 'playwright-core';
import { findChromium, launchChromium } from '../../test/support/chromium.ts';
import type { Agent } from './agent.ts';
import { type Guarded, startGuard } from './guarded.ts';
import { type Audience, createNarrator, type Narrator } from './narrator.ts';
import { chromiumPerson, type Person, viewer } from './person.ts';
import type { Scene } from './scenes.ts';

export interface DemoOptions {
  readonly scenes: readonly Scene[];
  /** True: the viewer is the person. */
  readonly byHand: boolean;
  readonly passkey: boolean;
  /** Seconds between scenes. */
  readonly pace: number;
  readonly write: (text: string) => void;
  readonly columns: number;
  readonly colours: boolean;
  readonly signal: AbortSignal;
  /** Resolves when the viewer has looked at the pages, which are gone afterwards. */
  readonly looked?: (() => Promise<void>) | undefined;
  /** Makes a recorder, which gets a browser of its own use. */
  readonly record?: ((browser: Browser) => Promise<Audience>) | undefined;
}

/** What the demo cannot start without. The message says what to do. */
export class CannotPlay extends Error {}

/** A scene with another outcome than it claims. */
export class SceneFailed extends Error {}

type End = () => Promise<void>;

export async function playDemo(options: DemoOptions): Promise<void> {
  const { signal } = options;
  const ends: End[] = [];
  let isOver = false;
  // What was being opened when a signal came is ended as soon as it is there.
  const atEnd = (end: End) => void (isOver ? end().catch(() => undefined) : ends.push(end));
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    await Promise.race([played(options, atEnd), aborted]);
  } finally {
    isOver = true;
    // The last opened is ended first. One that cannot be ended must not keep the others.
    for (const end of ends.reverse()) await end().catch(() => undefined);
  }
}

async function played(options: DemoOptions, atEnd: (end: End) => void): Promise<void> {
  const { byHand, passkey, signal } = options;
  const browser = byHand ? undefined : await openBrowser(atEnd);
  const audience = browser && (await options.record?.(browser));
  const narrator = createNarrator({ ...options, audience });
  signal.throwIfAborted();
  const guard = await startGuard({ passkey, atEnd });
  const person = await personOf(browser, { guard, narrator, passkey, signal });
  const agents = new Map<string, Agent>();
  const stage = { guard, narrator, person, signal, atEnd, agents };
  for (const [at, scene] of options.scenes.entries()) {
    const name = `${at + 1} of ${options.scenes.length}`;
    await narrator.tell('heading', `${name}  ${scene.title}`);
    try {
      await scene.play(stage);
    } catch (cause) {
      if (signal.aborted) throw cause;
      const { message } = cause as Error;
      throw new SceneFailed(`Scene ${name} ("${scene.title}") failed: ${message}`, { cause });
    }
    await narrator.rest();
  }
  if (options.looked === undefined) return;
  await narrator.hint('Press Enter to stop the guard and remove its folder.');
  await options.looked();
}

async function openBrowser(atEnd: (end: End) => void): Promise<Browser> {
  const program = chromiumProgram();
  // Playwright would end this process at a signal, and the guard would go on.
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  const browser = await launchChromium(program, signals);
  atEnd(() => browser.close());
  return browser;
}

/** The program of a Chromium that is there. The demo installs nothing. */
function chromiumProgram(): string {
  const advice =
    'install Chromium (on Debian: apt-get install chromium), name its program in CHROME_PATH, or be the person yourself: npm run demo -- --by-hand';
  try {
    const found = findChromium();
    if (found !== undefined) return found;
  } catch (cause) {
    throw new CannotPlay(`${(cause as Error).message}; ${advice}`, { cause });
  }
  throw new CannotPlay(`Cannot start the browser: there is no Chromium on PATH; ${advice}`);
}

function personOf(
  browser: Browser | undefined,
  options: { guard: Guarded; narrator: Narrator; passkey: boolean; signal: AbortSignal },
): Promise<Person> {
  return browser ? chromiumPerson(browser, options) : Promise.resolve(viewer(options));
}
