/**
 * The guide to the guard: its two minutes run word for word, and its tables have every field of a policy.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'vitest';
import { atEnd, temporaryFolder } from '../ends.ts';
import { type Launched, launchProgram, seen } from '../launch.ts';

const SLOW = 120_000;
const ADDRESS = /(http:\/\/(?:127\.0\.0\.1|localhost)):8420/g;

const guide = readFileSync('docs/guard.md', 'utf8');
const story = guide.split('## Two minutes')[1]?.split('\n## ')[0] ?? '';
const [start, ...steps] = [...story.matchAll(/```sh\n([\s\S]*?)```\n```text\n([\s\S]*?)```/g)].map(
  ([, script = '', expected = '']) => ({ script, expected: expected.split('\n').filter(Boolean) }),
);

/** A folder in which npx finds the packages of this repository, and asks no registry. */
function place() {
  const folder = temporaryFolder();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, '.npmrc'), 'offline=true\nupdate-notifier=false\n');
  const writ = join(bin, 'writ');
  writeFileSync(
    writ,
    `#!/bin/sh\nexec "${process.execPath}" "${resolve('dist/src/cli/bin.js')}" "$@"\n`,
  );
  chmodSync(writ, 0o755);
  const PATH = `${bin}:${process.env.PATH}`;
  return { folder, env: { PATH, HOME: folder, XDG_STATE_HOME: join(folder, 'state') } };
}

test('docs/guard.md: two minutes go as the page says', { timeout: SLOW }, async () => {
  const { folder, env } = place();
  assert.ok(start && steps.length === 5);
  const script = start.script.replace('writ guard', 'exec writ guard');
  const guard = launchProgram(['bash', '-euc', script], folder, env);
  atEnd(() => stopped(guard));
  const port = await seen(guard, / tools? at http:\/\/127\.0\.0\.1:(\d+)\n[\s\S]*Context:/);
  const onPort = (text: string) => text.replaceAll(ADDRESS, `$1:${port}`);
  const shell = launchProgram(['bash', '--noprofile', '--norc', '-eus'], folder, env);

  const outputs: string[] = [guard.output.out];
  for (const [index, step] of steps.entries()) {
    outputs.push(await typed(shell, onPort(step.script), `=== ${index}`));
    if (step.script.includes('writ guard check'))
      await seen(guard, /(The changed policy is in force)/);
  }

  for (const [index, { expected }] of [start, ...steps].entries()) {
    for (const line of expected.map(onPort)) {
      assert.ok(
        outputs[index]?.includes(line),
        `step ${index} lacks "${line}":\n${outputs[index]}`,
      );
    }
  }
});

/** Ends a program by a signal that it can answer. */
function stopped({ child, ended }: Launched): Promise<number | null> {
  child.kill('SIGTERM');
  return ended;
}

/** What a shell prints after it got these lines. */
async function typed(shell: Launched, script: string, mark: string): Promise<string> {
  const { length } = shell.output.out;
  shell.child.stdin.write(`${script}\necho; echo "${mark}"\n`);
  await seen(shell, new RegExp(`(${mark})\n`));
  return shell.output.out.slice(length);
}

test('docs/guard.md shows the policy of examples/guard', () => {
  assert.ok(story.includes(`\n${readFileSync('examples/guard/writ-guard.yaml', 'utf8')}END\n`));
});

test('docs/guard.md names every field of a policy', () => {
  const schema = JSON.parse(readFileSync('docs/guard.schema.json', 'utf8'));

  const fields = fieldsOf(schema);

  assert.ok(fields.length > 30);
  const missing = fields.filter((field) => !new RegExp(`[\`{ ]${field}[\`:]`).test(guide));
  assert.deepEqual(missing, []);
});

/** The names of all properties in a JSON Schema. */
function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties } = schema as { properties?: object };
  return [...Object.keys(properties ?? {}), ...Object.values(schema).flatMap(fieldsOf)];
}
