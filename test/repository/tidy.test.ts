/**
 * The rules of this repository that the linter cannot state; the others are in biome.json.
 *
 * Each rule is a function from the files to what breaks it, tried on a planted violation as well.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { posix, relative } from 'node:path';
import { parseSync } from 'vite';
import { test } from 'vitest';
import { NAMED_FILES } from '../../vitest.config.ts';
import { ASKS_NODE, EXAMPLE_PACKAGES, LAYERS, PACKAGES, ROOMS } from './layers.ts';

/** Content by path from the root of the repository. */
type Files = ReadonlyMap<string, string>;
type Rule = (files: Files) => string[];

/** A reader who opens a folder sees its files at a glance. Tests are not counted. */
const FOLDER_FILES_MAX = 20;

const SHIPPED = /^src\/.*(?<!\.test)\.ts$/;
const EXAMPLES = /^examples\/.*(?<!\.test)\.ts$/;
const WITH_HEADER = /^(src|examples|scripts|site)\/.*(?<!\.test)\.(ts|mjs)$/;
const HEADER = /^(#!.*\n)?(\/\/ @ts-check\n)?\/\*\*(?:(?!\*\/)[\s\S])*\w(?:(?!\*\/)[\s\S])*@module/;
const CODE = /^(src|test|examples|bench|scripts|site)\/.*\.(ts|mjs)$/;
const TIME_AND_CHANCE = new RegExp(
  `^(?! *(\\*|//)).*?\\b(${[
    'new Date\\b(?!\\([^)])',
    '(Date|performance)\\.now\\b',
    'Math\\.random\\b',
    '(set(Timeout|Interval|Immediate)|queueMicrotask|random(Bytes|Int|UUID|Fill|FillSync))\\(',
    'process\\.nextTick\\b',
    'AbortSignal\\.timeout\\b',
    'crypto\\.(randomUUID|getRandomValues)\\b',
    "from 'node:(timers|perf_)",
    "system\\b.* from '.*/platform\\.ts'",
  ].join('|')})`,
  'gm',
);
// In pieces, so that this file does not match itself. Three X are also a currency code (ISO 4217), so
// they count only at the beginning of a comment.
const LEFT_WORDS = new RegExp(
  `\\b(TO${''}DO|FIX${''}ME|HA${''}CK)\\b|(//|/\\*|^ *\\*) *XX${''}X\\b|^(<{7}|={7}|>{7})( .*)?$|\\.to${''}do\\(|\\b(on${''}ly|sk${''}ip): true`,
  'gm',
);
const MACHINE = new RegExp(
  `(?<![\\w.~*-])/(wo${''}rk|ro${''}ot|ho${''}me)/|\\bregis${''}try\\.[a-z-]+\\.[a-z]+|^\\s*(@.*:)?regis${''}try\\s*=`,
  'gm',
);
/** What a reader may type or copy: pages, help texts and examples. */
const FOR_READERS =
  /^(?!docs\/decisions\/|.*\.test\.).*\.md$|^(?!.*\.test\.)(examples|deploy|src\/cli)\//;
/** Fetches what no lock file names, in a shell, in YAML or in JSON. */
const UNPINNED = /\bnpx["',\s]+(-y|--yes)\b|\bnpm exec\b|@latest\b|\b(pnpm|yarn|bunx?) (dlx|x)\b/g;
const NPX = /\bnpx["',\][\s]+(?:args["':\s[]+)?(?!args\b)([\w@][\w@/.-]*)/g;
/** Programs that pages run with npx, and what installs each. */
const INSTALLED_BY: Record<string, RegExp> = {
  writ: /./,
  'mcp-server-filesystem': /npm install [^\n]*@modelcontextprotocol\/server-filesystem@\d/,
  // The starter has it.
  tsx: /writ init|npm install [^\n]*\btsx\b/,
};
/** A block of code as a whole, or one quoted name. */
const QUOTED = /^```[\s\S]*?^```|`[^`\n]+`/gm;
/** Records have two digits; older commits cite four, which no record has. */
const CITED_DECISIONS = /\bdecisions?[ /]\[?\d{2,4}\b((,| and|, and) \d{2,4}\b)*/gi;
/** Records cite each other by the number alone. */
const CITED_BESIDE = /\(\d{2}(, \d{2})*\)/g;
const RECORDS = 'docs/decisions/';
const DECISION_RULE = 'decisions have an index and no gap in their numbers, and a cited one exists';
const NAMING_PATHS = /^((ARCHITECTURE|README|CONTRIBUTING|SECURITY)\.md|docs\/decisions\/\d.*)$/;
/** A link of the store port to where a transition is written for one database. */
const STORY = /\[\w+\]\(\.\.\/[^)\s]+\)/g;
const STORY_RULE = 'the stories that the store port links exist';
const PATH_RULE =
  'the pages for a newcomer and the decisions name only paths and npm scripts that exist';
const NPM_RUN = /\bnpm\s+run\s+(?:--\S+\s+)*[\w:-]+/g;

const RULES = {
  'layers and rooms import only what test/repository/layers.ts allows them': (files) =>
    importsIn(files, SHIPPED)
      .filter(
        ({ path, target, isType }) => target.startsWith('.') && !mayImport(path, target, isType),
      )
      .map(({ path, target }) => `${path}: may not import "${target}"`),

  'packages are imported only where test/repository/layers.ts places them': (files) =>
    importsIn(files, SHIPPED)
      .filter(({ path, target }) => {
        const [name = ''] = /^(@[^/]+\/)?[^/]*/.exec(target) ?? [];
        const isPlaced = PACKAGES[name]?.some((place) => path.startsWith(place));
        return !/^(\.|node:|$)/.test(target) && !isPlaced;
      })
      .map(({ path, target }) => `${path}: may not import "${target}"`),

  'what a file imports is written in it': (files) =>
    importsIn(files, SHIPPED)
      // Only the user knows the path of a configuration file and of a served file.
      .filter(({ path }) => !['src/config/file.ts', 'src/cli/serve/module.ts'].includes(path))
      .filter(({ target, isType }) => target === '' || (target === 'node:module' && !isType))
      .map(({ path }) => `${path}: computes what it imports`),

  'an example imports only what a user of the package can import': (files) =>
    importsIn(files, EXAMPLES)
      .filter(({ target }) => !/^(\.\/|node:|writ$|writ\/|zod$)/.test(target))
      .filter(({ path, target }) => !EXAMPLE_PACKAGES[posix.dirname(path)]?.includes(target))
      .map(({ path, target }) => `${path}: may not import "${target}"`),

  'only files that test/repository/layers.ts lists ask Node for time or chance': (files) =>
    matches(files, SHIPPED, TIME_AND_CHANCE).filter(
      (found) => !ASKS_NODE.some((place) => found.startsWith(place)),
    ),

  'a folder of src has at most 20 files': (files) => {
    const folders = pathsIn(files, SHIPPED).map((path) => posix.dirname(path));
    const size = (folder: string) => folders.filter((each) => each === folder).length;
    return [...new Set(folders)]
      .filter((folder) => size(folder) > FOLDER_FILES_MAX)
      .map((folder) => `${folder}: has ${size(folder)} files`);
  },

  'a file begins with what it is for': (files) =>
    pathsIn(files, WITH_HEADER)
      .filter((path) => !HEADER.test(files.get(path) ?? ''))
      .map((path) => `${path}: has no module header`),

  'no work is left for later in the code': (files) => matches(files, CODE, LEFT_WORDS),

  [DECISION_RULE]: (files) => {
    const records = pathsIn(files, /^docs\/decisions\/(?!README\.md)/);
    const numbers = records.map((path) => /\/(\d{2})-[^/]+\.md$/.exec(path)?.[1]);
    const index = files.get(`${RECORDS}README.md`) ?? '';
    const cited = [
      ...matches(files, /\.(md|ts|tsx|mjs|sql|ya?ml)$/, CITED_DECISIONS),
      ...matches(files, /^docs\/decisions\/\d/, CITED_BESIDE),
    ];
    return [
      ...records.filter((path, at) => {
        const isListed = index.includes(`](${posix.basename(path)})`);
        return Number(numbers[at]) !== at + 1 || !isListed;
      }),
      ...cited.filter((text) => {
        const [, match = ''] = text.split(': contains ');
        return match.match(/\d{2,4}/g)?.some((number) => !numbers.includes(number));
      }),
    ];
  },

  [PATH_RULE]: (files) => {
    const { scripts = {} } = JSON.parse(files.get('package.json') ?? '{}');
    return [
      ...matches(files, NAMING_PATHS, QUOTED).filter((text) => {
        const [, name = ''] = /contains `([^`\n]+)`$/.exec(text) ?? [];
        return isPath(name) && !isThere(files, name);
      }),
      ...matches(files, NAMING_PATHS, NPM_RUN).filter((text) => {
        const [name = ''] = /\S+$/.exec(text) ?? [];
        return !Object.hasOwn(scripts, name);
      }),
    ];
  },

  [STORY_RULE]: (files) =>
    matches(files, /^src\/storage\/port\//, STORY).filter((text) => {
      const [, target = ''] = /\((\.\.\/[^)]+)\)/.exec(text) ?? [];
      return !files.has(posix.join('src/storage/port', target));
    }),

  'no page, help text or example downloads a package that nothing pins': (files) => [
    ...matches(files, FOR_READERS, UNPINNED),
    ...matches(files, FOR_READERS, NPX).filter((text) => {
      const [path = ''] = text.split(': contains ');
      const [, program = ''] = /([\w@][\w@/.-]*)$/.exec(text) ?? [];
      const installs = INSTALLED_BY[program];
      // A help text and a policy name a program; the page beside them installs it.
      return (
        !installs ||
        (path.endsWith('.md') && path !== 'docs/cli.md' && !installs.test(files.get(path) ?? ''))
      );
    }),
  ],

  'no path of one machine and no address of a package source is written down': (files) =>
    matches(files, /./, MACHINE),
} satisfies Record<string, Rule>;

type RuleName = keyof typeof RULES;

const repository = filesOf('.');

for (const [name, rule] of Object.entries(RULES)) {
  test(name, () => {
    assert.deepEqual(rule(repository), []);
  });
}

const TIME_RULE = 'only files that test/repository/layers.ts lists ask Node for time or chance';
const LAYER_RULE = 'layers and rooms import only what test/repository/layers.ts allows them';
const PACKAGE_RULE = 'packages are imported only where test/repository/layers.ts places them';
const DOWNLOAD_RULE = 'no page, help text or example downloads a package that nothing pins';
/** A file that breaks the rule, in a repository without any other file. */
const VIOLATIONS: [RuleName, path: string, content: string][] = [
  [LAYER_RULE, 'src/domain/a.ts', "import { a } from '../storage/a.ts';"],
  [LAYER_RULE, 'src/domain/a.ts', "export * from '../storage/a.ts';"],
  [LAYER_RULE, 'src/domain/a.ts', "await import('../storage/a.ts');"],
  [LAYER_RULE, 'src/domain/a.ts', "import type { A } from '../../test/a.ts';"],
  [LAYER_RULE, 'src/service/a.ts', "import { a } from '../config/config.ts';"],
  [LAYER_RULE, 'src/service/operations/a.ts', "import { a } from '../invoke/invoke.ts';"],
  [LAYER_RULE, 'src/service/operations/a.ts', "import { a } from '../runtime.ts';"],
  [LAYER_RULE, 'src/utils/a.ts', "import { a } from '../domain/failure.ts';"],
  [PACKAGE_RULE, 'src/service/a.ts', "import type { z } from 'zod/v4';"],
  [PACKAGE_RULE, 'src/service/a.ts', "import { serve } from 'writ/http';"],
  ['what a file imports is written in it', 'src/http/a.ts', 'await import(name);'],
  ['what a file imports is written in it', 'src/http/a.ts', "import 'node:module';"],
  [
    'an example imports only what a user of the package can import',
    'examples/travel/a.ts',
    "import '../../src/index.ts';",
  ],
  [
    'an example imports only what a user of the package can import',
    'examples/travel/a.ts',
    "import express from 'express';",
  ],
  [TIME_RULE, 'src/domain/a.ts', 'f(new Date());'],
  [TIME_RULE, 'src/service/a.ts', 'Date.now();'],
  [TIME_RULE, 'src/service/a.ts', 'setTimeout(f, 1);'],
  [TIME_RULE, 'src/service/a.ts', "import { setTimeout } from 'node:timers/promises';"],
  [TIME_RULE, 'src/service/a.ts', "import { system } from '../platform.ts';"],
  ['a file begins with what it is for', 'src/http/a.ts', '/** Does it. */'],
  ['no work is left for later in the code', 'bench/a.ts', `// TO${''}DO: later`],
  [DECISION_RULE, `${RECORDS}02-a.md`, ''],
  [DECISION_RULE, `${RECORDS}01-not-in-the-index.md`, ''],
  [DECISION_RULE, 'README.md', `See decision ${'99'}.`],
  [DECISION_RULE, 'README.md', `See [decision ${'0001'}](a.md).`],
  [PATH_RULE, 'README.md', 'See `src/gone.ts`.'],
  [STORY_RULE, 'src/storage/port/a.ts', '/** Story: [sqlite](../sqlite/gone.ts). */'],
  [PATH_RULE, `${RECORDS}01-a.md`, '**Where.** `src/gone.ts`.'],
  [PATH_RULE, 'README.md', 'Run `npm\n  run --silent gone`.'],
  [DOWNLOAD_RULE, 'docs/a.md', 'npx -y some-server'],
  [DOWNLOAD_RULE, 'examples/a/policy.yaml', 'command: [npx, --yes, "@some/server"]'],
  [DOWNLOAD_RULE, 'src/cli/a.ts', "'npx some-server ./shared'"],
  [DOWNLOAD_RULE, 'docs/a.md', 'npm install writ@latest'],
  [DOWNLOAD_RULE, 'docs/a.md', 'npx mcp-server-filesystem ./shared'],
  [DOWNLOAD_RULE, 'docs/a.md', '"command": "npx", "args": ["some-server"]'],
  [
    'no path of one machine and no address of a package source is written down',
    'docs/a.md',
    `cd /ho${''}me/a`,
  ],
];

for (const [rule, path, content] of VIOLATIONS) {
  test(`"${rule}" finds ${content || 'a gap'} in ${path}`, () => {
    assert.equal(RULES[rule](new Map([[path, content]])).length, 1);
  });
}

test('"a folder of src has at most 20 files" counts sources without their tests', () => {
  const rule = RULES['a folder of src has at most 20 files'];
  const paths = Array.from({ length: 21 }, (_, n) => [`src/a/${n}.ts`, `src/a/${n}.test.ts`]);
  const files = new Map(paths.flat().map((path) => [path, '']));

  assert.deepEqual(rule(files), ['src/a: has 21 files']);
  files.delete('src/a/0.ts');
  assert.deepEqual(rule(files), []);
});

test('every test file is in exactly one project of vitest.config.ts', () => {
  const args = ['node_modules/vitest/vitest.mjs', 'list', '--filesOnly', '--json'];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  });
  assert.match(stdout, /^\[/, stderr);
  const listed = (JSON.parse(stdout) as { file: string }[])
    .map(({ file }) => relative('.', file))
    .sort();

  // The starter is run by node:test, as a user of it does (test/programs/pack.process.test.ts).
  assert.deepEqual(listed, pathsIn(repository, /^(?!examples\/).*\.test\.[^/]+$/));
  assert.deepEqual(
    NAMED_FILES.filter((path) => !listed.includes(path)),
    [],
  );
});

interface Import {
  readonly path: string;
  /** Empty when it is computed. */
  readonly target: string;
  /** Whether the whole import vanishes when compiled. */
  readonly isType: boolean;
}

function importsIn(files: Files, pattern: RegExp): Import[] {
  return pathsIn(files, pattern).flatMap((path) => importsOf(path, files.get(path) ?? ''));
}

const known = new Map<string, Import[]>();

/** Several rules ask for the imports of one file. */
function importsOf(path: string, source: string): Import[] {
  const key = `${path}\n${source}`;
  const imports = known.get(key) ?? readImports(path, source);
  known.set(key, imports);
  return imports;
}

function readImports(path: string, source: string): Import[] {
  const { module, errors } = parseSync(path, source);
  assert.deepEqual(errors, [], path);
  return [
    ...module.staticImports.map(({ moduleRequest, entries }) => ({
      path,
      target: moduleRequest.value,
      isType: entries.length > 0 && entries.every(({ isType }) => isType),
    })),
    ...module.staticExports
      .flatMap(({ entries }) => entries)
      .flatMap(({ moduleRequest, isType }) =>
        moduleRequest ? [{ path, target: moduleRequest.value, isType }] : [],
      ),
    ...module.dynamicImports.map(({ moduleRequest: { start, end } }) => ({
      path,
      target: /^'(.*)'$/.exec(source.slice(start, end))?.[1] ?? '',
      isType: false,
    })),
  ];
}

function mayImport(path: string, target: string, isType: boolean): boolean {
  const reached = posix.join(posix.dirname(path), target);
  if (!reached.startsWith('src/')) return false;

  const [own, other] = [layerOf(path), layerOf(reached)];
  if (own !== other) {
    const allowed = LAYERS[own] ?? [];
    return allowed.includes(other) || (isType && allowed.includes(`type ${other}`));
  }
  const [room, otherRoom] = [roomOf(path), roomOf(reached)];
  const rooms = ROOMS[own];
  return !rooms || room === '.' || room === otherRoom || !!rooms[room]?.includes(otherRoom);
}

function layerOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '');
}

/** The room of a layer that a file is in; `.` beside the rooms. */
function roomOf(path: string): string {
  const [, , room = '', ...rest] = path.split('/');
  return rest.length === 0 ? '.' : room;
}

/** A path of this repository, as opposed to a route, a package, a media type or a pattern. */
function isPath(name: string): boolean {
  if (!/^[\w.-]+(\/[\w.-]+)*\/?$/.test(name)) return false;
  if (/^(\.\/|writ\/|writ\.config\.|svc\/|(site\/)?(dist|node_modules)\b|\.writ\/)/.test(name))
    return false;
  if (/^(application|text|image|multipart)\/[\w.+-]+$/.test(name)) return false;
  return name.includes('/') || /\.(ts|m?js|json|md|ya?ml|sql|css|html)$/.test(name);
}

/** From the root, from src, or by name alone. */
function isThere(files: Files, name: string): boolean {
  const folder = name.replace(/\/?$/, '/');
  return [...files.keys()].some((path) => {
    const isNamed = [name, `src/${name}`].includes(path) || posix.basename(path) === name;
    return isNamed || path.startsWith(folder) || path.startsWith(`src/${folder}`);
  });
}

function pathsIn(files: Files, pattern: RegExp): string[] {
  return [...files.keys()].filter((path) => pattern.test(path)).sort();
}

function matches(files: Files, paths: RegExp, pattern: RegExp): string[] {
  return pathsIn(files, paths).flatMap((path) => {
    const found = (files.get(path) ?? '').matchAll(pattern);
    return [...found].map(([match]) => `${path}: contains ${match.trim()}`);
  });
}

/** Every text file of the repository. */
function filesOf(folder: string): Files {
  const files = readdirSync(folder, { withFileTypes: true }).flatMap((item): [string, string][] => {
    const path = posix.join(folder, item.name);
    if (/^(\.git|\.writ|coverage|dist|node_modules)$/.test(item.name)) return [];
    if (item.isDirectory()) return [...filesOf(path)];
    const isText = item.isFile() && !/\.(gif|gz|ico|jpe?g|pdf|png|tgz|webp|woff2?)$/.test(path);
    return isText ? [[path, readFileSync(path, 'utf8')]] : [];
  });
  return new Map(files);
}
