import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { test } from 'vitest';
import { joinedValues } from './arguments.ts';

const options = {
  pin: { type: 'string', multiple: true },
  service: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const read = (...args: string[]) => {
  const { values, positionals } = parseArgs({
    args: joinedValues(args, options),
    options,
    allowPositionals: true,
  });
  return { ...values, positionals };
};

test('a value may start with one dash or two, wherever it stands', () => {
  const odd = ['-kq0', '--kq0', '-h0'];
  assert.deepEqual(
    read('file', '--pin', '-kq0', '--pin', '--kq0', '--pin', '-h0', '--json'),
    read('file', ...odd.map((pin) => `--pin=${pin}`), '--json'),
  );
  assert.deepEqual(read('--pin', '-kq0').pin, ['-kq0']);
});

test.each([
  [['--pin', '--json']],
  [['--pin', '-h']],
  [['--pin', '--service=x']],
  [['--service', '--pin', '-x']],
  [['--pin']],
  [['-x']],
  [['--json', '-x']],
  [['pin', '-x']],
  [['--pin=a', '-x']],
  [['--pin', 'a', '-x']],
])('%j is refused: an option is not a value, and a stray dash is not an option', (args) => {
  assert.throws(() => read(...args), { name: 'TypeError' });
});

test('a lone dash stays what it is', () => {
  assert.deepEqual(read('--service', '-', '-'), { service: '-', positionals: ['-'] });
});
