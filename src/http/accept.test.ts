/**
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { prefersHtml } from './accept.ts';

const FIREFOX = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const CHROME = `${FIREFOX.replace('*/*', 'image/avif,image/webp,*/*')},application/signed-exchange;v=b3;q=0.7`;

const TABLE: [accept: string | undefined, expected: boolean][] = [
  [FIREFOX, true],
  [CHROME, true],
  ['text/html', true],
  ['TEXT/HTML; charset=utf-8', true],
  ['text/*', true],
  ['text/html, */*', true],
  ['text/html;q=0.9, application/json;q=0.8', true],
  ['application/json;q=0, */*', true],
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['application/json', false],
  ['application/json, text/plain, */*', false],
  ['text/html, application/json', false],
  ['application/json, text/html;q=0.9', false],
  ['text/html;q=0, */*', false],
  ['text/html;q=high', false],
  ['text/html;q=2', false],
  ['text/html;q=0.001, application/json;q=0.002', false],
  ['image/png', false],
  [',;q=1,', false],
];
for (const [accept, expected] of TABLE) {
  test(`prefersHtml() is ${expected} for ${JSON.stringify(accept) ?? 'no header'}`, () => {
    assert.equal(prefersHtml(accept), expected);
  });
}
