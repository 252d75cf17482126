/**
 * Commands of our documents, read as the pickier shell would: what zsh expands, and refuses when it
 * matches nothing, must stand in quotes.
 *
 * @module
 */

/** Each finding names the character and the line it stands in; none when every shell reads it alike. */
export function shellTraps(script: string): string[] {
  return script.split('\n').flatMap((line, index, lines) => {
    const bare =
      unquoted(lines.slice(0, index + 1).join('\n'))
        .split('\n')
        .at(-1) ?? '';
    return TRAPS.flatMap(({ name, pattern }) =>
      pattern.test(bare) ? [`${name}: ${line.trim()}`] : [],
    );
  });
}

const TRAPS = [
  { name: 'a pattern without quotes', pattern: /[?*[\]]/ },
  // An interactive zsh takes it for a command or an argument.
  { name: 'a comment', pattern: /(^|\s)#/ },
  { name: 'an event of the history', pattern: /!/ },
  { name: 'a command by its equals sign', pattern: /(^|\s)=\w/ },
];

/** The text with everything quoted left out; `$?` and the like are no patterns. */
function unquoted(script: string): string {
  return script
    .replaceAll(/\\[\s\S]|'[^']*('|$)|"(\\[\s\S]|[^"\\])*("|$)/g, keptLines)
    .replaceAll(/\$[?*#!@]/g, '');
}

/** A quotation over several lines still is several lines. */
function keptLines(text: string): string {
  return text.replaceAll(/[^\n]/g, '');
}
