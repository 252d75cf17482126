import assert from 'node:assert/strict';
import { test, vi } from 'vitest';
import { createRouter, hasLongValue, plainPath, routedPath } from './router.ts';

function router() {
  const routes = createRouter<string>();
  routes.add('GET', '/items', 'list');
  routes.add('GET', '/items/{id}', 'read');
  routes.add('POST', '/items/search', 'search');
  routes.add('POST', '/items/{id}/close', 'close');
  return routes;
}

test('find() prefers an exact path, and fills one whole segment with a field', () => {
  const routes = router();

  assert.equal(routes.find('GET', '/items')?.route, 'list');
  assert.deepEqual(routes.find('GET', '/items/a%2Fb'), { route: 'read', params: { id: 'a/b' } });
  assert.deepEqual(routes.find('POST', '/items/7/close')?.params, { id: '7' });
  assert.equal(routes.find('POST', '/items/search')?.route, 'search');
  for (const path of ['/items/a/b', '/items/close', '/Items', '/items/a/b/close', '//items']) {
    assert.equal(routes.find('POST', path), undefined, path);
  }
});

test('find() compares no more of a long path than a route has', () => {
  const routes = router();
  const lookUps = vi.spyOn(Map.prototype, 'get');
  try {
    assert.equal(routes.find('POST', '/'.repeat(8_000)), undefined);
    // One beginning for each letter of "/items/", and the exact paths.
    assert.ok(lookUps.mock.calls.length <= 9, `${lookUps.mock.calls.length} look-ups`);
  } finally {
    lookUps.mockRestore();
  }
});

test('methodsOf() names what a path takes', () => {
  assert.deepEqual(router().methodsOf('/items/search'), ['GET', 'HEAD', 'POST']);
  assert.deepEqual(router().methodsOf('/nowhere'), []);
});

test('hasLongValue() is true beyond 512 characters', () => {
  const found = (length: number) => router().find('GET', `/items/${'a'.repeat(length)}`);

  assert.equal(hasLongValue(found(512) as never), false);
  assert.equal(hasLongValue(found(513) as never), true);
});

test('routedPath() decodes escapes once, and refuses those that are not UTF-8', () => {
  const paths: [target: string, path: string | undefined][] = [
    ['/a?b', '/a'],
    ['/a#b?c', '/a'],
    ['http://host:1/a?b', '/a'],
    ['https://host', '/'],
    ['/%61', '/a'],
    ['/a%2Fb', '/a%2Fb'],
    ['/a%2561', '/a%2561'],
    ['/%C3%A9', '/%C3%A9'],
    ['/%', undefined],
    ['/%ff', undefined],
  ];
  for (const [target, path] of paths) assert.equal(routedPath(target), path, target);
  assert.equal(plainPath('/%61%ff'), '/a%ff');
});
