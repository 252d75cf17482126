/**
 * docs/operating.md and deploy/alerts.yaml beside the code: no metric, alarm or warning is missing, and none is invented.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { parse } from 'yaml';
import { testService } from '../support/world.ts';
import { deployed, REPOSITORY } from './files.ts';

const whole = readFileSync(join(REPOSITORY, 'docs/operating.md'), 'utf8');
const [, page = ''] = /^## Monitoring\n([\s\S]*?)^## /m.exec(whole) ?? [];

const sources = readdirSync(join(REPOSITORY, 'src'), { recursive: true, encoding: 'utf8' })
  .filter(
    (path) =>
      path.endsWith('.ts') &&
      !path.includes('.test.') &&
      !/^(?:testing|storage\/fsck)\//.test(path),
  )
  .map((path) => ({ path, text: readFileSync(join(REPOSITORY, 'src', path), 'utf8') }));

/** The names that a scrape of a running service has. */
async function scraped(): Promise<string[]> {
  const service = await testService();
  const { text = '' } = await service.ask('GET', '/metrics');
  return [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name as string).toSorted();
}

test('docs/operating.md has a row for each metric of a running service, and no other', async () => {
  const rows = [...page.matchAll(/^\| `(writ_\w+)[{`]/gm)].map(([, name]) => name as string);

  assert.deepEqual(rows.toSorted(), await scraped());
});

test('deploy/alerts.yaml is a file of rules and names only metrics of a running service', async () => {
  const { groups } = parse(deployed('alerts.yaml')) as {
    groups: { rules: { alert: string; expr: string; annotations: { runbook: string } }[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  const known = await scraped();
  const named = rules.flatMap(({ expr }) => expr.match(/\bwrit_\w+/g) ?? []);

  assert.deepEqual(
    named.filter((name) => !known.includes(name.replace(/_(bucket|sum|count)$/, ''))),
    [],
  );
  for (const { alert, expr, annotations } of rules) {
    assert.ok(expr.length > 0 && /^\w+$/.test(alert));
    const [file = '', heading = ''] = annotations.runbook.split(', ');
    const text = readFileSync(join(REPOSITORY, file), 'utf8');
    assert.ok(text.includes(heading.replaceAll('"', '')), `${alert}: ${annotations.runbook}`);
  }
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
});

test('docs/operating.md explains each alarm that the code raises, and no other', () => {
  const raised = sources.flatMap(({ text }) =>
    [...text.matchAll(/(?:raise\(|alarm: )'(\w+)'/g)].map(([, alarm]) => alarm as string),
  );
  const part = page.slice(page.indexOf('## Alarms'), page.indexOf('## Log lines'));
  const rows = [...part.matchAll(/^\| `(\w+)` \|/gm)].map(([, alarm]) => alarm as string);

  assert.deepEqual(rows.toSorted(), [...new Set(raised)].toSorted());
});

/** Calls that write a line of these levels; the message is the last text among their arguments. */
const CALL =
  /(?:\b(?:log|child)\.(?:warn|error|fatal)|(?<![.\w])report|\balarms\.raise|\bonWarning)\(/g;

/**
 * Calls whose message is made elsewhere, by file, with the words by which the page explains it. A new call of this kind
 * fails the test until it has a row here.
 */
const MADE_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'open.ts': ['`uncaughtException`', '`unhandledRejection`', 'Sentences about the\nkey folder'],
  'keyring/keyring.ts': ['Sentences about the\nkey folder'],
  'service/operations/alarms.ts': ['## Alarms'],
  'service/rows/row-check.ts': [
    '`… does not match its row: it was changed outside the service`',
    '`a debt cannot be read: its row was changed outside the service`',
  ],
  'service/rows/row-seal.ts': ['Sentences about the\nkey folder'],
  'service/invoke/handler.ts': [
    '`a handler returned a result that does not match its declared output`',
  ],
  'service/invoke/inputs.ts': [
    '`the rollback window holds only for parameters exactly as the call left them`',
  ],
  'service/sign-in/token.ts': ['`the … was used twice`'],
  'service/runtime.ts': ['No caller can get a token', 'No approver is configured for'],
  'service/accounts/tokens.ts': ['`the tokens of an account could not be renewed`'],
};

interface Line {
  readonly path: string;
  /** Undefined where another place makes it. */
  readonly message: string | undefined;
}

const LINES: readonly Line[] = sources.flatMap(({ path, text }) =>
  [...text.matchAll(CALL)]
    // Commands print what they find; only a service logs it.
    .filter(({ 0: call }) => !(path.startsWith('cli/') && call === 'report('))
    // The declaration of a function is no call.
    .filter(({ index }) => !/(?:function|=>) $/.test(text.slice(index - 12, index)))
    .map(({ index, 0: call }) => {
      const message = lastText(argumentsAt(text, index + call.length));
      return { path, message };
    }),
);

/** What stands between the parentheses, of which the first is already read. */
function argumentsAt(text: string, from: number): string {
  let depth = 1;
  let at = from;
  for (; depth > 0 && at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
  }
  return text.slice(from, at - 1);
}

/** The last argument, where it is or ends with a text; its values become an ellipsis, as on the page. */
function lastText(given: string): string | undefined {
  const found = /(?:'([^'\n]+)'|`([^`\n]+)`),?\s*$/.exec(given);
  const text = found?.[1] ?? found?.[2];
  return text?.replaceAll(/\$\{[^}]*\}/g, '…');
}

test('the source has log lines to compare with the page', () => {
  assert.ok(LINES.length > 70, `${LINES.length} calls found`);
});

test('docs/operating.md explains each warning and error line of the source', () => {
  const missing = LINES.filter(
    ({ message }) => message !== undefined && !page.includes(`\`${message}\``),
  );

  assert.deepEqual(missing, []);
});

test('docs/operating.md explains the lines whose message is made elsewhere', () => {
  const files = new Set(
    LINES.filter(({ message }) => message === undefined).map((each) => each.path),
  );

  assert.deepEqual(
    [...files].filter((path) => MADE_ELSEWHERE[path] === undefined),
    [],
  );
  for (const words of Object.values(MADE_ELSEWHERE).flat()) {
    assert.ok(page.includes(words), `the page lacks "${words}"`);
  }
});

test('docs/operating.md has no row for a line that the source does not have', () => {
  const all = sources.map(({ text }) => text).join('\n');
  const part = page.slice(page.indexOf('### At the start'));
  const rows = [...part.matchAll(/^\| `([^`]+)` \| (?:warn|error|fatal) \|/gm)];
  const unknown = rows
    .map(([, message = '']) => message)
    .filter((message) => {
      const pieces = message.split('…').map((piece) => piece.trim());
      return !pieces.every((piece) => all.includes(piece));
    });

  assert.ok(rows.length > 60);
  assert.deepEqual(unknown, []);
});
