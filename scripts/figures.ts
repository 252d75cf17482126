/**
 * Prints figures of the repository's structure: sizes, circles of imports, repeated blocks, and the files
 * and functions that one live request runs through.
 *
 * `npm run figures` compares well between two commits: run it in a checkout of each. With `--suite` it also
 * runs the whole suite and prints its time; with `--files` it names the files of each request.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serve } from 'writ';
import { DEMO_IDENTITIES, travelDesk } from '../examples/travel/service.ts';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const FOLDERS = ['src', 'test', 'bench', 'examples', 'scripts'];
const EXTENSIONS = ['.ts', '.mjs'];
/** Lines. A shorter block is repeated by chance. */
const BLOCK = 6;

interface SourceFile {
  readonly path: string;
  readonly lines: readonly string[];
}

const files = FOLDERS.flatMap((folder) => filesUnder(join(ROOT, folder)));
const tests = files.filter(({ path }) => isTest(path));
const product = files.filter(({ path }) => path.startsWith('src/') && !isTest(path));

printSizes();
printCircles();
printRepeated();
await printRequests();
if (process.argv.includes('--suite')) printSuite();

function filesUnder(folder: string): SourceFile[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && EXTENSIONS.includes(extname(entry.name)))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((file) => ({
      path: relative(ROOT, file),
      lines: readFileSync(file, 'utf8').trimEnd().split('\n'),
    }));
}

/** Tests and what only tests use. `src/testing` ships, but is support code all the same. */
function isTest(path: string): boolean {
  return path.endsWith('.test.ts') || path.startsWith('test/') || path.startsWith('src/testing/');
}

function linesOf(list: readonly SourceFile[]): number {
  return list.reduce((sum, { lines }) => sum + lines.length, 0);
}

function printSizes(): void {
  print('folder', 'files', 'lines');
  const folders = new Map<string, SourceFile[]>();
  for (const file of product) {
    const folder = dirname(file.path);
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  for (const [folder, list] of folders) print(folder, list.length, linesOf(list));
  const support = tests.filter(({ path }) => !path.endsWith('.test.ts'));
  const cases = tests.filter(({ path }) => path.endsWith('.test.ts'));
  print('product (src without tests)', product.length, linesOf(product));
  print('tests', cases.length, linesOf(cases));
  print('support code of tests', support.length, linesOf(support));
  print('all', files.length, linesOf(files));
  const sizes = product.map(({ lines }) => lines.length).sort((a, b) => a - b);
  print('median file', sizes[Math.floor(sizes.length / 2)] as number);
  print('largest file', sizes.at(-1) as number);
  print('most files in a folder', Math.max(...[...folders.values()].map((list) => list.length)));
}

/** Counts the files that lead back to themselves, imports of types included. */
function printCircles(): void {
  const imports = new Map(product.map((file) => [file.path, importsOf(file)]));
  const leadsBack = (start: string): boolean => {
    const seen = new Set<string>();
    const open = [...(imports.get(start) ?? [])];
    for (let path = open.pop(); path !== undefined; path = open.pop()) {
      if (path === start) return true;
      if (seen.has(path)) continue;
      seen.add(path);
      open.push(...(imports.get(path) ?? []));
    }
    return false;
  };
  print('files in circles of imports', [...imports.keys()].filter(leadsBack).length);
}

function importsOf({ path, lines }: SourceFile): string[] {
  const found = lines.join('\n').matchAll(/(?:from|import) '(\.[^']+)'/g);
  return [...found].map(([, target]) => join(dirname(path), target as string));
}

/** Counts the blocks of lines that stand in more than one place. */
function printRepeated(): void {
  const places = new Map<string, number>();
  for (const { lines } of product) {
    const code = lines.map((line) => line.trim()).filter((line) => /\w/.test(line));
    const body = code.filter((line) => !/^(\/\*\*|\*|\/\/|import |\} from )/.test(line));
    for (let at = 0; at + BLOCK <= body.length; at += 1) {
      const block = body.slice(at, at + BLOCK).join('\n');
      places.set(block, (places.get(block) ?? 0) + 1);
    }
  }
  print('repeated blocks', [...places.values()].filter((count) => count > 1).length);
}

/** Each request once against a live service, after another one of its kind has filled what is cached. */
async function printRequests(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-figures-'));
  const environment = { PORT: '0', WRIT_DATA: folder, WRIT_LOG_LEVEL: 'silent' };
  const settings = { identities: DEMO_IDENTITIES };
  const service = await serve(travelDesk, { settings, environment });
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  try {
    print('request', 'files', 'functions');
    for (const { name, prepare } of requestsTo(sendTo(service.url))) {
      await (await prepare())();
      const measured = await prepare();
      await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
      await measured();
      const { result } = await session.post('Profiler.takePreciseCoverage');
      await session.post('Profiler.stopPreciseCoverage');
      const touched = touchedFiles(result);
      print(
        name,
        touched.size,
        [...touched.values()].reduce((sum, count) => sum + count, 0),
      );
      if (!process.argv.includes('--files')) continue;
      for (const [path, count] of [...touched].sort()) print(`  ${path}`, count);
    }
  } finally {
    session.disconnect();
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number }[];
  }[];
}

/** Functions that ran, by file of the product. */
function touchedFiles(scripts: readonly ScriptCoverage[]): Map<string, number> {
  const touched = new Map<string, number>();
  for (const { url, functions } of scripts) {
    if (!url.startsWith('file:')) continue;
    const path = relative(ROOT, fileURLToPath(url));
    if (!path.startsWith('src/')) continue;
    const ran = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).length;
    if (ran > 0) touched.set(path, ran);
  }
  return touched;
}

interface MeasuredRequest {
  readonly name: string;
  /** Makes what the request needs, and returns the request. */
  prepare(): Promise<() => Promise<Body>>;
}

type Body = Record<string, unknown>;
type Send = (path: string, bearer: string, input?: object) => Promise<Body>;

function requestsTo(send: Send): MeasuredRequest[] {
  const issue = () =>
    send('/svc/tokens', 'demo-human-key', {
      scope: ['travel.search', 'travel.book', 'travel.refund'],
      budget: { currency: 'USD', max_amount: 5_000 },
    });
  const token = async () => (await issue()).token as string;
  return [
    { name: 'issue a token', prepare: async () => issue },
    {
      name: 'permissions',
      async prepare() {
        const bearer = await token();
        return () => send('/svc/permissions', bearer, {});
      },
    },
    {
      name: 'invoke book_flight',
      async prepare() {
        const bearer = await token();
        const route = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
        const found = await send('/svc/invoke/search_flights', bearer, { parameters: route });
        const { cheapest_flight } = found.result as { cheapest_flight: { quote: unknown } };
        const parameters = { quote: cheapest_flight.quote, passenger: 'Ann Lee' };
        return () => send('/svc/invoke/book_flight', bearer, { parameters });
      },
    },
    {
      name: 'approve a request',
      async prepare() {
        const parameters = { booking_id: 'BK-1000', amount: 250, reason: 'cancelled' };
        const asked = await send('/svc/invoke/issue_refund', await token(), { parameters });
        const { approval_request_id } = asked.failure as { approval_request_id: string };
        const grant = { approval_request_id, grant_type: 'one_time' };
        return () => send('/svc/approval_grants', 'demo-approver-key', grant);
      },
    },
    {
      name: 'query the audit log',
      async prepare() {
        const bearer = await token();
        return () => send('/svc/audit', bearer, {});
      },
    },
  ];
}

function sendTo(url: string): Send {
  return async (path, bearer, input) => {
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
    const body = JSON.stringify(input);
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body });
    const answer = (await response.json()) as Body;
    if (response.ok || response.status === 403) return answer;
    throw new Error(`Cannot measure ${path}: ${JSON.stringify(answer)}`);
  };
}

function printSuite(): void {
  const begun = Date.now();
  const { status } = spawnSync('npm', ['test'], { cwd: ROOT, stdio: 'ignore' });
  print(`suite (exit ${status}), seconds`, Math.round((Date.now() - begun) / 1_000));
}

function print(label: string, ...values: (string | number)[]): void {
  process.stdout.write(
    `${label.padEnd(40)}${values.map((v) => String(v).padStart(10)).join('')}\n`,
  );
}
