/**
 * The repository's own rules, as pure functions from its files to what breaks them.
 *
 * They take the files as a map, so that tests can plant a violation of every kind and see it found:
 * a rule that never fired is no rule. What may import what is in tidy-tables.ts.
 *
 * @module
 */

import { posix } from 'node:path';
import { factsOf, type Import } from './source.ts';
import {
  ASKS_NODE,
  COMPUTED_IMPORTS_IN,
  DEPENDENCIES,
  FOLDERS,
  LAYERS,
  ROOMS,
  ROOT_FILES,
} from './tidy-tables.ts';

/** Content by path from the root of the repository. */
export type Files = ReadonlyMap<string, string>;

/** Says where, and what is wrong there. */
type Rule = (files: Files) => string[];

/** Larger files hold more than one idea. */
const FILE_LINES_MAX = 400;

/** A reader who opens a folder sees its files at a glance. Tests are not counted. */
const FOLDER_FILES_MAX = 20;

/** Every folder and root file of src is a layer that the table knows. */
const unknownLayers: Rule = (files) => {
  return pathsIn(files, /^src\//)
    .filter((path) => {
      const [, name = '', ...rest] = path.split('/');
      const source = name.replace('.test.', '.');
      return rest.length === 0 ? !ROOT_FILES.includes(source) : !FOLDERS.includes(name);
    })
    .map((path) => `${path}: is in no known layer`);
};

/** A layer imports itself and those the table allows it. */
const forbiddenImports: Rule = (files) => {
  return shippedImports(files).flatMap(({ path, at, target, isType }) => {
    if (!isRelative(target)) return [];
    const own = layerOf(path);
    const reached = posix.join(posix.dirname(path), target);
    if (!reached.startsWith('src/')) return [`${at}: imports "${target}", outside src`];
    if (target.includes('/src/')) return [`${at}: imports "${target}", by way of the root`];

    const other = layerOf(reached);
    const allowed = LAYERS[own] ?? [];
    const isAllowed = allowed.includes(other) || (isType && allowed.includes(`type ${other}`));
    return other === own || isAllowed ? [] : [`${at}: ${own} may not import ${other}`];
  });
};

/** Imports between the rooms of a layer run one way. */
const crossedRooms: Rule = (files) => {
  return shippedImports(files).flatMap(({ path, at, target }) => {
    const reached = posix.join(posix.dirname(path), target);
    const rooms = ROOMS[layerOf(path)];
    if (!rooms || !isRelative(target) || layerOf(reached) !== layerOf(path)) return [];
    const [own, other] = [roomOf(path), roomOf(reached)];
    if (own === '.' || own === other) return [];
    return rooms[own]?.includes(other) ? [] : [`${at}: room ${own} may not import ${other}`];
  });
};

/** No file imports one that leads back to it, types included. */
const importCircles: Rule = (files) => {
  const targets = new Map<string, string[]>();
  for (const { path, target } of shippedImports(files)) {
    if (!isRelative(target)) continue;
    const reached = posix.join(posix.dirname(path), target);
    targets.set(path, [...(targets.get(path) ?? []), reached]);
  }
  const left = new Set(targets.keys());
  // What imports nothing that is left is in no circle; what stays is in one, or leads to one.
  for (let size = -1; size !== left.size; ) {
    size = left.size;
    for (const path of left) {
      if (!targets.get(path)?.some((target) => left.has(target))) left.delete(path);
    }
  }
  return [...left].map((path) => `${path}: is in a circle of imports, or imports one`);
};

const crowdedFolders: Rule = (files) => {
  const counts = new Map<string, number>();
  for (const path of shippedPaths(files)) {
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > FOLDER_FILES_MAX)
    .map(([folder, count]) => `${folder}: has ${count} files, ${FOLDER_FILES_MAX} are the most`);
};

/** What a file imports can be told by reading it. */
const computedImports: Rule = (files) => {
  const shipped = shippedPaths(files).filter((path) => !COMPUTED_IMPORTS_IN.includes(path));
  return shipped.flatMap((path) => {
    const { imports, uses } = facts(files, path);
    const computed = imports.filter(({ target }) => target === undefined);
    const made = uses.filter(({ name }) => COMPUTED_IMPORTS.test(name));
    return [...computed, ...made].map(({ line }) => `${path}:${line}: computes what it imports`);
  });
};
const COMPUTED_IMPORTS = /(^|\.)(createRequire|getBuiltinModule)$/;

/** Package-internal names and addresses do not lead round the layers. */
const oddSpecifiers: Rule = (files) => {
  return shippedImports(files).flatMap(({ path, at, target }) => {
    const isHash = target === '#sha256' && layerOf(path) === 'domain';
    const isOdd = /^(#|\/|[a-z]+:(?!\/\/$)|writ(\/|$))/.test(target) && !/^node:/.test(target);
    return isOdd && !isHash ? [`${at}: may not import "${target}"`] : [];
  });
};

/** A test beside its source reaches sources and test support, nothing else of the repository. */
const strayTestImports: Rule = (files) => {
  return importsOf(files, pathsIn(files, /^src\/.*\.test\.tsx?$/)).flatMap(
    ({ path, at, target }) => {
      if (!isRelative(target)) return [];
      const reached = posix.join(posix.dirname(path), target);
      return /^(src|test)\//.test(reached) ? [] : [`${at}: imports "${target}"`];
    },
  );
};

/** An example sees what a user of the package sees. */
const privateExampleImports: Rule = (files) => {
  const examples = pathsIn(files, /^examples\/.*\.tsx?$/).filter((path) => !isTest(path));
  return importsOf(files, examples).flatMap(({ path, at, target }) => {
    const home = path.split('/').slice(0, 2).join('/');
    const reached = posix.join(posix.dirname(path), target);
    const isOwn = isRelative(target) && reached.startsWith(`${home}/`);
    return isOwn || /^(node:|writ$|writ\/)/.test(target) ? [] : [`${at}: imports "${target}"`];
  });
};

/** Each runtime dependency has a place and a reason, and stays there. */
const misplacedDependencies: Rule = (files) => {
  const { dependencies: required, peerDependencies: optional } = JSON.parse(
    files.get('package.json') ?? '{}',
  ) as Record<'dependencies' | 'peerDependencies', Record<string, string> | undefined>;
  const dependencies = { ...required, ...optional };
  const unplaced = Object.keys(dependencies).filter((name) => !Object.hasOwn(DEPENDENCIES, name));
  const gone = Object.keys(DEPENDENCIES).filter((name) => !Object.hasOwn(dependencies, name));

  const misplaced = shippedImports(files).flatMap(({ path, at, target }) => {
    if (isRelative(target) || /^(#|node:|writ(\/|$))/.test(target)) return [];
    const places = DEPENDENCIES[packageOf(target)]?.in ?? [];
    return places.some((place) => path.startsWith(place)) ? [] : [`${at}: imports "${target}"`];
  });
  return [
    ...unplaced.map((name) => `package.json: "${name}" has no row in test/tidy-tables.ts`),
    ...gone.map((name) => `test/tidy-tables.ts: "${name}" is no dependency`),
    ...misplaced,
  ];
};

/** What travels and what is allowed depend on nothing but their arguments. */
const impureLayers: Rule = (files) => {
  const pure = shippedPaths(files).filter((path) => /^src\/(protocol|domain)\//.test(path));
  const imported = importsOf(files, pure)
    .filter(({ target }) => /^node:/.test(target) && target !== 'node:crypto')
    .map(({ at, target }) => `${at}: imports "${target}" in a pure layer`);
  const uses = [IMPURE, TIME_AND_CHANCE].flatMap((names) => usesOf(files, pure, names));
  return [...imported, ...uses.map((use) => `${use} in a pure layer`)];
};
const IMPURE = /^(fetch|process|globalThis|WebSocket)$/;

/** A service asks its platform for time and chance; `system` is given to it, never taken. */
const directTime: Rule = (files) => {
  const rest = shippedPaths(files).filter((path) => !ASKS_NODE.some((at) => path.startsWith(at)));
  const timers = importsOf(files, rest).filter(({ target }) => /^node:(timers|perf_)/.test(target));
  return [...timers.map(({ at }) => `${at}: uses timers`), ...usesOf(files, rest, TIME_AND_CHANCE)];
};
const TIME_AND_CHANCE =
  /^(new Date\(\)|(Date|performance)\.now|Math\.random|set(Timeout|Interval|Immediate)|queueMicrotask|process\.nextTick|AbortSignal\.timeout|crypto\.(randomUUID|getRandomValues)|random(Bytes|Int|UUID|Fill|FillSync)|system)$/;

/** What a browser runs brings nothing of Node along. */
const browserImports: Rule = (files) => {
  const safe = shippedPaths(files).filter((path) => /^src\/(verify|client|console)\//.test(path));
  return importsOf(files, safe)
    .filter(({ target }) => /^node:/.test(target))
    .map(({ at, target }) => `${at}: imports "${target}", which no browser has`);
};

/** Settings are read in one place, and by the command line. */
const environmentReads: Rule = (files) => {
  const others = shippedPaths(files).filter(
    (path) => !/^src\/(config\/config\.ts$|cli\/)/.test(path),
  );
  const imported = importsOf(files, others)
    .filter(({ target }) => target === 'node:process')
    .map(({ at }) => `${at}: imports "node:process"`);
  return [...imported, ...usesOf(files, others, /^(globalThis\.)?process\.env$/)];
};

/** The first thing a file says is what it is for. */
const missingHeaders: Rule = (files) => {
  return pathsIn(files, /^(src|examples|scripts)\/.*\.(tsx?|m[jt]s)$/)
    .filter((path) => !isTest(path) && !HEADER.test(files.get(path) ?? ''))
    .map((path) => `${path}: has no module header`);
};
const HEADER =
  /^(#!.*\n)?(\/\/ @ts-check\n)?\/\*\*(?:(?!\*\/)[\s\S])*\w(?:(?!\*\/)[\s\S])*@module(?:(?!\*\/)[\s\S])*\*\//;

const longFiles: Rule = (files) => {
  return codePaths(files)
    .map((path) => ({ path, lines: (files.get(path) ?? '').trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > FILE_LINES_MAX)
    .map(({ path, lines }) => `${path}: has ${lines} lines, ${FILE_LINES_MAX} are the most`);
};

/** Nothing is left for later, switched off, or printed for a debugging session. */
const leftovers: Rule = (files) => {
  const code = codePaths(files);
  const words = code.flatMap((path) => matchesIn(files, path, LEFT_WORDS));
  const noCli = shippedPaths(files).filter((path) => !path.startsWith('src/cli/'));
  return [
    ...words,
    ...usesOf(files, code, /^debugger$/),
    ...usesOf(files, code.filter(isTest), /^(only|skip|todo)\(\)$/),
    ...usesOf(files, noCli, /^console\.\w+$/),
  ];
};
// In pieces, so that this file does not match itself. Three X are a currency code too (ISO 4217), so
// they count only where they mark something.
const LEFT_WORDS = new RegExp(
  [
    `\\b(TO${''}DO|FIX${''}ME|HA${''}CK)\\b`,
    `(//|/\\*|^ *\\*) *XX${''}X\\b|\\bXX${''}X[:(]`,
    '^(<{7}|={7}|>{7}|\\|{7})( .*)?$',
  ].join('|'),
  'gm',
);

/** A cited decision can be read, and none is missing between the first and the last. */
const unknownDecisions: Rule = (files) => {
  const records = pathsIn(files, /^docs\/decisions\//).filter(
    (path) => !path.endsWith('/README.md'),
  );
  const numbers = records.map((path) => /^docs\/decisions\/(\d{4})-[^/]+\.md$/.exec(path)?.[1]);
  const misnumbered = records.filter((_, index) => Number(numbers[index]) !== index + 1);

  const cited = pathsIn(files, /\.(md|tsx?|mjs|sql|ya?ml)$/).flatMap((path) => {
    return [...(files.get(path) ?? '').matchAll(CITED_DECISIONS)]
      .flatMap(([text]) => text.match(/\d{4}/g) ?? [])
      .filter((number) => !numbers.includes(number))
      .map((number) => `${path}: cites decision ${number}, which is not in docs/decisions`);
  });
  return [...misnumbered.map((path) => `${path}: is out of number`), ...cited];
};
const CITED_DECISIONS = /\bdecisions?[ /]\d{4}\b((,| and|, and) \d{4}\b)*/gi;

/** The pages that lead a newcomer name only what is there. */
const deadPaths: Rule = (files) => {
  return ['ARCHITECTURE.md', 'README.md', 'CONTRIBUTING.md'].flatMap((page) => {
    const text = (files.get(page) ?? '').replaceAll(/^```[\s\S]*?^```/gm, '');
    return [...text.matchAll(/`([^`\n]+)`/g)]
      .map(([, name = '']) => name)
      .filter((name) => isPath(name) && !isThere(files, name))
      .map((name) => `${page}: names "${name}", which is not there`);
  });
};

/** No address of one machine, and no registry's, is written down. */
const machineAddresses: Rule = (files) => {
  return [...files.keys()].flatMap((path) => matchesIn(files, path, MACHINE));
};
// In pieces, so that this file does not match itself.
const MACHINE = new RegExp(
  `(?<![\\w.~*-])/(wo${''}rk|ro${''}ot|ho${''}me)/|\\bregis${''}try\\.[a-z-]+\\.[a-z]+|^\\s*(@.*:)?regis${''}try\\s*=`,
  'gm',
);

/** Every rule, by name. They stand above, since a table can hold only what is already defined. */
export const RULES = {
  unknownLayers,
  forbiddenImports,
  crossedRooms,
  importCircles,
  crowdedFolders,
  computedImports,
  oddSpecifiers,
  strayTestImports,
  privateExampleImports,
  misplacedDependencies,
  impureLayers,
  directTime,
  browserImports,
  environmentReads,
  missingHeaders,
  longFiles,
  leftovers,
  unknownDecisions,
  deadPaths,
  machineAddresses,
} satisfies Record<string, Rule>;

interface LocatedImport {
  readonly path: string;
  readonly at: string;
  readonly target: string;
  readonly isType: boolean;
}

function shippedImports(files: Files): LocatedImport[] {
  return importsOf(files, shippedPaths(files));
}

function importsOf(files: Files, paths: string[]): LocatedImport[] {
  return paths.flatMap((path) => {
    return facts(files, path)
      .imports.filter((site): site is Import & { target: string } => site.target !== undefined)
      .map(({ line, target, isType }) => ({ path, at: `${path}:${line}`, target, isType }));
  });
}

function usesOf(files: Files, paths: string[], pattern: RegExp): string[] {
  return paths.flatMap((path) => {
    return facts(files, path)
      .uses.filter(({ name }) => pattern.test(name))
      .map(({ line, name }) => `${path}:${line}: uses ${name}`);
  });
}

function matchesIn(files: Files, path: string, pattern: RegExp): string[] {
  return [...(files.get(path) ?? '').matchAll(pattern)].map(([text]) => {
    return `${path}: contains "${text.trim()}"`;
  });
}

function facts(files: Files, path: string) {
  return factsOf(path, files.get(path) ?? '');
}

/** The sources that become the package. */
function shippedPaths(files: Files): string[] {
  return pathsIn(files, /^src\/.*\.tsx?$/).filter((path) => !isTest(path));
}

function codePaths(files: Files): string[] {
  return pathsIn(files, /^(src|test|examples|bench|scripts)\/.*\.(tsx?|m[jt]s|js)$/);
}

function pathsIn(files: Files, pattern: RegExp): string[] {
  return [...files.keys()].filter((path) => pattern.test(path)).sort();
}

function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path);
}

function isRelative(target: string): boolean {
  return /^\.\.?(\/|$)/.test(target);
}

function layerOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.tsx?$/, '');
}

/** The room of a layer that a file is in; `.` beside the rooms. */
function roomOf(path: string): string {
  const [, , room = '', ...rest] = path.split('/');
  return rest.length === 0 ? '.' : room;
}

function packageOf(target: string): string {
  return target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
}

/** A path of this repository, as opposed to a route, a package, a media type or a pattern. */
function isPath(name: string): boolean {
  if (!/^[\w.-]+(\/[\w.-]+)*\/?$/.test(name)) return false;
  if (/^(\.\/|writ\/|writ\.config\.|svc\/|dist\/|node_modules\/|\.writ\/)/.test(name)) return false;
  if (/^(application|text|image|multipart)\/[\w.+-]+$/.test(name)) return false;
  return name.includes('/') || /\.(tsx?|m?js|json|md|ya?ml|sql|css|html)$/.test(name);
}

/** From the root, from src, or by name alone. */
function isThere(files: Files, name: string): boolean {
  return [...files.keys()].some((path) => {
    const isFile = path === name || path === `src/${name}`;
    const isFolder = [`${name}/`, `src/${name}/`].some((folder) => {
      return path.startsWith(folder.replace(/\/\/$/, '/'));
    });
    return isFile || isFolder || (!name.includes('/') && posix.basename(path) === name);
  });
}
