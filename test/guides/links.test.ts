/**
 * The links of every Markdown page: each leads to a file of the repository, each anchor to a heading of its page, as
 * GitHub names headings. Other hosts are not asked.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'vitest';
import { headingsOf, linksOf } from '../../site/source.ts';

const PAGES = ['.', 'docs', 'examples', 'deploy', 'bench', '.github', 'site'].flatMap((folder) =>
  pagesIn(folder),
);

test('there are pages to look at', () => {
  const names = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/guides/README.md'];

  assert.deepEqual(
    names.filter((name) => !PAGES.includes(name)),
    [],
  );
});

test('every link of every page leads to something', () => {
  const read = (path: string) => readFileSync(path, 'utf8');

  const broken = PAGES.flatMap((page) =>
    brokenLinks(page, read(page), read).map((each) => `${page}: ${each}`),
  );

  assert.deepEqual(broken, []);
});

const OTHER = '# Other\n\n## What it does\n\n## What it does\n';
const PLANTED: [markdown: string, broken: string[]][] = [
  ['[a](other.md), [b](other.md#what-it-does-1), [c](#here)\n\n# Here', []],
  ['[a](gone.md)', ['gone.md: no such file']],
  ['[a](other.md#gone)', ['other.md#gone: no such heading']],
  ['[a](#gone)', ['#gone: no such heading']],
  ['![a](gone.png)', ['gone.png: no such file']],
  ['[![a](gone.png)](other.md)', ['gone.png: no such file']],
  ['[a]: gone.md', ['gone.md: no such file']],
  ['<img alt="a" src="gone.png">', ['gone.png: no such file']],
  ['`[a](gone.md)` and\n```sh\n[a](gone.md)\n# Here\n```\n', []],
  ['[a](https://example.com/gone.md), [b](mailto:a@example.com)', []],
];
for (const [markdown, broken] of PLANTED) {
  test(`brokenLinks() finds ${broken.length} in ${JSON.stringify(markdown)}`, () => {
    const found = brokenLinks('docs/page.md', markdown, (path) => {
      if (path === 'docs/other.md') return OTHER;
      throw new Error(`Cannot read "${path}"`);
    });

    assert.deepEqual(found, broken);
  });
}

type Read = (path: string) => string;

function brokenLinks(page: string, markdown: string, read: Read): string[] {
  return linksOf(markdown).flatMap(({ target }) => {
    // Other hosts, and places on the site that its own pages name; its build checks these.
    if (/^([a-z][a-z+.-]*:|\/)/i.test(target)) return [];
    const [path = '', anchor = ''] = target.split('#');
    if (path === '') return hasHeading(markdown, anchor) ? [] : [`${target}: no such heading`];
    const file = posix.join(posix.dirname(page), decodeURI(path));
    if (!isThere(file, read)) return [`${target}: no such file`];
    const isNamed = !file.endsWith('.md') || hasHeading(read(file), anchor);
    return isNamed ? [] : [`${target}: no such heading`];
  });
}

function hasHeading(markdown: string, anchor: string): boolean {
  const headings = headingsOf(markdown);
  return anchor === '' || headings.some((heading) => heading.anchor === decodeURI(anchor));
}

/** A folder too: GitHub lists its files. */
function isThere(file: string, read: Read): boolean {
  if (file.startsWith('..')) return false;
  if (existsSync(file)) return true;
  try {
    read(file);
    return true;
  } catch {
    return false;
  }
}

function pagesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder, { withFileTypes: true }).flatMap((item) => {
    const path = posix.join(folder, item.name);
    if (/^(dist|node_modules|\.writ)$/.test(item.name)) return [];
    // The pages of the first folder are its own; the other folders are listed by name.
    if (item.isDirectory()) return folder === '.' ? [] : pagesIn(path);
    return item.name.endsWith('.md') ? [path] : [];
  });
  return found.sort();
}
