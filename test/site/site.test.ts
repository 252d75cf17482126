/**
 * What the documentation site makes of the pages of the repository: places, order, links, anchors and HTML. The built
 * site is tried in a browser by `npm run site:try`.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'vitest';
import { htmlLink, siteLink } from '../../site/links.ts';
import { fileOf, safeHtml } from '../../site/markdown.ts';
import {
  GROUPS,
  MOVED,
  type SidebarItem,
  type SitePage,
  sidebarOf,
  sitePages,
} from '../../site/pages.ts';
import { accessibleSearch } from '../../site/search.ts';
import { headingsOf, linksOf, titleOf } from '../../site/source.ts';
import { themedByClass } from '../../site/tokens.ts';

const pages = sitePages('.');

test('sitePages() gives every page a place of its own', () => {
  const places = pages.map(({ route }) => route);

  assert.deepEqual(
    [
      'index.md',
      'guides/index.md',
      'reference/index.md',
      'reference/cli.md',
      'decisions/index.md',
    ].filter((place) => !places.includes(place)),
    [],
  );
  assert.equal(new Set(places).size, places.length);
});

test('sidebarOf() leads to every page but the lists themselves and those that moved', () => {
  const { '/': main, '/decisions/': decisions } = sidebarOf(pages, '');
  const linked = [...main, ...decisions].flatMap(({ items = [] }) => items.map(({ link }) => link));

  const missing = pages
    .filter(({ source }) => !MOVED.some((name) => source === `docs/${name}.md`))
    .map(({ route }) => `/${route.replace(/\.md$/, '.html')}`)
    .filter((place) => !place.endsWith('index.html') && !linked.includes(place));
  assert.deepEqual(missing, []);
});

test('every page that a group of the sidebar names exists', () => {
  const names = GROUPS.flatMap(([, all]) => all);

  assert.deepEqual(
    names.filter((name) => !existsSync(`docs/${name}.md`)),
    [],
  );
});

test('a page that moved is its title and one link to a heading of another page', () => {
  const others = MOVED.map((name) => readFileSync(`docs/${name}.md`, 'utf8')).filter((text) => {
    const [link, ...more] = linksOf(text);
    return text.split('\n').length > 4 || more.length > 0 || !/\.md#./.test(link?.target ?? '');
  });

  assert.deepEqual(others, []);
});

test('sidebarOf() orders and names guides by the index, others after them by file name', () => {
  const guides = ['b', 'a', 'd', 'c'].map((name) => guide(name)).sort(byRoute);
  const index =
    '# Guides\n\n| 1 | [Third, first](c.md) | x |\n| 2 | [Beta](b.md#x) |\n[again](c.md)';

  const [group] = sidebarOf(guides, index)['/'];

  assert.deepEqual(textsOf(group), ['Third, first', 'Beta', 'Title of a', 'Title of d']);
});

test('titleOf() takes the first heading, without marks and never from code', () => {
  assert.equal(
    titleOf('```sh\n# no\n```\n<!-- # no -->\n## Two\n# A `b` *c* [d](e.md)\n'),
    'A b c d',
  );
});

test('headingsOf() names anchors as GitHub does', () => {
  const markdown =
    '# A: b, c_d & `e.f()`\n## Same\n## Same\n## Größe – 2 %\n## [Link](a.md) here\n';

  assert.deepEqual(
    headingsOf(markdown).map(({ anchor }) => anchor),
    ['a-b-c_d--ef', 'same', 'same-1', 'größe--2-', 'link-here'],
  );
});

test('linksOf() finds what a link that spans lines leads to', () => {
  assert.deepEqual(linksOf('[one\ntwo](a.md "title")'), [{ text: 'one\ntwo', target: 'a.md' }]);
});

const RULES = {
  pages: [guide('a'), { source: 'docs/keys.md', route: 'reference/keys.md', title: 'Keys' }],
  exists: (path: string) => ['src/a.ts', 'examples/'].includes(path),
};
const REPOSITORY = 'https://repository.example/blob/main/';
const LINKS: [href: string, expected: string | undefined][] = [
  ['../keys.md#rotate', '/reference/keys.md#rotate'],
  ['a.md', '/guides/a.md'],
  ['#here', '#here'],
  ['https://example.com/a.md', 'https://example.com/a.md'],
  ['../openapi.json', '/openapi.json'],
  ['../../src/a.ts', `${REPOSITORY}src/a.ts`],
  ['../../examples/', `${REPOSITORY}examples/`],
];
for (const [href, expected] of LINKS) {
  test(`siteLink() leads ${href} to ${expected}`, () => {
    const rules = { ...RULES, repository: REPOSITORY };

    assert.equal(siteLink(href, 'docs/guides/b.md', rules), expected);
  });
}

test('siteLink() leads a source nowhere when the address of the repository is unknown', () => {
  assert.equal(siteLink('../../src/a.ts', 'docs/guides/b.md', RULES), undefined);
});

for (const href of ['gone.md', '../../src/gone.ts', '../../../outside.md']) {
  test(`siteLink() refuses ${href}, which the repository does not have`, () => {
    assert.throws(() => siteLink(href, 'docs/guides/b.md', RULES), /^Error: Cannot link/);
  });
}

test('htmlLink() adds the path of the site and names the built file', () => {
  const links = ['/guides/a.md#b', '/guides/index.md', '#b', 'https://example.com/'];

  assert.deepEqual(
    links.map((link) => htmlLink(link, '/writ/')),
    ['/writ/guides/a.html#b', '/writ/guides/', '#b', 'https://example.com/'],
  );
});

const HTML: [name: string, html: string, expected: string][] = [
  ['a comment', 'a<!-- stop -->b', 'ab'],
  ['an unknown element', 'writ <name>', 'writ &lt;name&gt;'],
  ['a component of Vue', '<Suspense>', '&lt;Suspense&gt;'],
  ['a script', '<script>a()</script>', '&lt;script&gt;a()&lt;/script&gt;'],
  ['an expression', '<b>{{ a }}</b>', '<b>&#123;&#123; a }}</b>'],
  ['a directive', '<b v-html="a" @click="b" :id="c" onclick="d" class="e">', '<b class="e">'],
  ['a picture', '<img src="images/a.png" alt="a">', '<img src="./images/a.png" alt="a">'],
  ['a link', '<a href="../keys.md">', '<a href="/writ/reference/keys.html">'],
];
for (const [name, html, expected] of HTML) {
  test(`safeHtml() keeps ${name} from being code of the page`, () => {
    const rules = { ...RULES, base: '/writ/', sourceOf: (path: string) => path };

    assert.equal(safeHtml(html, 'docs/guides/b.md', rules), expected);
  });
}

test('fileOf() takes the file name of a fence, and no other word', () => {
  const words = ['ts src/service.ts', 'yaml writ-guard.yaml', 'sh serve', 'sh', 'ts {1,3}', ''];

  assert.deepEqual(words.map(fileOf), [
    'src/service.ts',
    'writ-guard.yaml',
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test('themedByClass() lets a class choose the colours, with both themes complete', () => {
  const css = themedByClass(readFileSync('src/console/style/tokens.css', 'utf8'));

  const [light = '', dark = ''] = css.split(':root.dark');
  assert.doesNotMatch(css, /prefers-color-scheme/);
  assert.match(light, /--paper: #f7f7f4/);
  assert.match(dark, /--paper: #111315/);
  assert.throws(() => themedByClass(':root {}'), /Cannot theme/);
});

test('accessibleSearch() refuses a search box that it does not know', () => {
  assert.throws(
    () => accessibleSearch('<div role="button">'),
    /^Error: Cannot mend the search box/,
  );
});

function guide(name: string): SitePage {
  return {
    source: `docs/guides/${name}.md`,
    route: `guides/${name}.md`,
    title: `Title of ${name}`,
  };
}

function byRoute(a: SitePage, b: SitePage): number {
  return a.route < b.route ? -1 : 1;
}

function textsOf(item: SidebarItem | undefined): string[] {
  return (item?.items ?? []).map(({ text }) => text);
}
