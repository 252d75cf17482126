import assert from 'node:assert/strict';
import { test } from 'vitest';
import { packageManifest } from '../package.ts';
import { main } from './main.ts';

async function writ(...args: string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const status = await main(args, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env: {},
  });
  return [status, out.join(''), err.join('')];
}

for (const option of ['--version', '-v']) {
  test(`writ ${option} says the version`, async () => {
    assert.deepEqual(await writ(option), [0, `${packageManifest().version}\n`, '']);
  });
}
