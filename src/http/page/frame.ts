/**
 * The frame of the pages without a script, the parts that they share with the console, and how they show what others
 * wrote.
 *
 * Texts of clients, agents and browsers pass `foreignHtml`: bounded in length, isolated from the text around them, with
 * hidden characters made visible.
 *
 * @module
 */

import { visibleText } from '../../domain/wire/visible-text.ts';
import { escapeHtml } from '../../openapi/html.ts';
import { SYMBOLS } from './look.generated.ts';
import { STYLE } from './style.ts';

/** What a page consists of. */
interface Framed {
  /** Text, as every title. */
  readonly title: string;
  /** The path before all paths of the service; relative where a proxy may add one. Absent where nothing serves an icon. */
  readonly basePath?: string | undefined;
  /** HTML. */
  readonly main: string;
  /** For the one thing that a page asks. */
  readonly isSlim?: boolean | undefined;
  readonly script?: string | undefined;
}

export function framed({ title, basePath, main, isSlim, script }: Framed): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
${basePath === undefined ? '' : iconLink(basePath)}<style>${STYLE}</style>
</head>
<body>
<a class="vh" href="#main">Skip to the page</a>
${symbolsFor(main)}
<main id="main" class="alone${isSlim ? ' slim' : ''}">
${main}
</main>
${script === undefined ? '' : `<script>${script}</script>`}
</body>
</html>
`;
}

export function iconLink(basePath: string): string {
  return `<link rel="icon" href="${escapeHtml(basePath)}/favicon.svg" type="image/svg+xml">\n`;
}

type IconName = keyof typeof SYMBOLS;

/** The drawings that the page shows, each once. No text of others can ask for one: its quotes are escaped. */
export function symbolsFor(main: string): string {
  const names = new Set([...main.matchAll(/<use href="#i-([a-z]+)"/g)].map(([, name]) => name));
  const drawn = [...names].map((name) => SYMBOLS[name as IconName]);
  return `<svg class="vh" aria-hidden="true" width="1" height="1"><defs>${drawn.join('')}</defs></svg>`;
}

/** Beside words. Where it stands alone, `says` is what it means. */
export function icon(name: IconName, { look = '', says = '' } = {}): string {
  const heard = says === '' ? 'aria-hidden="true"' : `role="img" aria-label="${escapeHtml(says)}"`;
  const use = `<use href="#i-${name}"/>`;
  return `<svg class="${look === '' ? 'i' : `i ${look}`}" ${heard}>${use}</svg>`;
}

export const BIG_MARK = '<svg class="mark big" aria-hidden="true"><use href="#i-mark"/></svg>';

/** The mark, the word, and the name of the service below. */
export function brand(service?: string): string {
  const name = service === undefined ? '' : `<span><bdi>${escapeHtml(service)}</bdi></span>`;
  return `<span class="brand"><svg class="mark" aria-hidden="true"><use href="#i-mark"/></svg><span><b>Writ</b> ${name}</span></span>`;
}

/** The last thing on a page: what can be compared elsewhere. `facts` are HTML by their terms. */
export function evidence(result: string, facts: Readonly<Record<string, string>>): string {
  const rows = Object.entries(facts).map(([term, value]) => `<dt>${term}</dt><dd>${value}</dd>`);
  return `<details class="evidence"><summary>${icon('chevron', { look: 'turn' })}<span>Evidence</span> <small>${result}</small></summary>
<dl class="facts">${rows.join('\n')}</dl></details>`;
}

const NOTICE_ICONS = { warn: 'warning', bad: 'warning', plain: 'clock' } as const;

/** One finding, before the details. `html` is the content. */
export function notice(state: keyof typeof NOTICE_ICONS, html: string, attributes = ''): string {
  return `<div class="notice ${state}"${attributes}>${icon(NOTICE_ICONS[state])}<p>${html}</p></div>`;
}

/** In characters. A client cannot fill the screen with its own words. */
const LENGTH_MAX = 120;
const NAME_LENGTH_MAX = 60;
export const MESSAGE_LENGTH_MAX = 1_000;

/** Text that somebody else wrote, as HTML. What does not fit is counted. */
export function foreignHtml(raw: string, lengthMax = LENGTH_MAX): string {
  const kept = clipped(raw, lengthMax);
  const marked = escapeHtml(visibleText(kept)).replace(MARKS, '<span class="ctl">$&</span>');
  const rest = kept.length === raw.length ? '' : ` <small>… of ${raw.length} characters</small>`;
  return `<bdi>${marked}</bdi>${rest}`;
}

/** A name that a client gave itself. */
export function claimed(name: string): string {
  return `<q class="claimed">${foreignHtml(name, NAME_LENGTH_MAX)}</q>`;
}

/** The same name in a text without markup. */
export function claimedText(name: string): string {
  return visibleText(clipped(name, NAME_LENGTH_MAX));
}

/** `visibleText` marks every other bracket of this kind, so no text can imitate a mark. */
const MARKS = /⟨U\+[0-9A-F]{4,6}⟩/g;

/** By code points: half of a pair would be shown as a hidden character. */
function clipped(raw: string, lengthMax: number): string {
  return [...raw.slice(0, 2 * lengthMax)].slice(0, lengthMax).join('');
}
