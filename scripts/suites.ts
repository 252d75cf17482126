/**
 * Runs the tests of hostile clients, of outgoing requests and of `writ attack`, and counts what held.
 *
 *     npm run suites -- [hostile] [outgoing] [attack] [--record]
 *
 * Without a name all of them. These tests have no longer form than the one of the suite; with `--record` their counts are
 * kept for SECURITY.md, if every test passed.
 *
 * @module
 */

import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { runTests, type Tested } from './counted-tests.ts';
import { recordFigures } from './security-figures.ts';

interface Suite {
  readonly files: readonly string[];
  /** What is counted, by which titles. */
  readonly counts: Readonly<Record<string, RegExp>>;
}

export const SUITES = {
  hostile: {
    files: [
      'test/hostile/surfaces.test.ts',
      'test/hostile/floods.test.ts',
      'test/http/bad-input.test.ts',
      'test/http/connections.test.ts',
      'test/http/framing.test.ts',
      'test/http/headers.test.ts',
      'test/http/long-queries.test.ts',
      'test/mcp/bad-input.test.ts',
    ],
    counts: { 'tests passed': /./ },
  },
  outgoing: {
    files: [
      'test/hostile/outgoing.test.ts',
      'src/service/outbound/outbound.test.ts',
      'test/approvals/webhooks.test.ts',
      'test/log/witness.test.ts',
      'test/oidc/hostile-issuer.test.ts',
      'test/sign-in/attacks-clients.test.ts',
    ],
    counts: { 'tests passed': /./ },
  },
  attack: {
    files: [
      'test/attack/attack.test.ts',
      'test/attack/hostile-service.test.ts',
      'test/attack/weaknesses.test.ts',
    ],
    counts: {
      'runs at the showcase with nothing broken': /^writ attack finds nothing broken/,
      'weakened services found out': /^writ attack reports that /,
    },
  },
} as const satisfies Record<string, Suite>;

/** How many tests passed, by what they show. Throws where a kind has none: a title may have changed. */
export function suiteCounts(tests: readonly Tested[], counts: Suite['counts']) {
  const titles = tests.filter(({ status }) => status === 'passed').map(({ title }) => title);
  return Object.fromEntries(
    Object.entries(counts).map(([label, pattern]) => {
      const count = titles.filter((title) => pattern.test(title)).length;
      if (count === 0) throw new Error(`Cannot count "${label}": no test of it passed`);
      return [label, count];
    }),
  );
}

function isSuite(name: string): name is keyof typeof SUITES {
  return Object.hasOwn(SUITES, name);
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { record: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const asked = positionals.length > 0 ? positionals : Object.keys(SUITES);
  for (const name of asked) {
    if (!isSuite(name)) throw new Error(`Cannot run "${name}": expected ${Object.keys(SUITES)}`);
    const { files, counts } = SUITES[name];
    const figures = suiteCounts(await runTests(files), counts);
    for (const [label, count] of Object.entries(figures)) {
      process.stdout.write(`${name.padEnd(10)}${label.padEnd(44)}${count}\n`);
    }
    if (values.record) recordFigures(name, figures);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    await main();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
