/**
 * The built pages of the console: how much a browser loads, and that the verifier is one file.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { test } from 'vitest';

const FOLDER = 'dist/src/console-page';
const VERIFIER = 'verify.html';

/** In bytes. What a phone on a slow network loads in a few seconds. */
const GZIPPED_MAX = 125 * 1_024;

const files = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
  .filter((each) => each.isFile())
  .map(({ parentPath, name }) => join(parentPath, name));

function gzipped(paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + gzipSync(readFileSync(path)).length, 0);
}

test('scripts and styles of the console are under 125 KB gzipped, and so is the verifier', () => {
  const verifier = join(FOLDER, VERIFIER);
  const ofConsole = gzipped(files.filter((path) => /\.(?:js|css)$/.test(path)));
  const ofVerifier = gzipped([verifier]);

  assert.ok(files.length >= 4, files.join());
  assert.ok(ofConsole < GZIPPED_MAX, `the console has ${ofConsole} bytes`);
  assert.ok(ofVerifier < GZIPPED_MAX, `the verifier has ${ofVerifier} bytes`);
});

test('verify.html is one file that connects to nothing and runs exactly its own script', () => {
  const html = readFileSync(join(FOLDER, VERIFIER), 'utf8');
  const head = html.slice(0, html.indexOf('<script'));
  const [, policy = ''] =
    /<meta http-equiv="Content-Security-Policy" content="([^"]+)">/.exec(head) ?? [];
  const inside = (kind: string) =>
    [...html.matchAll(new RegExp(`<${kind}[^>]*>([\\s\\S]*?)</${kind}>`, 'g'))].map(
      ([, text = '']) => text,
    );
  const admitted = (kind: string) =>
    `${kind}-src ${inside(kind)
      .map((text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`)
      .join(' ')}`;

  assert.equal(inside('script').length, 1);
  assert.deepEqual(policy.split('; '), [
    "default-src 'none'",
    "connect-src 'none'",
    admitted('script'),
    admitted('style'),
    "form-action 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]);
  assert.doesNotMatch(html.replace(inside('script')[0] ?? '', ''), /\s(?:src|href)=/);
});
