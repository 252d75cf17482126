/**
 * Records the demo as an animated PNG: the terminal on the left as it grows, and on the right the page that the person sees.
 * `ffmpeg` joins the frames.
 *
 * Waiting is cut: how long a frame is shown follows from how much there is to read, not from the clock. The colours and types
 * of the picture are those of the pages themselves.
 *
 * @module
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import type { Audience, Line } from './narrator.ts';
import { SCALE, SIZE, stageHtml } from './stage.ts';

export interface Recorder {
  attend(browser: Browser): Promise<Audience>;
  /** Writes the recording. */
  save(file: string): void;
}

interface Frame {
  readonly png: Buffer;
  /** How long it is shown. */
  readonly ms: number;
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
/** A decision comes first too: where a film does not play yet, or never, its first frame is the picture. */
const POSTER_MS = 2_500;

/** One palette for all frames, without a pattern of dots; an animation without end. */
const PALETTE = 'split[a][b];[a]palettegen=stats_mode=full[p];[b][p]paletteuse=dither=none';
const JOINED = ['-vsync', 'vfr', '-vf', PALETTE, '-plays', '0', '-f', 'apng'];

export function createRecorder(): Recorder {
  const frames: Frame[] = [];
  let poster: Frame | undefined;
  return {
    async attend(browser) {
      const { error } = spawnSync('ffmpeg', ['-version'], { stdio: 'ignore' });
      if (error) throw new Error('a recording needs the program ffmpeg');
      const context = await browser.newContext({ viewport: SIZE, deviceScaleFactor: SCALE });
      const stage = await context.newPage();
      await stage.setContent(stageHtml());
      const take = async (ms: number) => {
        frames.push({ png: await stage.screenshot({ animations: 'disabled' }), ms });
      };
      return {
        async hears(line) {
          if (line.kind === 'heading') lengthenLast(frames, SCENE_MS);
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
          if (shown.address.includes('apr_')) poster ??= frames.at(-1);
        },
      };
    },
    save(file) {
      lengthenLast(frames, END_MS);
      if (poster) frames.unshift({ ...poster, ms: POSTER_MS });
      joinFrames(frames, file);
      const { size } = statSync(file);
      const seconds = frames.reduce((sum, { ms }) => sum + ms, 0) / 1_000;
      const facts = `${frames.length} frames, ${seconds.toFixed(0)} s, ${size} bytes`;
      if (size > FILE_MAX) throw new Error(`Cannot keep ${file}: ${facts}`);
      process.stdout.write(`\n${file}: ${facts}\n`);
    },
  };
}

function joinFrames(frames: readonly Frame[], file: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'writ-frames-'));
  try {
    const list = frames.map(({ png, ms }, at) => {
      writeFileSync(join(folder, `${at}.png`), png);
      return `file ${at}.png\nduration ${ms / 1_000}\n`;
    });
    // The last one is named again: ffmpeg reads no duration after the last name.
    writeFileSync(join(folder, 'list.txt'), `${list.join('')}file ${frames.length - 1}.png\n`);
    const input = ['-f', 'concat', '-i', join(folder, 'list.txt')];
    execFileSync('ffmpeg', ['-loglevel', 'error', '-y', ...input, ...JOINED, file]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
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
