/**
 * The look of the pages that have no script, as a module: what they need of the style sheets of the console, its icons
 * and its favicon. So both have the same values and components, and a service that was bundled into one file has them,
 * too.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const SHEETS = ['tokens', 'base', 'frame', 'lists', 'parts', 'controls', 'pages'];

/** The classes of the console that these pages use. A rule that needs another one is left out. */
const CLASSES = new Set(
  `act alone amount ask bad big body box brand brief button chips claimed cmd ctl danger effect empty evidence facts field fields
  final final-icon good head i ink lead list little mark mid money more muted nb notice off opt or panel pill row side
  slim small soon stack text time turn vh w warn wide write`.split(/\s+/),
);

/** Elements that these pages do not have. */
const ABSENT = /(?:^|[\s>+~])(?:dialog|del|ins|mark|textarea|pre)\b(?!-)/;

export function lookModule(root: string): string {
  const textOf = (path: string) => readFileSync(join(root, 'src/console', path), 'utf8');
  const css = SHEETS.map((name) => keptRules(textOf(`style/${name}.css`))).join('\n');
  const symbols = [...textOf('icons.svg').matchAll(/<symbol id="i-([a-z]+)".*?<\/symbol>/g)];
  const rows = symbols.map(([drawing, name = '']) => `  ${name}: ${literal(drawing)},\n`);
  return `/**
 * Made by \`npm run generate\` from the style sheets and the drawings of the console (src/console).
 *
 * @module
 */

export const LOOK = ${literal(css)};

/** By name: a drawing that a page contains once, for all places that show it. */
export const SYMBOLS = {
${rows.join('')}} as const;

export const FAVICON = ${literal(textOf('favicon.svg').trim())};
`;
}

function literal(text: string): string {
  return `\`${text.replaceAll(/[\\`]|\$(?=\{)/g, '\\$&')}\``;
}

/** The rules of a sheet that apply to these pages, one on a line. */
function keptRules(sheet: string): string {
  const text = sheet.replaceAll(/\/\*[\s\S]*?\*\/|@import[^;]*;/g, '');
  return blocksIn(text)
    .map(({ head, inside }) => {
      if (head.startsWith('@')) {
        const kept = keptRules(inside);
        return kept === '' ? '' : `${head} {\n${kept}\n}`;
      }
      const selectors = partsOf(head).filter(isUsed);
      return selectors.length === 0 ? '' : `${selectors.join(', ')} { ${inside} }`;
    })
    .filter((rule) => rule !== '')
    .join('\n');
}

interface Block {
  /** A selector, or a condition. */
  readonly head: string;
  readonly inside: string;
}

function blocksIn(text: string): Block[] {
  const blocks: Block[] = [];
  let [start, opened, depth] = [0, 0, 0];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '{' && depth++ === 0) opened = at;
    if (text[at] !== '}' || --depth > 0) continue;
    const [head, inside] = [text.slice(start, opened), text.slice(opened + 1, at)];
    blocks.push({ head: oneLine(head), inside: oneLine(inside) });
    start = at + 1;
  }
  return blocks;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** The selectors of a list; a comma in brackets separates none. */
function partsOf(list: string): string[] {
  return list.split(/,\s*(?![^(]*\))/);
}

function isUsed(selector: string): boolean {
  // Of a choice of selectors one that is used is enough; what is excluded needs no place on a page.
  const classes = selector.replaceAll(/:(not|is|where)\(([^)]*)\)/g, (each, kind, list) =>
    kind === 'not' ? '' : (partsOf(list).find(isUsed) ?? each),
  );
  if (ABSENT.test(classes)) return false;
  return [...classes.matchAll(/\.([a-z][\w-]*)/g)].every(([, name = '']) => CLASSES.has(name));
}
