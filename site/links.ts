/**
 * Where a link of a page leads on the site.
 *
 * A page of the repository that is on the site is linked there. Any other file is in the repository alone: it is
 * linked when the address of the repository is known, and is text otherwise.
 *
 * @module
 */

import { posix } from 'node:path';
import { type SitePage, STATIC_FILES } from './pages.ts';

export interface LinkRules {
  readonly pages: readonly SitePage[];
  /** Where a reader finds the files of the repository, ending with a slash; unknown when absent. */
  readonly repository?: string;
  /** Whether the repository has this file or folder. */
  exists(path: string): boolean;
}

/**
 * `href` as written in the page `source`. Returns undefined when the site has no such page and the address of the
 * repository is unknown. Throws when the repository has no such file either.
 */
export function siteLink(
  href: string,
  source: string,
  { pages, repository, exists }: LinkRules,
): string | undefined {
  // An address, an anchor of this page, or a page that exists on the site alone.
  if (/^([a-z][a-z+.-]*:|\/|#)/i.test(href)) return href;

  const [, path = '', suffix = ''] = /^([^?#]*)(.*)$/.exec(href) ?? [];
  const file = posix.normalize(posix.join(posix.dirname(source), decodeURI(path)));
  const page = pages.find((each) => [file, posix.join(file, 'README.md')].includes(each.source));
  if (page) return `/${page.route}${suffix}`;

  const [kept] = Object.entries(STATIC_FILES).find(([, from]) => from === file) ?? [];
  if (kept !== undefined) return `/${kept}`;
  if (file.startsWith('..') || !exists(file)) {
    throw new Error(`Cannot link "${href}" of ${source}: the repository has no such file`);
  }
  if (repository === undefined) return undefined;
  return `${repository}${file.replace(/^\.\/?/, '')}${suffix}`;
}

/** The same link where VitePress does not look: in HTML that a page writes itself. */
export function htmlLink(link: string, base: string): string {
  if (!link.startsWith('/')) return link;
  const path = link
    .slice(1)
    .replace(/(index)?\.md(?=[?#]|$)/, (_, index) => (index ? '' : '.html'));
  return `${base}${path}`;
}
