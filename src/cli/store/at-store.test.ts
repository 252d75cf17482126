import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../../test/support/ends.ts';
import { entry } from '../../../test/support/fixtures.ts';
import { openSqlite } from '../../storage/sqlite/store.ts';
import { main } from '../main.ts';

async function writ(args: string[], env: Record<string, string>) {
  const [out, err]: [string[], string[]] = [[], []];
  const io = {
    out: (text: string) => void out.push(text),
    err: (text: string) => void err.push(text),
  };
  const status = await main(args, { ...io, env });
  return { status, out: out.join(''), err: err.join('') };
}

// Each place has a log of its own length, and a backup names it too.
for (const [name, size, envOf] of [
  ['the data folder of the environment', 4, (data) => ({ WRIT_DATA: data })],
  ['the data folder of the configuration', 5, (data) => ({ WRIT_CONFIG: configured({ data }) })],
  [
    'the store of the configuration',
    6,
    (data) => ({ WRIT_CONFIG: configured({ store: `sqlite:${join(data, 'writ.db')}` }) }),
  ],
] satisfies [string, number, (data: string) => Record<string, string>][]) {
  test(`writ fsck and writ backup read ${name}`, async () => {
    const data = await dataOf(size);
    const env = envOf(data);

    const checked = await writ(['fsck', '--json'], env);
    const copied = await writ(['backup', '--json', '--out', join(data, 'copy.gz')], env);

    assert.equal(checked.err + copied.err, '');
    const [report, copy] = [checked, copied].map(({ out }) => JSON.parse(out));
    assert.equal(report.entries, size);
    assert.deepEqual([report.log, report.entries], [copy.log_id, copy.entry_count]);
  });
}

/** A data folder whose log has so many entries. */
async function dataOf(size: number): Promise<string> {
  const data = temporaryFolder();
  const store = await openSqlite(join(data, 'writ.db'));
  await store.append(Array.from({ length: size }, () => entry()));
  await store.close();
  return data;
}

function configured(settings: object): string {
  const file = join(temporaryFolder(), 'writ.config.json');
  writeFileSync(file, JSON.stringify(settings));
  return file;
}

test('writ fsck takes keys and mark from the configuration, and misses those that it names', async () => {
  const data = await dataOf(3);
  const env = { WRIT_STORE: `sqlite:${join(data, 'writ.db')}` };
  const absent = join(data, 'absent');

  const keys = await writ(['fsck'], { WRIT_CONFIG: configured({ keys: absent }), ...env });
  const mark = await writ(['fsck'], { WRIT_CONFIG: configured({ mark: absent }), ...env });

  assert.deepEqual([keys.status, mark.status], [2, 2]);
  assert.match(mark.err, /there is no mark in ".*absent"/);
});
