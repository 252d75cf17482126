/**
 * The files of .github: workflows run what is there, with pinned actions and few rights; the forms for issues are forms.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { test } from 'vitest';
import { parse } from 'yaml';

interface Job {
  readonly permissions?: Record<string, string>;
  readonly 'timeout-minutes'?: number;
  readonly env?: Record<string, string>;
  readonly strategy?: { readonly matrix: { readonly node: readonly string[] } };
  readonly steps: readonly {
    readonly uses?: string;
    readonly run?: string;
    readonly with?: Record<string, unknown>;
  }[];
}

interface Workflow {
  readonly on: { readonly push?: { readonly tags?: readonly string[] } };
  readonly permissions: unknown;
  readonly jobs: Record<string, Job>;
}

interface Form {
  readonly name: string;
  readonly description: string;
  readonly body: readonly {
    readonly type: string;
    readonly id?: string;
    readonly attributes: { readonly label?: string; readonly value?: string };
  }[];
}

const { scripts, engines } = JSON.parse(readFileSync('package.json', 'utf8'));
const WORKFLOWS = readdirSync('.github/workflows');
const FORMS = readdirSync('.github/ISSUE_TEMPLATE').filter((name) => name !== 'config.yml');

function textOf(name: string): string {
  return readFileSync(`.github/workflows/${name}`, 'utf8');
}

function jobsOf(name: string): Job[] {
  return Object.values((parse(textOf(name)) as Workflow).jobs);
}

/** The lines that a workflow gives to a shell. */
function linesOf(name: string): string[] {
  const steps = jobsOf(name).flatMap((job) => job.steps);
  return steps.flatMap(({ run = '' }) => run.split('\n')).filter((line) => line.trim() !== '');
}

for (const name of WORKFLOWS) {
  test(`.github/workflows/${name} uses actions by their commit, named with their version`, () => {
    const used = [...textOf(name).matchAll(/uses: (.*)$/gm)].map(([, action = '']) => action);

    assert.ok(used.length > 0);
    assert.deepEqual(
      used.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action)),
      [],
    );
  });

  test(`.github/workflows/${name} runs scripts of package.json and programs that exist`, () => {
    const lines = linesOf(name);
    const asked = lines.flatMap((line) => [...line.matchAll(/npm run (?:--silent )?([\w:]+)/g)]);
    const programs = lines.filter((line) => line.startsWith('.'));

    assert.deepEqual(
      asked.map(([, script = '']) => script).filter((script) => !(script in scripts)),
      [],
    );
    assert.ok(programs.includes('.ci/run'));
    for (const program of programs) assert.ok(statSync(program).mode & 0o100, program);
  });

  test(`.github/workflows/${name} reads the repository alone, ends by itself, has a browser, and puts no text of others into a shell`, () => {
    const { permissions } = parse(textOf(name)) as Workflow;
    const jobs = jobsOf(name);

    assert.deepEqual(permissions, { contents: 'read' });
    assert.ok(jobs.every((job) => Number(job['timeout-minutes']) > 0));
    // Without it the tests take the chromium of the image, which cannot start there.
    assert.ok(jobs.every((job) => job.env?.CHROME_PATH === '/usr/bin/google-chrome'));
    assert.deepEqual(
      linesOf(name).filter((line) => line.includes('${{')),
      [],
    );
    const checkouts = jobs
      .flatMap((job) => job.steps)
      .filter(({ uses }) => uses?.startsWith('actions/checkout@'));
    assert.ok(checkouts.every((step) => step.with?.['persist-credentials'] === false));
  });
}

test('.github/workflows/ci.yml runs the suite on the oldest Node of package.json, and on the one that publishes', () => {
  const nodes = jobsOf('ci.yml').flatMap((job) => job.strategy?.matrix.node ?? []);
  const [, oldest = ''] = /^>=(\d+)\./.exec(engines.node) ?? [];
  const publishing = jobsOf('release.yml')
    .flatMap((job) => job.steps)
    .flatMap((step) => step.with?.['node-version'] ?? []);

  assert.equal(nodes[0], oldest);
  assert.deepEqual(publishing, [nodes.at(-1)]);
});

test('.github/workflows/release.yml publishes a tag with provenance, after its checks and with its address', () => {
  const { on } = parse(textOf('release.yml')) as Workflow;
  const lines = linesOf('release.yml').map((line) => line.trim());
  const at = (part: string) => lines.findIndex((line) => line.includes(part));
  const order = ['release:notes "$GITHUB_REF_NAME"', '.ci/run', 'npm pkg set', 'npm publish'].map(
    at,
  );

  assert.deepEqual(on, { push: { tags: ['v*'] } });
  assert.ok(!order.includes(-1));
  assert.deepEqual(
    order,
    [...order].sort((a, b) => a - b),
  );
  assert.match(lines[at('npm pkg set')] ?? '', /"repository\.url=git\+\$address\.git"/);
  assert.match(lines[at('npm publish')] ?? '', /^npm publish --provenance --access public$/);
  assert.deepEqual(
    jobsOf('release.yml').map((job) => job.permissions),
    [{ contents: 'read', 'id-token': 'write' }],
  );
});

for (const file of FORMS) {
  test(`.github/ISSUE_TEMPLATE/${file} is a form whose questions have names of their own`, () => {
    const form = parse(readFileSync(`.github/ISSUE_TEMPLATE/${file}`, 'utf8')) as Form;
    const questions = form.body.filter(({ type }) => type !== 'markdown');
    const ids = questions.map(({ id }) => id);

    assert.ok(form.name && form.description && questions.length > 0);
    assert.deepEqual(
      questions.filter(({ id, attributes }) => !/^[\w-]+$/.test(id ?? '') || !attributes.label),
      [],
    );
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(
      form.body.filter(({ type }) => !['markdown', 'textarea', 'input', 'dropdown'].includes(type)),
      [],
    );
  });
}

const PAGES = [
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  '.github/PULL_REQUEST_TEMPLATE.md',
  'docs/versions.md',
];
for (const page of PAGES) {
  test(`${page} names only scripts and files that exist`, () => {
    const text = readFileSync(page, 'utf8');
    const asked = [...text.matchAll(/npm run ([\w:]+)/g)].map(([, script = '']) => script);
    const linked = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, path = '']) => path);
    const folder = page.includes('/') ? `${page.slice(0, page.lastIndexOf('/'))}/` : '';

    assert.deepEqual(
      asked.filter((script) => !(script in scripts)),
      [],
    );
    assert.deepEqual(
      linked.filter((path) => !existsSync(`${folder}${path}`)),
      [],
    );
  });
}
