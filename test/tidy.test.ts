/**
 * Holds the repository to its own rules, and the rules to what they promise to find.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'vitest';
import { type Files, RULES } from './tidy.ts';
import { DEPENDENCIES } from './tidy-tables.ts';

type RuleName = keyof typeof RULES;

const NOT_OURS = new Set(['.git', '.writ', 'coverage', 'dist', 'node_modules']);
const NOT_TEXT = /\.(gif|gz|ico|jpe?g|pdf|png|tgz|webp|woff2?)$/;

const repository = filesOf('.');

for (const [name, rule] of Object.entries(RULES)) {
  test(`${name}() finds nothing in this repository`, () => {
    assert.deepEqual(rule(repository), []);
  });

  test(`${name}() finds nothing in a clean tree`, () => {
    assert.deepEqual(rule(planted({})), []);
  });
}

/** A small tree that breaks no rule, and comes near to breaking each. */
const CLEAN: Readonly<Record<string, string>> = {
  'package.json': manifest(Object.keys(DEPENDENCIES)),
  'README.md':
    'See `src/domain/scope.ts`, `scope.ts`, `domain/` and `.ci/run`; `POST /svc/x`, `/svc/x`.',
  'CONTRIBUTING.md':
    'A test is `*.test.ts` or `src/<layer>/x.ts`; `text/event-stream`, `./verify`.',
  'ARCHITECTURE.md': `\`\`\`\n\`src/gone.ts\`\n\`\`\`\n${joined('Decision |0001')} says why.`,
  [joined('docs/decisions/|0001-first.md')]: 'Why.',
  [joined('docs/decisions/|0002-second.md')]: 'Why not.',
  'docs/decisions/README.md': 'The list.',
  '.ci/run': 'cd "$(dirname "$0")/.."',
  'src/protocol/token.ts': module("import { z } from 'zod';"),
  'src/domain/scope.ts': module(`import type { Token } from '../protocol/token.ts';
import { hash } from 'node:crypto';
import { sha256 } from '#sha256';
export const at = (now: Date) => new Date(now.getTime() + Date.parse('1970-01-01'));
// The code XXX, and XTS, name no currency.
export const words = { fetch: 'Date.now', process: 'new Date()' };
export const read = (row: { process: string }) => row.process; // Math.random() is not called.
`),
  'src/domain/scope.test.ts': `import fc from 'fast-check';
import { freshDatabase } from '../../test/postgres.ts';
import { createApp } from '../http/app.ts';
test.skipIf(process.env.CI)('x', () => {});
if (process.env.CI) test.skip('y');
`,
  'src/config/config.ts': module("import { z } from 'zod'; export const at = process.env.CONFIG;"),
  'src/config/file.ts': module("import { parse } from 'yaml'; await import(parse('a'));"),
  'src/keyring.ts': module("import { scope } from './domain/scope.ts';"),
  'src/log.ts': module(''),
  'src/index.ts': module("export { createApp } from './http/app.ts';"),
  'src/service/invoke/invoke.ts': module(
    "import type { Config } from '../../config/config.ts'; new Date(0);",
  ),
  'src/http/app.ts': module("import { invoke } from '../service/invoke/invoke.ts';"),
  'src/stdio/server.ts': module("const { invoke } = await import('../service/invoke/invoke.ts');"),
  'src/verify/verify.ts': module("import { at } from '../domain/scope.ts';"),
  'src/client/client.ts': module("import { verify } from '../verify/verify.ts';"),
  'src/cli/main.ts': module("import '../index.ts'; console.log(process.env.HOME);"),
  'examples/travel/main.ts': module("import { serve } from 'writ/http'; import './data.ts';"),
  'examples/travel/data.ts': module("import { readFileSync } from 'node:fs';"),
  'scripts/run.mjs': `// @ts-check\n${module('')}`,
  'test/postgres.ts': module("import pg from 'pg';"),
};

/** One violation of every kind: the rule, what the line is, where it stands, and what is found. */
const VIOLATIONS: [rule: RuleName, name: string, path: string, source: string, found: RegExp][] = [
  ['unknownLayers', 'an unlisted folder', 'src/utils/text.ts', module(''), /^src\/utils/],
  ['unknownLayers', 'an unlisted root file', 'src/types.ts', module(''), /^src\/types/],
  ['unknownLayers', 'a folder named like a root file', 'src/log/a.ts', module(''), /^src\/log\/a/],

  ...layer('a static import', 'domain', "import { a } from '../storage/store.ts';", 'storage'),
  ...layer('a type import', 'domain', "import type { A } from '../service/a.ts';", 'service'),
  ...layer('a side-effect import', 'protocol', "import '../domain/scope.ts';", 'domain'),
  ...layer(
    'a dynamic import',
    'storage',
    "await import('../service/invoke/invoke.ts');",
    'service',
  ),
  ...layer('a re-export', 'domain', "export { a } from '../http/app.ts';", 'http'),
  ...layer('a re-export of all', 'domain', "export * from '../http/app.ts';", 'http'),
  ...layer('an import in a type', 'domain', "type A = import('../http/app.ts').A;", 'http'),
  ...layer('an old-style import', 'domain', "import a = require('../http/app.ts');", 'http'),
  ...layer('a required module', 'domain', "require('../http/app.ts');", 'http'),
  ...layer('an import over lines', 'domain', "import {\n  a,\n} from '../log.ts';", 'log'),
  ...layer('an import of a root file', 'domain', "import { a } from '../config.ts';", 'config'),
  ...layer('an import of the index', 'service', "import { a } from '../index.ts';", 'index'),
  ...layer('a transport of another', 'http', "import '../stdio/server.ts';", 'stdio'),
  ...layer('a transport of another', 'stdio', "import '../mcp/server.ts';", 'mcp'),
  ...layer('a transport of another', 'mcp', "import '../http/app.ts';", 'http'),
  ...layer('the service in verify', 'verify', "import '../service/invoke/invoke.ts';", 'service'),
  ...layer(
    'the service in the client',
    'client',
    "import '../service/invoke/invoke.ts';",
    'service',
  ),
  ...layer('storage in the console', 'console', "import '../storage/store.ts';", 'storage'),
  ...layer('the command line', 'testing', "import '../cli/main.ts';", 'cli'),
  ...layer('more than types of config', 'service', "import { a } from '../config.ts';", 'config'),
  inSource('forbiddenImports', 'a climb into tests', "import '../../test/postgres.ts';", /outside/),
  inSource('forbiddenImports', 'a climb into examples', "import '../../examples/x.ts';", /outside/),
  inSource('forbiddenImports', 'a way round', "import '../../src/protocol/token.ts';", /by way of/),

  inSource('computedImports', 'a template', 'await import(`../http/app.ts`);', /computes/),
  inSource('computedImports', 'a variable', 'await import(name);', /computes/),
  inSource('computedImports', 'a made require', "createRequire(import.meta.url)('x');", /computes/),
  inSource(
    'computedImports',
    'a require under another name',
    "import { createRequire as make } from 'node:module';",
    /computes/,
  ),
  inSource('computedImports', 'a builtin by call', "process.getBuiltinModule('fs');", /computes/),

  inSource('oddSpecifiers', 'an unknown subpath', "import '#store';", /"#store"/),
  inSource('oddSpecifiers', 'the package itself', "import { a } from 'writ/http';", /"writ\/http"/),
  inSource('oddSpecifiers', 'an absolute path', "import '/opt/a.js';", /"\/opt/),
  inSource('oddSpecifiers', 'an address', "import 'https://a.example/a.js';", /"https:/),
  ['oddSpecifiers', 'the hash out of domain', 'src/http/a.ts', module("import '#sha256';"), /#sha/],

  [
    'strayTestImports',
    'a script',
    'src/domain/a.test.ts',
    "import '../../scripts/generate.ts';",
    /generate/,
  ],

  ...example('a source', "import { a } from '../../src/http/app.ts';", /src\/http/),
  ...example('a dependency', "import { z } from 'zod';", /zod/),
  ...example('another example', "import '../hotel/main.ts';", /hotel/),

  inSource('misplacedDependencies', 'a misplaced one', "import { z } from 'zod';", /"zod"/),
  inSource('misplacedDependencies', 'its subpath', "import type { z } from 'zod/v4';", /zod\/v4/),
  inSource('misplacedDependencies', 'an undeclared one', "import a from '@a/b/c';", /@a\/b\/c/),
  inSource('misplacedDependencies', 'a builtin without prefix', "import 'fs';", /"fs"/),
  [
    'misplacedDependencies',
    'one without a row',
    'package.json',
    manifest([...Object.keys(DEPENDENCIES), 'left']),
    /"left" has no row/,
  ],
  [
    'misplacedDependencies',
    'a row without one',
    'package.json',
    manifest(Object.keys(DEPENDENCIES).filter((name) => name !== 'zod')),
    /"zod" is no dependency/,
  ],

  ...['fs', 'net', 'http', 'child_process', 'timers', 'timers/promises', 'process'].map((name) =>
    inSource('impureLayers', `node:${name}`, `import 'node:${name}';`, /pure layer/),
  ),
  ...[
    'Date.now()',
    "Date['now']()",
    'new Date()',
    'new Date',
    'Date()',
    'Math.random()',
    'performance.now()',
    "fetch('x')",
    'setTimeout(f, 1)',
    'globalThis.fetch',
    'process.env.A',
    'f(fetch)',
  ].map((source) => inSource('impureLayers', source, `${source};`, /pure layer/)),
  ...['verify', 'client', 'console'].map((own): (typeof VIOLATIONS)[number] => {
    const source = module("import { hash } from 'node:crypto';");
    return ['browserImports', own, `src/${own}/planted.ts`, source, /which no browser has/];
  }),
  [
    'impureLayers',
    'the clock in protocol',
    'src/protocol/a.ts',
    module('Date.now();'),
    /Date\.now/,
  ],

  ...[
    'new Date();',
    'Date.now();',
    'f(setTimeout);',
    'process.nextTick(f);',
    "import { randomUUID } from 'node:crypto';\nrandomUUID();",
    "import { setTimeout } from 'node:timers/promises';",
    "import { system } from '../platform.ts';\nsystem.now();",
  ].flatMap((source) => service('directTime', source, source, /uses/)),
  ...service('environmentReads', 'process.env', 'const a = process.env.A;', /process\.env/),
  ...service('environmentReads', 'a computed one', "process['env'].A;", /process\.env/),
  ...service('environmentReads', 'a taken one', 'const { env } = process;', /process\.env/),
  ...service(
    'environmentReads',
    'an import',
    "import { env } from 'node:process';",
    /node:process/,
  ),

  ['missingHeaders', 'none', 'src/domain/a.ts', 'export const a = 1;\n', /a\.ts/],
  ['missingHeaders', 'a late one', 'scripts/a.ts', `const a = 1;\n${module('')}`, /a\.ts/],
  ['missingHeaders', 'an empty one', 'examples/b/a.ts', '/** @module */\n', /a\.ts/],
  ['missingHeaders', 'one of another kind', 'scripts/a.mjs', '/** Does it. */\n', /a\.mjs/],

  ['longFiles', 'a line too many', 'test/a.ts', 'a();\n'.repeat(401), /401 lines/],

  ...['TO|DO', 'FIX|ME', 'XX|X', 'HA|CK'].map((word) =>
    inSource('leftovers', word, `// ${joined(word)}: later`, /contains/),
  ),
  ...['<', '=', '>'].map((sign) =>
    inSource('leftovers', `a conflict mark ${sign}`, `/*\n${sign.repeat(7)} ours\n*/`, /contains/),
  ),
  inSource('leftovers', 'a breakpoint', joined('debug|ger;'), /debugger/),
  inSource('leftovers', 'a print', 'console.log(1);', /console\.log/),
  ...[
    "test.only('a', f);",
    "describe.only('a', f);",
    "test.concurrent.only('a', f);",
    "it.skip('a', f);",
    "test.todo('a');",
    "test('a', { skip: true }, f);",
    "test('a', ({ skip }) => context.skip());",
  ].map((source): (typeof VIOLATIONS)[number] => {
    return ['leftovers', source, 'src/domain/a.test.ts', source, /uses (only|skip|todo)/];
  }),

  ['unknownDecisions', 'one cited in code', 'src/domain/a.ts', cite('decision |0009'), /0009/],
  ['unknownDecisions', 'one cited by path', 'README.md', cite('docs/decisions/|0009-x.md'), /0009/],
  ['unknownDecisions', 'the second of two', 'a.md', cite('decisions |0001 and 0009'), /0009/],
  [
    'unknownDecisions',
    'a number left out',
    joined('docs/decisions/|0004-a.md'),
    '',
    /0004-a.*out of/,
  ],
  [
    'unknownDecisions',
    'a number taken twice',
    joined('docs/decisions/|0002-a.md'),
    '',
    /0002.*out of/,
  ],
  ['unknownDecisions', 'a record without number', 'docs/decisions/why.md', '', /why.*out of/],

  ['deadPaths', 'a file', 'README.md', 'See `src/domain/gone.ts`.', /gone/],
  ['deadPaths', 'a folder', 'ARCHITECTURE.md', 'See `src/gone/`.', /gone/],
  ['deadPaths', 'a bare name', 'CONTRIBUTING.md', 'See `gone.ts`.', /gone/],
  [
    'crossedRooms',
    'a room that imports back',
    'src/service/core/planted.ts',
    module("import { invoke } from '../invoke/invoke.ts';"),
    /^src\/service\/core\/planted\.ts:\d+: room core may not import invoke$/,
  ],
  [
    'importCircles',
    'a type that leads back',
    'src/protocol/token.ts',
    module("import type { at } from '../domain/scope.ts';"),
    /circle of imports/,
  ],
  ['deadPaths', 'a file without ending', 'README.md', 'See `.ci/gone`.', /gone/],

  ...['wo|rk', 'ro|ot', 'ho|me'].map((name): (typeof VIOLATIONS)[number] => {
    return ['machineAddresses', name, 'docs/a.md', `cd /${joined(name)}/a`, /contains/];
  }),
  ['machineAddresses', 'a registry', 'docs/a.md', joined('https://regis|try.a.org/b'), /contains/],
  ['machineAddresses', 'a setting', '.npmrc', joined('regis|try=https://a.org'), /contains/],
];

for (const [rule, name, path, source, found] of VIOLATIONS) {
  test(`${rule}() finds ${name} in ${path}`, () => {
    const violations = RULES[rule](planted({ [path]: source }));

    assert.equal(violations.length > 0, true);
    for (const violation of violations) assert.match(violation, found);
  });
}

test('crowdedFolders() finds a folder with more than 20 files, tests aside', () => {
  const paths = Array.from({ length: 20 }, (_, n) => [
    `src/domain/${n}.ts`,
    `src/domain/${n}.test.ts`,
  ]);
  const files = Object.fromEntries(paths.flat().map((path) => [path, module('')]));

  assert.deepEqual(RULES.crowdedFolders(planted(files)), [
    'src/domain: has 21 files, 20 are the most',
  ]);
});

test('every rule has a violation planted for it', () => {
  const tried = new Set<string>(['crowdedFolders', ...VIOLATIONS.map(([rule]) => rule)]);

  assert.deepEqual(
    Object.keys(RULES).filter((rule) => !tried.has(rule)),
    [],
  );
});

type Violation = [rule: RuleName, name: string, path: string, source: string, found: RegExp];

function layer(name: string, own: string, source: string, other: string): Violation[] {
  const found = new RegExp(`^src/${own}/planted\\.ts:\\d+: ${own} may not import ${other}$`);
  return [['forbiddenImports', name, `src/${own}/planted.ts`, module(source), found]];
}

function inSource(rule: RuleName, name: string, source: string, found: RegExp): Violation {
  return [rule, name, 'src/domain/planted.ts', module(source), found];
}

function service(rule: RuleName, name: string, source: string, found: RegExp): Violation[] {
  return [[rule, name, 'src/service/planted.ts', module(source), found]];
}

function example(name: string, source: string, found: RegExp): Violation[] {
  return [['privateExampleImports', name, 'examples/travel/planted.ts', module(source), found]];
}

function manifest(dependencies: string[]): string {
  const pinned = dependencies.map((name) => [name, '1.0.0']);
  return JSON.stringify({ dependencies: Object.fromEntries(pinned) });
}

function module(source: string): string {
  return `/**\n * Decides one thing.\n *\n * @module\n */\n\n${source}\n`;
}

/** What the rules look for in every file is written in pieces, since they look at this one too. */
function joined(pieces: string): string {
  return pieces.replace('|', '');
}

function cite(pieces: string): string {
  return `// As ${joined(pieces)} says.\n`;
}

function planted(files: Record<string, string>): Files {
  return new Map(Object.entries({ ...CLEAN, ...files }));
}

/** Every text file of the repository, by its path from the root. */
function filesOf(folder: string): Files {
  const paths = readdirSync(folder, { withFileTypes: true }).flatMap((item): [string, string][] => {
    const path = folder === '.' ? item.name : `${folder}/${item.name}`;
    // In a linked worktree `.git` is a file.
    if (NOT_OURS.has(item.name)) return [];
    if (item.isDirectory()) return [...filesOf(path)];
    return item.isFile() && !NOT_TEXT.test(path) ? [[path, readFileSync(path, 'utf8')]] : [];
  });
  return new Map(paths);
}
