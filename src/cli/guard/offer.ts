/**
 * Which tools a person offers at the first run: shows them all, and reads the answer.
 *
 * Everything that an upstream says of its tools is shown as its words, on one bounded line. Tools that write are off
 * unless they are named or "all" is typed.
 *
 * @module
 */

import { countText } from '../../domain/values/count-text.ts';
import { printable } from '../../domain/wire/printable.ts';
import { guessEffect } from '../../guard/guess.ts';
import type { GuessedEffect, UpstreamTool } from '../../guard/upstream.ts';
import { contextCost } from '../../mcp/context.ts';
import { CALL_TOOL, SEARCH_TOOL } from '../../mcp/search-tools.ts';
import type { Io } from '../shell/command.ts';

/** A tool with what it probably does. */
export interface GuessedTool {
  readonly tool: UpstreamTool;
  readonly guess: GuessedEffect;
}

/** Characters of a description in the table: one line of a wide terminal. */
const DESCRIPTION_LENGTH_MAX = 80;

/** Characters of a name in the table and in lists. */
export const NAME_LENGTH_MAX = 64;

/** A person who mistypes so often has to read the list first. */
const TRIES_MAX = 3;

export function guessed(tools: readonly UpstreamTool[]): GuessedTool[] {
  return tools.map((tool) => ({ tool, guess: guessEffect(tool) }));
}

/** All tools, numbered. */
export function toolTable(tools: readonly GuessedTool[]): string {
  const rows = tools.map(({ tool, guess }, index) => [
    String(index + 1),
    printableLine(tool.name, NAME_LENGTH_MAX),
    guess.effect,
    printableLine(guess.why, DESCRIPTION_LENGTH_MAX),
    `"${printableLine(tool.description, DESCRIPTION_LENGTH_MAX)}"`,
  ]);
  const head = ['#', 'tool', 'effect (a guess)', 'because', "the upstream's words"];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = [head, ...rows].map((row) =>
    row
      .map((text, column) =>
        column === 0 ? text.padStart(widths[0] ?? 0) : text.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** Text of an upstream on one line of bounded length. */
export function printableLine(text: string, lengthMax: number): string {
  const line = printable(
    text
      .slice(0, 4 * lengthMax)
      .replace(/\s+/g, ' ')
      .trim(),
  );
  return line.length <= lengthMax ? line : `${line.slice(0, lengthMax - 1)}…`;
}

/** The tools that `answer` means, by their names; a fault where it means none. */
export function offeredBy(
  answer: string,
  tools: readonly GuessedTool[],
): ReadonlySet<string> | { readonly fault: string } {
  const words = answer
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length === 0) return { fault: 'expected numbers or names of tools' };
  const offered = new Set<string>();
  for (const word of words) {
    const meant = meantBy(word, tools);
    if (!meant) return { fault: `there is no tool "${printableLine(word, NAME_LENGTH_MAX)}"` };
    for (const { tool } of meant) offered.add(tool.name);
  }
  return offered;
}

/** A name wins over a number and over a word of ours: an upstream may have a tool called "all". */
function meantBy(word: string, tools: readonly GuessedTool[]): readonly GuessedTool[] | undefined {
  const named = tools.filter(({ tool }) => tool.name === word);
  if (named.length > 0) return named;
  if (word === 'all') return tools;
  if (word === 'none') return [];
  if (word === 'reads') return tools.filter(({ guess }) => guess.effect === 'read');
  const numbered = /^[1-9][0-9]{0,5}$/.test(word) ? tools[Number(word) - 1] : undefined;
  return numbered && [numbered];
}

/** What is offered where a person does not say it; `undefined` where a person has to. */
export type DefaultOffer = 'reads' | undefined;

/**
 * The offered tools: by the option, else by the person at the terminal, else by default. Throws with one line that
 * says what to pass where none of these answers.
 */
export async function askOffer(
  tools: readonly GuessedTool[],
  given: { readonly offer?: string | undefined; readonly otherwise: DefaultOffer },
  io: Io,
): Promise<ReadonlySet<string>> {
  if (given.offer !== undefined) return settled(offeredBy(given.offer, tools), '--offer: ');
  if (!io.ask) {
    if (given.otherwise !== undefined) return settled(offeredBy(given.otherwise, tools));
    const example = printableLine(tools[0]?.tool.name ?? 'name', NAME_LENGTH_MAX);
    throw new Error(
      `none of ${countText(tools.length, 'operation')} is offered by default; name some with --offer, such as --offer ${example} or --offer reads`,
    );
  }
  const usual = given.otherwise === undefined ? '' : ` [${given.otherwise}]`;
  const question = `Which tools do you offer? Numbers or names with commas, "reads", "all" or "none"${usual}: `;
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const answer = await io.ask(question);
    if (answer === undefined) break;
    const read = offeredBy(answer.trim() === '' ? (given.otherwise ?? '') : answer, tools);
    if (!('fault' in read)) return read;
    io.err(`${read.fault}\n`);
  }
  throw new Error('no tools were chosen, and nothing was written');
}

function settled(read: ReturnType<typeof offeredBy>, before = ''): ReadonlySet<string> {
  if ('fault' in read) throw new Error(`${before}${read.fault}`);
  return read;
}

export function contextLine(tools: Parameters<typeof contextCost>[0]): string {
  const [all, pair] = [contextCost(tools), contextCost([SEARCH_TOOL, CALL_TOOL])].map(
    ({ tools: count, tokens }) => ({ count, tokens: tokens.toLocaleString('en-US') }),
  );
  return `${toolCount(all?.count)}, about ${all?.tokens} tokens of an agent's context; with --tools search ${toolCount(pair?.count)}, about ${pair?.tokens}\n`;
}

/** A number of tools, in words. */
export function toolCount(tools = 0): string {
  return tools === 1 ? '1 tool' : `${tools} tools`;
}
