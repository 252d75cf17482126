/**
 * The pages of the site: which file of the repository each is made from, where it is, and in which order a reader
 * finds it.
 *
 * Titles are the first headings. The order of the guides is that of the links in docs/guides/README.md; a guide
 * that is not linked there comes after the others, by its file name.
 *
 * @module
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { linksOf, titleOf } from './source.ts';

export interface SitePage {
  /** From the root of the repository. */
  readonly source: string;
  /** From the root of the site, ending with `.md`, as VitePress names its pages. */
  readonly route: string;
  readonly title: string;
}

export interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly items?: SidebarItem[];
  readonly target?: string;
}

export const GUIDES = 'docs/guides';
const DECISIONS = 'docs/decisions';

/** Folders of the repository, and where the pages in each are on the site. */
const FOLDERS: readonly (readonly [folder: string, route: string])[] = [
  ['.', 'project'],
  ['docs', 'reference'],
  [GUIDES, 'guides'],
  [DECISIONS, 'decisions'],
];

/** Pages that exist only on the site: they list others. */
const LISTS: Readonly<Record<string, string>> = {
  'site/reference.md': 'reference/index.md',
};

/** Files that are offered beside the pages, by where they are on the site. */
export const STATIC_FILES: Readonly<Record<string, string>> = {
  'openapi.json': 'docs/openapi.json',
  'guard.schema.json': 'docs/guard.schema.json',
};

/** By file name, in reading order. A page of docs/ that no group names is in the last. */
export const GROUPS: readonly (readonly [title: string, names: readonly string[]])[] = [
  ['Build', ['handlers', 'capabilities', 'serving', 'mounting', 'client']],
  ['Connect', ['mcp', 'guard', 'stdio']],
  ['People', ['approvals', 'conditions', 'console', 'sign-in']],
  ['Operate', ['operating', 'keys', 'export']],
  ['Verify', ['verify', 'threat-model', 'attack']],
  ['Reference', ['tour', 'operations', 'cli', 'configuration', 'failures', 'versions']],
];

/** Pages whose text is now in another one: each is a link for readers that come from outside, and in no group. */
export const MOVED: readonly string[] = ['accounts', 'deploying', 'monitoring', 'oidc'];

/** Made by scripts/site.ts, beside the pages. */
const API: SidebarItem = { text: 'HTTP API', link: '/api.html', target: '_self' };

export function sitePages(root: string): SitePage[] {
  const sources = FOLDERS.flatMap(([folder, route]) =>
    markdownIn(root, folder).map((name) => ({
      source: posix.join(folder, name),
      route: routeOf(folder, route, name),
    })),
  );
  const lists = Object.entries(LISTS)
    // A page in the repository that has the same place is used instead.
    .filter(([, route]) => !sources.some((page) => page.route === route))
    .map(([source, route]) => ({ source, route }));
  return [...sources, ...lists].map((page) => ({ ...page, title: titleIn(root, page.source) }));
}

/** The sidebar beside the decisions, and the one beside every other page. */
export function sidebarOf(pages: readonly SitePage[], guideIndex: string) {
  return { '/decisions/': [decisions(pages)], '/': mainSidebar(pages, guideIndex) };
}

function mainSidebar(pages: readonly SitePage[], guideIndex: string): SidebarItem[] {
  const reference = inFolder(pages, 'docs').filter((page) => !MOVED.includes(nameOf(page)));
  const last = GROUPS.at(-1)?.[0];
  const named = GROUPS.flatMap(([, names]) => names);
  const groups = GROUPS.map(([text, names]) => {
    const members = names.flatMap((name) => reference.filter((page) => nameOf(page) === name));
    const others = reference.filter((page) => !named.includes(nameOf(page)));
    const items = text === last ? [...members, ...others] : members;
    return { text, items: [...items.map(itemOf), ...(text === last ? [API] : [])] };
  });
  const project = inFolder(pages, '.').filter(({ source }) => source !== 'README.md');
  const all = [
    { text: 'Guides', items: guides(pages, guideIndex) },
    ...groups,
    {
      text: 'Project',
      items: [...project.map(itemOf), { text: 'Decisions', link: '/decisions/' }],
    },
  ];
  return all.filter(({ items }) => items.length > 0);
}

function guides(pages: readonly SitePage[], index: string): SidebarItem[] {
  const all = inFolder(pages, GUIDES).filter(({ source }) => nameOf({ source }) !== 'README');
  const listed = linksOf(index).map(({ text, target }) => ({
    text,
    source: posix.join(GUIDES, target.replace(/#.*/, '')),
  }));
  const first = listed.flatMap(({ text, source }, at) => {
    const page = all.find((each) => each.source === source);
    const isRepeated = listed.findIndex((each) => each.source === source) < at;
    return page && !isRepeated ? [{ ...itemOf(page), ...(text !== '' && { text }) }] : [];
  });
  const rest = all.filter(({ source }) => !listed.some((each) => each.source === source));
  return [...first, ...rest.map(itemOf)];
}

function decisions(pages: readonly SitePage[]): SidebarItem {
  const records = inFolder(pages, DECISIONS).filter(({ source }) => /\/\d{2}-/.test(source));
  return { text: 'Decisions', link: '/decisions/', items: records.map(itemOf) };
}

function itemOf({ route, title }: SitePage): SidebarItem {
  const path = route.replace(/(index)?\.md$/, (_, index) => (index ? '' : '.html'));
  return { text: title, link: `/${path}` };
}

function inFolder(pages: readonly SitePage[], folder: string): SitePage[] {
  return pages.filter(({ source }) => posix.dirname(source) === folder);
}

function nameOf({ source }: Pick<SitePage, 'source'>): string {
  return posix.basename(source, '.md');
}

function routeOf(folder: string, route: string, name: string): string {
  if (folder === '.' && name === 'README.md') return 'index.md';
  if (name === 'README.md') return `${route}/index.md`;
  return `${route}/${name.toLowerCase()}`;
}

function markdownIn(root: string, folder: string): string[] {
  const path = join(root, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .filter((name) => name.endsWith('.md'))
    .sort();
}

function titleIn(root: string, source: string): string {
  const title = titleOf(readFileSync(join(root, source), 'utf8'));
  if (title === undefined) throw new Error(`Cannot list ${source}: it has no heading of level 1`);
  return title;
}
