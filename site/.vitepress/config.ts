/**
 * The documentation site: pages of the repository as they are, on VitePress. `npm run site` builds it.
 *
 * `WRIT_SITE_BASE` is the path of the site on its host. `WRIT_SITE_REPOSITORY` is the address of the files of the
 * repository, for links to sources. The site loads nothing from another host.
 *
 * @module
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { type MarkdownIt, readAsGitHub } from '../markdown.ts';
import { GUIDES, sidebarOf, sitePages } from '../pages.ts';
import { accessibleSearch } from '../search.ts';
import { anchorOf } from '../source.ts';
import { themedByClass } from '../tokens.ts';

const SITE = dirname(dirname(fileURLToPath(import.meta.url)));
const ROOT = dirname(SITE);
const { description } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** In the address itself, so that no other request is needed. */
const ICON =
  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='6' fill='#1f4bb8'/>" +
  "<path d='M5 9l5 14 6-14 6 14 5-14' fill='none' stroke='#fff' stroke-width='3' stroke-linejoin='round'/></svg>";

const base = `/${process.env.WRIT_SITE_BASE ?? ''}/`.replace(/\/+/g, '/');
const repository = process.env.WRIT_SITE_REPOSITORY;
const pages = sitePages(ROOT);
const routes = Object.fromEntries(pages.map(({ source, route }) => [source, route]));

// biome-ignore lint/style/noDefaultExport: VitePress reads the default export.
export default defineConfig({
  title: 'Writ',
  description,
  lang: 'en',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  base,
  srcDir: ROOT,
  srcExclude: foreignFiles(),
  rewrites: routes,
  // Guides lead to the service that the reader runs.
  ignoreDeadLinks: 'localhostLinks',
  outDir: join(SITE, 'dist'),
  cacheDir: join(SITE, 'node_modules/.vitepress'),
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: anchorOf },
    // Braces at the end of a line would be attributes of the element.
    attrs: { disable: true },
    config: (md) =>
      readAsGitHub(md as unknown as MarkdownIt, {
        pages,
        ...(repository && { repository: slashed(repository) }),
        base,
        exists: (path) => existsSync(join(ROOT, path)),
        sourceOf: (path) => relative(ROOT, path).replaceAll('\\', '/'),
      }),
  },
  vite: { plugins: [mended()], build: { chunkSizeWarningLimit: 1_500 } },
  themeConfig: {
    nav: [
      { text: 'Guides', link: '/guides/', activeMatch: '^/guides/' },
      { text: 'Reference', link: '/reference/', activeMatch: '^/reference/' },
      { text: 'Decisions', link: '/decisions/', activeMatch: '^/decisions/' },
      { text: 'HTTP API', link: '/api.html', target: '_self' },
    ],
    sidebar: sidebarOf(pages, readFileSync(join(ROOT, GUIDES, 'README.md'), 'utf8')),
    outline: [2, 3],
    search: { provider: 'local' },
    externalLinkIcon: false,
  },
});

/** Changes two files as they are read: the colours of Writ's pages, and the search box of VitePress. */
function mended() {
  return {
    name: 'writ-mended',
    enforce: 'pre' as const,
    transform(text: string, id: string) {
      if (id.endsWith('/src/console/style/tokens.css')) return themedByClass(text);
      return id.endsWith('/VPLocalSearchBox.vue') ? accessibleSearch(text) : undefined;
    },
  };
}

/** Everything that is no page of the site, so that VitePress neither reads nor follows it. */
function foreignFiles(): string[] {
  const folders = readdirSync(ROOT, { withFileTypes: true })
    .filter((each) => each.isDirectory() && !['docs', 'site'].includes(each.name))
    .map(({ name }) => `${name}/**`);
  return [...folders, 'site/node_modules/**', 'site/dist/**'];
}

function slashed(address: string): string {
  return address.endsWith('/') ? address : `${address}/`;
}
