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
const UNRELEASED = 'Unreleased';
const RELEASE = /^\[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$/;

interface Heading {
  readonly level: number;
  readonly title: string;
  /** Counted from 1. */
  readonly line: number;
  /** The headings that it stands under, the nearest last. */
  readonly above: readonly Heading[];
  /** Under it or under a heading inside it. */
  readonly changes: string[];
}

/** What is wrong with the form of a changelog, one text each. `version` is that of package.json. */
export function changelogFaults(text: string, version: string): string[] {
  const headings = headingsOf(text);
  return [
    ...text.split('\n').flatMap((line, index) => lineFaults(line, index + 1)),
    ...headings.flatMap((heading) => headingFaults(heading, headings)),
    ...orderFaults(headings, version),
  ];
}

/** Why the tag cannot be published; the form of the changelog is another question. */
export function releaseFaults(text: string, version: string, tag: string): string[] {
  const sections = headingsOf(text).filter(({ level }) => level === 2);
  const [, newest = ''] = RELEASE.exec(sections[1]?.title ?? '') ?? [];
  const left = sections[0]?.changes.length ?? 0;
  const faults: string[] = [];
  if (tag !== `v${version}`) faults.push(`the tag is "${tag}", and package.json has ${version}`);
  if (newest !== version) {
    faults.push(`CHANGELOG.md has "${newest}" as its newest release, and package.json ${version}`);
  }
  if (left > 0) faults.push(`CHANGELOG.md has ${left} changes under [${UNRELEASED}]`);
  return faults;
}

/** The lines of one release, without its heading. */
export function notesOf(text: string, version: string): string {
  const [, ...sections] = text.split(/^## /m);
  const section = sections.find((each) => each.startsWith(`[${version}]`)) ?? '';
  return section.slice(section.indexOf('\n') + 1).trim();
}

function headingsOf(text: string): Heading[] {
  const headings: Heading[] = [];
  let open: Heading[] = [];
  for (const [index, content] of text.split('\n').entries()) {
    const [, marks = '', title = ''] = /^(#+) (.*)$/.exec(content) ?? [];
    if (marks !== '') {
      open = open.filter(({ level }) => level < marks.length);
      const level = marks.length;
      const heading = { level, title, line: index + 1, above: [...open], changes: [] };
      headings.push(heading);
      open.push(heading);
    }
    if (content.startsWith('- ')) for (const each of open) each.changes.push(content);
  }
  return headings;
}

function lineFaults(line: string, number: number): string[] {
  if (/^\s+\S/.test(line))
    return [`line ${number}: goes on with the line above; a change is one line`];
  if (/^[*+] /.test(line))
    return [`line ${number}: begins with "${line[0]}"; a change begins with "- "`];
  if (/^- /.test(line) && !/\S.*\.$/.test(line))
    return [`line ${number}: does not end with a full stop`];
  return [];
}

function headingFaults(heading: Heading, headings: readonly Heading[]): string[] {
  const { level, title, line, above, changes } = heading;
  const parent = above.at(-1);
  const siblings = headings.filter((each) => each.above.at(-1) === parent && each.line < line);
  const faults: string[] = [];
  if (level > 1 && parent?.level !== level - 1)
    faults.push('is not one level below the heading above it');
  if (siblings.some((each) => each.title === title)) faults.push('is there twice');
  if (level === 3 && !KINDS.includes(title)) faults.push(`is none of ${KINDS.join(', ')}`);
  if (level === 3 && siblings.some((each) => KINDS.indexOf(each.title) > KINDS.indexOf(title))) {
    faults.push(`stands after one that follows it: the order is ${KINDS.join(', ')}`);
  }
  if (level > 4) faults.push('is too deep: a release has kinds, and a kind has subjects');
  // Nothing is unreleased right after a release.
  if (changes.length === 0 && title !== `[${UNRELEASED}]` && level > 1)
    faults.push('has no change');
  return faults.map((fault) => `line ${line}: "${title}" ${fault}`);
}

function orderFaults(headings: readonly Heading[], version: string): string[] {
  const [first, ...releases] = headings.filter(({ level }) => level === 2);
  const faults: string[] = [];
  if (first?.title !== `[${UNRELEASED}]`) faults.push(`the first section is not [${UNRELEASED}]`);
  let [above, aboveDay] = [version, '9999-12-31'];
  for (const [index, { title, line }] of releases.entries()) {
    const [, number = '', day = ''] = RELEASE.exec(title) ?? [];
    const compared = compareVersions(number, above);
    if (number === '')
      faults.push(`line ${line}: "${title}" is not of the form [1.2.3] - 2026-01-31`);
    else if (index === 0 ? compared > 0 : compared >= 0) {
      faults.push(
        `line ${line}: ${number} stands below ${above}${index === 0 ? ' of package.json' : ''}`,
      );
    }
    if (day > aboveDay) faults.push(`line ${line}: ${day} stands below ${aboveDay}`);
    [above, aboveDay] = [number, day];
  }
  return faults;
}

function compareVersions(left: string, right: string): number {
  const [ours, theirs] = [left, right].map((version) => version.split('.').map(Number));
  const differences = ours?.map((number, index) => number - (theirs?.[index] ?? 0)) ?? [];
  return differences.find((difference) => difference !== 0) ?? 0;
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
