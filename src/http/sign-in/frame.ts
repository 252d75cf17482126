/**
 * The frame of the sign-in pages: whose page it is, and forms with their proof. Only the pages that ask for a passkey
 * have a script.
 *
 * @module
 */

import { escapeHtml } from '../../openapi/html.ts';
import { brand, foreignHtml, framed, MESSAGE_LENGTH_MAX, notice } from '../page/frame.ts';
import { STYLE_HASH } from '../page/style.ts';
import { CSRF_FIELD } from './csrf.ts';
import { formPageHeaders } from './headers.ts';

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
  /** For a page that asks one thing: it has a mark of its own. */
  readonly isSlim?: boolean;
  readonly script?: string;
}

/** The headers of every page here. A form of a consent page leads to its client. */
export function signInHeaders(
  formTargets: readonly string[] = [],
  scriptHash?: string,
): Record<string, string> {
  return formPageHeaders(STYLE_HASH, formTargets, scriptHash);
}

export function page(frame: Frame, { title, main, isSlim, script }: PageParts): string {
  const { service, basePath, person } = frame;
  const whose = person === undefined ? '' : personBar(frame, person);
  const head = isSlim ? '' : `<div class="head mid">${brand(service)}${whose}</div>\n`;
  return framed({
    title: `${title} · ${service}`,
    basePath,
    main: `${head}${main}`,
    isSlim,
    script,
  });
}

function personBar(frame: Frame, person: string): string {
  return `<div class="row small"><nav aria-label="Pages"><a href="${escapeHtml(`${frame.basePath}/agents`)}">My agents</a>${accountsLink(frame)}</nav>
<span class="muted">${foreignHtml(person)}</span>
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
  return notice('bad', foreignHtml(problem, MESSAGE_LENGTH_MAX), ' role="alert"');
}
