/**
 * What a browser sees instead of a page: what is wrong in words, the likely page, and one way on. Status and reference
 * are under Evidence. Programs get the failure itself.
 *
 * @module
 */

import { nearestName } from '../../domain/values/nearest.ts';
import { escapeHtml } from '../../openapi/html.ts';
import type { Failure } from '../../protocol/failure.ts';
import { brand, evidence, foreignHtml, framed, icon, MESSAGE_LENGTH_MAX } from './frame.ts';

/** Where the page is shown. */
export interface Site {
  /** The name of the service. */
  readonly service: string;
  /** The path before all paths of the service. */
  readonly basePath: string;
  readonly hasConsole: boolean;
}

/** What could not be answered. */
interface Missed {
  readonly failure: Failure;
  readonly status: number;
  /** As it was asked for, without its query. */
  readonly path: string;
  readonly reference: string | undefined;
  readonly at: Date;
}

interface Words {
  readonly icon: Parameters<typeof icon>[0];
  readonly title: string;
  /** HTML. */
  readonly text: string;
}

export function errorPage(site: Site, missed: Missed): string {
  const { failure, status } = missed;
  const words = wordsOf(site, missed);
  // An empty address is that of the page. Its path is not repeated: "//host" would lead elsewhere.
  const again = AGAIN.has(status) ? [{ href: '', label: 'Try again' }] : [];
  return missingPage(site, {
    ...words,
    ways: [...again, ...waysFrom(site)],
    evidence: evidenceOf({
      status,
      type: failure.type,
      // The words of another page have it.
      ...(status === 404 && { detail: failure.detail }),
      reference: missed.reference,
      at: missed.at,
    }),
  });
}

/** Where the same address may answer a moment later. */
const AGAIN: ReadonlySet<number> = new Set([401, 429, 500, 503]);

/** What a browser sees at the address of a page for people, where people cannot sign in. */
export function noSignInPage(site: Site, advice: string): string {
  const { service } = site;
  return missingPage(site, {
    icon: 'key',
    title: 'There is no console here',
    text: `People cannot sign in here, so there is no console. Automated agents and programs call <b>${escapeHtml(service)}</b> with a credential.</p>
<p class="small muted">For the operator: ${escapeHtml(advice)}`,
    ways: waysFrom(site),
  });
}

interface Way {
  readonly href: string;
  readonly label: string;
}

interface MissingView extends Words {
  /** The first one is blue. */
  readonly ways: readonly Way[];
  /** HTML. */
  readonly evidence?: string;
}

function missingPage(site: Site, view: MissingView): string {
  const { service, basePath } = site;
  const main = `<div class="head mid">${brand(service)}</div>\n${missingMain(view)}`;
  return framed({ title: `${view.title} · ${service}`, basePath, main });
}

/** The same inside the frame of another page. HTML. */
export function missingMain({
  icon: name,
  title,
  text,
  ways,
  evidence: proof = '',
}: MissingView): string {
  const buttons = ways.map(({ href, label }, index) => {
    const look = index === 0 ? 'button act' : 'button';
    return `<a class="${look}" href="${escapeHtml(href)}">${foreignHtml(label)}</a>`;
  });
  return `<div class="panel empty">${icon(name)}
<h1>${foreignHtml(title)}</h1>
<p>${text}</p>
${buttons.length === 0 ? '' : `<div class="row">${buttons.join(' ')}</div>`}</div>
${proof}`;
}

interface Proof {
  readonly status: number;
  readonly type?: string;
  readonly detail?: string;
  readonly reference: string | undefined;
  readonly at?: Date;
}

export function evidenceOf({ status, type, detail, reference, at }: Proof): string {
  const kind = type === undefined ? '' : ` <code>${escapeHtml(type)}</code>`;
  const when = at === undefined ? '' : `, ${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  return evidence(String(status), {
    Answer: `${status}${kind}`,
    ...(detail !== undefined && { Because: foreignHtml(detail, MESSAGE_LENGTH_MAX) }),
    ...(reference !== undefined && { Request: `<code>${escapeHtml(reference)}</code>${when}` }),
    ...(type !== undefined && { 'For programs': FOR_PROGRAMS }),
  });
}

const FOR_PROGRAMS = 'the same address with <code>accept: application/json</code> answers in JSON';

function waysFrom({ service, basePath, hasConsole }: Site): Way[] {
  const start = { href: `${basePath}/`, label: `Start page of ${service}` };
  const open = { href: `${basePath}/console/`, label: 'Open the console' };
  return hasConsole ? [open, start] : [start];
}

function wordsOf(site: Site, { failure, status, path }: Missed): Words {
  const name = foreignHtml(site.service);
  const why = sentence(failure.detail);
  const givenBy = failure.resolution.grantable_by;
  switch (status) {
    case 404:
      return { icon: 'search', title: 'There is no page here', text: nothingAt(site, path) };
    case 401:
      return isForPeople(path)
        ? { icon: 'key', title: 'Sign in to see this page', text: why }
        : { ...PROGRAMS, text: `A program sends a credential with its request. ${why}` };
    case 403: {
      const who = givenBy === undefined ? '' : ` ${foreignHtml(givenBy)} can give the right.`;
      return { icon: 'key', title: 'You may not see this page', text: `${why}${who}` };
    }
    case 405:
      return { ...PROGRAMS, text: why };
    case 429:
      return { icon: 'clock', title: 'Too many requests', text: why };
    case 500:
      return {
        icon: 'cross',
        title: `${site.service} could not do this`,
        text: `A fault inside ${name} stopped it. Its operator finds it by the reference below.`,
      };
    case 503:
      return { icon: 'pulse', title: `${site.service} does not answer now`, text: why };
    default:
      return { icon: 'cross', title: 'This page cannot be shown', text: why };
  }
}

const PROGRAMS = { icon: 'tool', title: 'This address is for programs' } as const;

function sentence(detail: string): string {
  return `${foreignHtml(detail, MESSAGE_LENGTH_MAX)}.`;
}

/** The addresses of pages for people begin so; the front page is one. */
const FOR_PEOPLE = /^\/(?:(?:console|sign-in|enrol|authorize|agents|accounts)(?:\/|$)|$)/;

export function isForPeople(path: string): boolean {
  return FOR_PEOPLE.test(path);
}

/** Pages that a wrong address may mean, by the part of it that names them. */
const VIEWS = 'approvals agents activity capabilities trust operations passkeys'.split(' ');
const OTHERS = ['docs', 'openapi.json'];

/** In characters: longer than the name of every page, and short enough to compare. */
const NAME_LENGTH_MAX = 20;

function nothingAt({ service, basePath, hasConsole }: Site, path: string): string {
  const at = `${foreignHtml(service)} has nothing at <code>${foreignHtml(basePath + path)}</code>.`;
  const [, first = '', second] = path.split('/', 3);
  const isView = hasConsole && first === 'console';
  const name = (isView ? second : first)?.slice(0, NAME_LENGTH_MAX) ?? '';
  const known = isView ? VIEWS : [...OTHERS, ...(hasConsole ? ['console/'] : [])];
  const meant = name === '' ? undefined : nearestName(name, known);
  if (meant === undefined) return at;
  const link = `${basePath}/${isView ? 'console/' : ''}${meant}`;
  return `${at} Did you mean <a href="${escapeHtml(link)}"><code>${escapeHtml(link)}</code></a>?`;
}
