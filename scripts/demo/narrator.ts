/**
 * Tells the demo: headings, sentences, calls and their real answers, in the terminal and to an audience such as the recorder.
 *
 * Knows no scene. Texts of others are printed with their control characters made visible.
 *
 * @module
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { printable } from '../../src/domain/wire/printable.ts';

/** `act`: a command or a call. `good`, `bad`, `plain`: an answer. */
type Kind = 'heading' | 'say' | 'act' | 'good' | 'bad' | 'plain' | 'hint';

export interface Line {
  readonly kind: Kind;
  readonly text: string;
}

/** Sees everything that is told, such as the recorder. */
export interface Audience {
  hears(line: Line): Promise<void>;
  /** What a person sees in a browser, with a word on it. */
  sees(page: Page, caption: string): Promise<void>;
}

export interface Narrator {
  tell(kind: Kind, text: string): Promise<void>;
  /** A line for a viewer of the terminal alone, such as an address that is another one in each run. */
  hint(text: string): Promise<void>;
  show(page: Page, caption: string): Promise<void>;
  /** Time to read, between scenes. */
  rest(): Promise<void>;
}

export interface NarratorOptions {
  readonly write: (text: string) => void;
  readonly columns: number;
  readonly colours: boolean;
  /** Seconds between scenes; lines follow each other faster. */
  readonly pace: number;
  readonly signal: AbortSignal;
  readonly audience?: Audience | undefined;
}

const LINES_PER_PACE = 6;
const COLUMNS_MIN = 40;
const COLUMNS_MAX = 88;

/** How a line begins, how its further lines begin, and its colour (a parameter of ECMA-48, "select graphic rendition"). */
const LOOKS: Readonly<Record<Kind, readonly [first: string, further: string, colour: string]>> = {
  heading: ['', '', '1'],
  say: ['', '', ''],
  act: ['  › ', '    ', '1;36'],
  good: ['    ✓ ', '      ', '32'],
  bad: ['    ✕ ', '      ', '31'],
  plain: ['      ', '      ', ''],
  hint: ['  ', '  ', '2'],
};

export function createNarrator(options: NarratorOptions): Narrator {
  const { write, pace, signal, audience } = options;
  const wait = (seconds: number) => pause(seconds * 1_000, undefined, { signal });
  async function tell(kind: Kind, text: string): Promise<void> {
    write(rendered({ kind, text }, options));
    await audience?.hears({ kind, text });
    await wait(pace / LINES_PER_PACE);
  }
  return {
    tell,
    async hint(text) {
      write(rendered({ kind: 'hint', text }, options));
    },
    show: async (page, caption) => audience?.sees(page, caption),
    rest: () => wait(pace),
  };
}

function rendered(line: Line, { columns, colours }: NarratorOptions): string {
  const [first, further, colour] = LOOKS[line.kind];
  const width = Math.min(Math.max(columns, COLUMNS_MIN), COLUMNS_MAX) - further.length;
  const lines = line.text.split('\n').flatMap((each) => wrapped(printable(each), width));
  const text = lines.map((each, at) => `${at === 0 ? first : further}${each}`).join('\n');
  const shown = colours && colour !== '' ? `\u001b[${colour}m${text}\u001b[0m` : text;
  if (line.kind === 'heading') return `\n${shown}\n${'─'.repeat(lines[0]?.length ?? 0)}\n`;
  return `${shown}\n`;
}

/** Breaks between words; a word that is longer than a line, such as an address, stays whole. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length <= width || line === '') {
      line = longer;
    } else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}
