/**
 * What a command prints: tables and facts for people, JSON for programs.
 *
 * Colour only on a terminal, and never where NO_COLOR is set. Text of others is printed with its control
 * characters written out, so that it cannot act on the terminal.
 *
 * @module
 */

import { stripVTControlCharacters, styleText } from 'node:util';
import { printable, UNPRINTABLE } from '../../domain/wire/printable.ts';
import type { Io } from './command.ts';
import { flag } from './options.ts';

/** The option of every command that prints something for people. */
export const JSON_OPTION = { json: flag('print JSON, for programs') } as const;

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow';

/** `text` in a style where standard output has colours. */
export function styled(io: Io, style: Style, text: string): string {
  return hasColour(io) ? styleText(style, text, { validateStream: false }) : text;
}

function hasColour({ env, isTerminal }: Io): boolean {
  if (env.NO_COLOR) return false;
  return isTerminal?.out === true && env.TERM !== 'dumb';
}

/** The same JSON for a program; on a terminal, text of others can neither act nor hide. */
export function printJson(io: Io, json: unknown): void {
  io.out(`${JSON.stringify(json).replace(UNPRINTABLE, escaped)}\n`);
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** One line of text, which may come from others. */
export function printLine(io: Io, text: string): void {
  io.out(`${printable(text)}\n`);
}

export type Cell = string | number | boolean | null | undefined;

export interface Column<Row> {
  readonly heading: string;
  cell(row: Row): Cell;
  style?(row: Row): Style | undefined;
  /** Numbers are easier to compare at the right. */
  readonly isRight?: boolean;
}

/** Aligned columns. Cells are never cut: a cut could hide the part that a reader looks for. */
export function printTable<Row>(
  io: Io,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  none: string,
): void {
  if (rows.length === 0) {
    io.out(`${none}\n`);
    return;
  }
  const cells = rows.map((row) => columns.map((column) => cellText(column.cell(row))));
  const widths = columns.map(({ heading }, index) =>
    Math.max(...[heading, ...cells.map((row) => row[index] ?? '')].map(widthOf)),
  );
  const heading = columns.map((column) => column.heading);
  const print = (texts: readonly string[], style: StyleAt) =>
    printRow(io, texts, { columns, widths, style });
  print(heading, () => 'bold');
  rows.forEach((row, at) => {
    print(cells[at] ?? [], (index) => columns[index]?.style?.(row));
  });
}

/**
 * A table whose rows come one after another: the columns have the widths that are given, and a longer cell moves
 * the rest of its row. Prints the headings before the first row.
 */
export function startTable<Row>(
  io: Io,
  columns: readonly (Column<Row> & { readonly width: number })[],
): (row: Row) => void {
  const widths = columns.map(({ width }) => width);
  let isBegun = false;
  return (row) => {
    const layout = { columns, widths };
    if (!isBegun) {
      const heading = columns.map((column) => column.heading);
      printRow(io, heading, { ...layout, style: () => 'bold' });
    }
    isBegun = true;
    const cells = columns.map((column) => cellText(column.cell(row)));
    printRow(io, cells, { ...layout, style: (index) => columns[index]?.style?.(row) });
  };
}

type StyleAt = (index: number) => Style | undefined;

interface Layout {
  readonly columns: readonly { readonly isRight?: boolean }[];
  readonly widths: readonly number[];
  readonly style: StyleAt;
}

function printRow(io: Io, texts: readonly string[], { columns, widths, style }: Layout): void {
  const padded = texts.map((text, index) => {
    const gap = ' '.repeat(Math.max(0, (widths[index] ?? 0) - widthOf(text)));
    const how = style(index);
    const shown = how ? styled(io, how, text) : text;
    if (columns[index]?.isRight) return `${gap}${shown}`;
    return index === columns.length - 1 ? shown : `${shown}${gap}`;
  });
  io.out(`${padded.join('  ').trimEnd()}\n`);
}

/** One fact a line: its name, then its value. Absent values are left out. */
export function printFacts(io: Io, facts: readonly (readonly [name: string, value: Cell])[]): void {
  const present = facts.filter(([, value]) => value !== undefined && value !== null);
  const width = Math.max(0, ...present.map(([name]) => widthOf(name)));
  for (const [name, value] of present) {
    io.out(`${styled(io, 'bold', name)}${' '.repeat(width - widthOf(name))}  ${cellText(value)}\n`);
  }
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  return printable(String(cell));
}

/** Where the width of the terminal is not known: a pager wraps as well. */
const COLUMNS_DEFAULT = 80;

/** In columns: narrower text could not be read. */
const FOLDED_MIN = 20;

/** Begins the rest of a folded line. `visibleText` marks it in text of others. */
const FOLD_MARK = '… ';

/**
 * Prints a line of which a part is text of others. The command folds it, not the terminal: a wrapped line would begin
 * in the first column, where a value could imitate a heading or a fact of ours. `lead` is our text before the line.
 */
export function printFolded(io: Io, lead: string, line: string, style?: Style): void {
  const columns = io.isTerminal?.columns ?? COLUMNS_DEFAULT;
  const indent = ' '.repeat(widthOf(stripVTControlCharacters(lead)));
  const room = Math.max(FOLDED_MIN, columns - indent.length);
  folded(line, room).forEach((text, at) => {
    const shown = style ? styled(io, style, text) : text;
    io.out(`${at === 0 ? `${lead}${shown}`.trimEnd() : `${indent}${FOLD_MARK}${shown}`}\n`);
  });
}

/** Between words where that wastes little. Every character stays. */
function folded(line: string, room: number): string[] {
  const lines: string[] = [];
  let text = '';
  let used = 0;
  for (const character of line) {
    if (used + columnsOf(character) > room) {
      const end = text.lastIndexOf(' ') + 1;
      const at = end > text.length / 2 ? end : text.length;
      lines.push(text.slice(0, at));
      text = text.slice(at);
      used = [...FOLD_MARK, ...text].reduce((sum, each) => sum + columnsOf(each), 0);
    }
    text += character;
    used += columnsOf(character);
  }
  return [...lines, text];
}

/** Wide characters take two columns. To count two for some narrow ones only folds earlier. */
function columnsOf(character: string): number {
  return /[\x20-\x7e]/.test(character) ? 1 : 2;
}

/** Counts code points; wide and combining characters may still be misaligned. */
function widthOf(text: string): number {
  return [...text].length;
}

/** In milliseconds: a faster command shows nothing. */
const QUIET_MS = 1_000;

/** In milliseconds between two lines. */
const INTERVAL_MS = 200;

/** In milliseconds before the first line where there is no terminal. */
const FIRST_LINE_MS = 60_000;

export interface Progress {
  /** Says what the command does now, such as `comparing the rows`. */
  say(text: string): void;
  /** Says how far it is, with an estimate of the time that is left. */
  reach(done: number, whole: number, what: string): void;
  /** Removes the line. */
  end(): void;
}

/**
 * Progress of a command that takes more than a second: one line on the terminal that replaces itself.
 *
 * Where standard error is not a terminal, a line of its own after a minute, and then after twice the time each: a
 * log has a few lines however long the command takes.
 */
export function startProgress(io: Io, now: () => number = Date.now): Progress {
  const begun = now();
  const isTerminal = io.isTerminal?.err === true;
  let next = begun + (isTerminal ? QUIET_MS : FIRST_LINE_MS);
  let isShown = false;
  const show = (text: () => string) => {
    if (now() < next) return;
    next = isTerminal ? now() + INTERVAL_MS : begun + 2 * (now() - begun);
    isShown = isTerminal;
    io.err(isTerminal ? `\r\u001b[K${printable(text())}` : `${printable(text())}\n`);
  };
  return {
    say: (text) => show(() => text),
    reach: (done, whole, what) => show(() => reachText({ done, whole, what, ms: now() - begun })),
    end() {
      if (isShown) io.err('\r\u001b[K');
      isShown = false;
    },
  };
}

interface Reached {
  readonly done: number;
  readonly whole: number;
  readonly what: string;
  /** Since the begin. */
  readonly ms: number;
}

function reachText({ done, whole, what, ms }: Reached): string {
  const count = (each: number) => each.toLocaleString('en-US');
  const left = Math.ceil((ms * (whole - done)) / Math.max(done, 1) / 1_000);
  const estimate = left > 0 ? `, about ${count(left)} s left` : '';
  return `${count(done)} of ${count(Math.max(done, whole))} ${what}${estimate}`;
}
