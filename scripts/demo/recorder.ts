/**
 * Records the demo as frames of one picture: the terminal on the left as it grows, and on the right the page that the person
 * sees.
 *
 * Waiting is cut: how long a frame is shown follows from how much there is to read, not from the clock. The colours and types
 * of the picture are those of the pages themselves.
 *
 * @module
 */

import { writeFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { animatedPng, type Frame } from '../animated-png.ts';
import { smallPng } from '../small-png.ts';
import type { Audience, Line } from './narrator.ts';
import { SCALE, SIZE, stageHtml } from './stage.ts';

export interface Recorder {
  attend(browser: Browser): Promise<Audience>;
  /** Writes the recording, and a still of it beside it. */
  save(file: string): void;
}

/** Bytes that a README should load. */
const FILE_MAX = 2.5 * 1024 * 1024;

/** Milliseconds: to read a line, and to look at a page. */
const READ_MS_PER_CHARACTER = 20;
const LINE_MS_MIN = 450;
const LINE_MS_MAX = 2_400;
const PAGE_MS = 1_700;
const SCENE_MS = 1_200;
const END_MS = 4_000;

/** The scene whose last frame is the still: a refusal, and what is left of the budget beside it. */
const STILL_SCENE = 2;

export function createRecorder(): Recorder {
  const frames: Frame[] = [];
  let still: Buffer | undefined;
  return {
    async attend(browser) {
      const context = await browser.newContext({ viewport: SIZE, deviceScaleFactor: SCALE });
      const stage = await context.newPage();
      await stage.setContent(stageHtml());
      const take = async (ms: number) => {
        frames.push({ png: await stage.screenshot({ animations: 'disabled' }), ms });
      };
      let scenes = 0;
      return {
        async hears(line) {
          if (line.kind === 'heading') {
            scenes += 1;
            lengthenLast(frames, SCENE_MS);
            if (scenes === STILL_SCENE + 1) still = frames.at(-1)?.png;
          }
          await stage.evaluate(`addLine(${JSON.stringify(line)})`);
          await take(readingMs(line));
        },
        async sees(page, caption) {
          const picture = (await page.screenshot({ animations: 'disabled' })).toString('base64');
          const isPhone =
            (page.viewportSize()?.height ?? 0) > (page.viewportSize()?.width ?? 0) * 2;
          const shown = { picture, caption, isPhone, address: addressOf(page) };
          await stage.evaluate(`showPage(${JSON.stringify(shown)})`);
          await take(PAGE_MS);
        },
      };
    },
    save(file) {
      lengthenLast(frames, END_MS);
      const made = animatedPng(frames);
      const seconds = frames.reduce((sum, { ms }) => sum + ms, 0) / 1_000;
      const facts = `${frames.length} frames, ${seconds.toFixed(0)} s, ${made.length} bytes`;
      if (made.length > FILE_MAX) throw new Error(`Cannot keep ${file}: ${facts}`);
      writeFileSync(file, made);
      if (still) writeFileSync(file.replace(/(\.png)?$/, '-still.png'), smallPng(still));
      process.stdout.write(`\n${file}: ${facts}\n`);
    },
  };
}

function readingMs({ text }: Line): number {
  return Math.min(Math.max(text.length * READ_MS_PER_CHARACTER, LINE_MS_MIN), LINE_MS_MAX);
}

function lengthenLast(frames: Frame[], ms: number): void {
  const last = frames.pop();
  if (last) frames.push({ ...last, ms: last.ms + ms });
}

/** Without what differs in each run and says nothing: the port and the query. */
function addressOf(page: Page): string {
  const { hostname, pathname } = new URL(page.url());
  return `${hostname}${pathname.replace(/apr_\w+/, 'apr_…')}`;
}
