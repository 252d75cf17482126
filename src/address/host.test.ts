import assert from 'node:assert/strict';
import { test } from 'vitest';
import { pagesUrl } from './host.ts';

const ADDRESSES: [baseUrl: string, pages: string][] = [
  ['http://127.0.0.1:8420', 'http://localhost:8420'],
  ['http://127.0.0.1', 'http://localhost'],
  ['http://[::1]:8420/desk', 'http://localhost:8420/desk'],
  ['http://localhost:8420', 'http://localhost:8420'],
  // Another address of this machine, which `localhost` does not lead to.
  ['http://127.0.0.2:8420', 'http://127.0.0.2:8420'],
  ['https://127.0.0.1:8443', 'https://127.0.0.1:8443'],
  ['https://desk.example/writ', 'https://desk.example/writ'],
  ['stdio:', 'stdio:'],
];
for (const [baseUrl, pages] of ADDRESSES) {
  test(`pagesUrl() of ${baseUrl} is ${pages}`, () => {
    assert.equal(pagesUrl(baseUrl), pages);
  });
}
