/**
 * What stops a service from being mounted, and what is said and ignored.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { mountDesk, PREFIX } from './desk.ts';

async function refusal(...options: Parameters<typeof mountDesk>): Promise<string> {
  try {
    await (await mountDesk(...options)).close();
  } catch (error) {
    return (error as Error).message;
  }
  return assert.fail('mounted');
}

describe('mount() refuses', () => {
  for (const prefix of [
    '',
    '/',
    'desk',
    '/desk/',
    '/a//b',
    '/a.b',
    '/../a',
    '/a?b',
    '/a#b',
    '/a%20b',
    '/a b',
  ]) {
    test(`the prefix ${JSON.stringify(prefix)}`, async () => {
      const message = await refusal({ prefix, settings: { public_url: undefined } });

      assert.match(message, /^Cannot mount at .*expected a path such as "\/desk"/);
    });
  }

  for (const prefix of ['/svc', '/mcp', '/docs', '/metrics', '/svc/graph']) {
    test(`the prefix "${prefix}", which is a path of the service`, async () => {
      const settings = { public_url: `http://127.0.0.1:3000${prefix}` };

      assert.match(
        await refusal({ prefix, settings }),
        /the service has the path "\S+" of its own/,
      );
    });
  }

  test('a public address that does not end with the prefix', async () => {
    const message = await refusal({ settings: { public_url: 'http://127.0.0.1:3000' } });

    assert.match(message, /write the prefix at its end, such as "http:\/\/127.0.0.1:3000\/desk"/);
  });

  test('demo credentials without a public address, and with one that others reach', async () => {
    const unknown = await refusal({ settings: { public_url: undefined } });
    const open = await refusal({ settings: { public_url: 'https://shop.example/desk' } });

    assert.match(unknown, /^Cannot mount with the demo credentials of human:alice@example.com/);
    assert.match(unknown, /http:\/\/127.0.0.1:3000\/desk/);
    assert.match(open, /demo credentials/);
  });

  test('rate limits that are off without a public address', async () => {
    const off = { public_url: undefined, identities: [], rate_limits: 'off' as const };

    assert.match(await refusal({ settings: off }), /^Cannot mount with WRIT_RATE_LIMITS=off/);
  });

  test('an origin that is no origin', async () => {
    for (const origin of [
      'https://a.example/',
      'https://a.example/x',
      'a.example',
      'null',
      'https://*.a.example',
    ]) {
      const message = await refusal({ cors: { origins: [origin] } });
      assert.match(message, /Cannot use setting "cors_origins/, origin);
    }
  });
});

test('workers are ignored with a warning', async () => {
  const desk = await mountDesk({
    environment: { WRIT_WORKERS: '2', WRIT_STORE: 'sqlite:./desk.db' },
  });

  assert.match(desk.lines.join(''), /WRIT_WORKERS is ignored/);
  assert.equal((await desk.ask('GET', '/svc/manifest')).status, 200);
  await desk.close();
});

test('a service that could not be mounted left its store closed', async () => {
  const settings = { public_url: 'http://127.0.0.1:3000/mcp' };
  await refusal({ prefix: '/mcp', settings });
  const desk = await mountDesk();

  assert.equal(desk.config.public_url, `http://127.0.0.1:3000${PREFIX}`);
  await desk.close();
});
