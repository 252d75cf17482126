/**
 * The frame of the sign-in pages, and how they show what others wrote.
 *
 * Texts of clients, agents and browsers pass `foreignHtml`: bounded in length, isolated from the text around them,
 * with hidden characters made visible. Only the pages that ask for a passkey have a script.
 *
 * @module
 */

import { visibleText } from '../../domain/wire/visible-text.ts';
import { escapeHtml } from '../../openapi/html.ts';
import { CSRF_FIELD } from './csrf.ts';
import { formPageHeaders } from './headers.ts';
import { STYLE, STYLE_HASH } from './style.ts';

export interface Frame {
  /** The name of the service, as people know it. */
  readonly service: string;
  /** The path before all paths of the service. */
  readonly basePath: string;
  /** Who is signed in. */
  readonly person?: string | undefined;
  /** Of every form on the page. */
  readonly csrf: string;
  /** Whether the person has a page of accounts. */
  readonly hasAccounts?: boolean | undefined;
}

/** What a page consists of, beyond its frame. */
interface PageParts {
  /** Our own words; what others wrote in them is visible text. */
  readonly title: string;
  /** HTML. */
  readonly main: string;
  readonly isNarrow?: boolean;
  readonly script?: string;
}

interface MessageView {
  readonly title: string;
  readonly text: string;
  /** The way on. A path below that of the service. */
  readonly link?: { readonly path: `/${string}`; readonly label: string } | undefined;
}

/** A page that only says something: why a request cannot be answered, or what was done. */
export function messagePage(frame: Frame, { title, text: message, link }: MessageView): string {
  const way = link
    ? `<p><a class="button" href="${escapeHtml(frame.basePath + link.path)}">${escapeHtml(link.label)}</a></p>`
    : '';
  const main = `<h1>${foreignHtml(title)}</h1>\n<p>${foreignHtml(message, MESSAGE_LENGTH_MAX)}</p>\n${way}`;
  return page(frame, { title: claimedText(title), main, isNarrow: true });
}

/** The headers of every page here. A form of a consent page leads to its client. */
export function signInHeaders(
  formTargets: readonly string[] = [],
  scriptHash?: string,
): Record<string, string> {
  return formPageHeaders(STYLE_HASH, formTargets, scriptHash);
}

export function page(frame: Frame, { title, main, isNarrow, script }: PageParts): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · ${escapeHtml(frame.service)}</title>
<style>${STYLE}</style>
</head>
<body>
<a class="vh" href="#main">Skip to the page</a>
<header class="top">
<p><b>Writ</b> <bdi>${escapeHtml(frame.service)}</bdi></p>
${frame.person === undefined ? '' : personBar(frame, frame.person)}
</header>
<main id="main"${isNarrow ? ' class="narrow"' : ''}>
${main}
</main>
${script === undefined ? '' : `<script>${script}</script>`}
</body>
</html>
`;
}

function personBar(frame: Frame, person: string): string {
  return `<div class="person"><p>${foreignHtml(person)}</p>
<nav aria-label="Pages"><a href="${escapeHtml(`${frame.basePath}/agents`)}">My agents</a>${accountsLink(frame)}</nav>
${form(frame, '/sign-out', '<button class="text">Not you? Sign out</button>')}</div>`;
}

function accountsLink({ basePath, hasAccounts }: Frame): string {
  return hasAccounts ? ` <a href="${escapeHtml(`${basePath}/accounts`)}">Accounts</a>` : '';
}

/** A form that is sent by POST, with its proof that it comes from this page. */
export function form(frame: Frame, path: `/${string}`, content: string): string {
  return `<form method="post" action="${escapeHtml(frame.basePath + path)}" autocomplete="off">
${hidden(CSRF_FIELD, frame.csrf)}${content}</form>`;
}

export function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`;
}

/** A message that the person must see before going on. */
export function problemNotice(problem: string | undefined): string {
  if (problem === undefined) return '';
  return `<p class="notice bad" role="alert">${foreignHtml(problem, MESSAGE_LENGTH_MAX)}</p>`;
}

/** In characters. A client cannot fill the screen with its own words. */
const LENGTH_MAX = 120;
const NAME_LENGTH_MAX = 60;
const MESSAGE_LENGTH_MAX = 1_000;

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
