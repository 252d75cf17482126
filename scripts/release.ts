/**
 * The form of CHANGELOG.md, and what must hold before a tag is published.
 *
 * `npm run release:notes v1.2.3` prints the changes of that release, or what keeps it from being published
 * and exits with 1. Publishes nothing itself: .github/workflows/release.yml does.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** In the order in which a release has them. */
const KINDS = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
const UNRELEASED = '[Unreleased]';
const RELEASE = /^\[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$/;
/** A release, a kind of change, a subject, or a change or a remark on one line. */
const LINE = new RegExp(
  `^(?:## .*|### (?:${KINDS.join('|')})|#### \\S.*|(?:- \\S|[^\\s*+#-]).*\\.|)$`,
);
/** A subject or a kind right before the next heading of its level, or at the end. */
const EMPTY = /^(?:#### .*(?=\n+#|$(?![\s\S]))|### .*(?=\n+### |$(?![\s\S])))/gm;

interface Section {
  readonly title: string;
  readonly body: string;
}

/** What is wrong with the form of a changelog, one text each. `version` is that of package.json. */
export function changelogFaults(text: string, version: string): string[] {
  const [intro = ''] = text.split(/^## /m);
  const skipped = intro.split('\n').length - 1;
  const lines = text.split('\n').flatMap((line, index) => {
    if (index < skipped || LINE.test(line)) return [];
    return [`line ${index + 1}: "${line}" is neither a heading nor a change with a full stop`];
  });
  const [first, ...releases] = sectionsOf(text);
  const order = first?.title === UNRELEASED ? [] : [`the first section is not ${UNRELEASED}`];
  let [above, aboveDay] = [version, '9999-12-31'];
  for (const [index, { title }] of releases.entries()) {
    const [, number = '', day = ''] = RELEASE.exec(title) ?? [];
    const compared = number.localeCompare(above, 'en', { numeric: true });
    if (number === '') order.push(`"${title}" is not of the form [1.2.3] - 2026-01-31`);
    else if (compared > 0 || (compared === 0 && index > 0))
      order.push(`${number} stands below ${above}`);
    if (day > aboveDay) order.push(`${day} stands below ${aboveDay}`);
    [above, aboveDay] = [number, day];
  }
  return [...lines, ...order, ...sectionsOf(text).flatMap(sectionFaults)];
}

function sectionFaults({ title, body }: Section): string[] {
  const kinds = [...body.matchAll(/^### (.*)$/gm)].map(([, kind = '']) => KINDS.indexOf(kind));
  const isOrdered = kinds.every((kind, at) => kind > (kinds[at - 1] ?? -1));
  return [
    ...(isOrdered ? [] : [`${title}: each kind stands once, in the order ${KINDS.join(', ')}`]),
    ...[...body.matchAll(EMPTY)].map(([heading]) => `${title}: "${heading}" has no change`),
    ...(title === UNRELEASED || changesIn(body) > 0 ? [] : [`${title} has no change`]),
  ];
}

/** Why the tag cannot be published; the form of the changelog is another question. */
export function releaseFaults(text: string, version: string, tag: string): string[] {
  const [unreleased, newest] = sectionsOf(text);
  const [, number = ''] = RELEASE.exec(newest?.title ?? '') ?? [];
  const left = changesIn(unreleased?.body ?? '');
  const faults: string[] = [];
  if (tag !== `v${version}`) faults.push(`the tag is "${tag}", and package.json has ${version}`);
  if (number !== version) {
    faults.push(`CHANGELOG.md has "${number}" as its newest release, and package.json ${version}`);
  }
  if (left > 0) faults.push(`CHANGELOG.md has ${left} changes under ${UNRELEASED}`);
  return faults;
}

/** The lines of one release, without its heading. */
export function notesOf(text: string, version: string): string {
  return sectionsOf(text).find(({ title }) => title.startsWith(`[${version}]`))?.body ?? '';
}

function sectionsOf(text: string): Section[] {
  const [, ...sections] = text.split(/^## /m);
  return sections.map((section) => {
    const [title = '', ...body] = section.split('\n');
    return { title, body: body.join('\n').trim() };
  });
}

function changesIn(body: string): number {
  return body.match(/^- /gm)?.length ?? 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const tag = process.argv[2] ?? '';
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
  const faults = [
    ...changelogFaults(changelog, version),
    ...releaseFaults(changelog, version, tag),
  ];
  for (const fault of faults) process.stderr.write(`Cannot publish ${tag}: ${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
  else process.stdout.write(`${notesOf(changelog, version)}\n`);
}
