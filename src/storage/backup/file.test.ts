import assert from 'node:assert/strict';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, test } from 'vitest';
import {
  backup,
  edited,
  fileOf,
  filled,
  PLACES,
  restore,
  tablesOf,
} from '../../../test/support/backups.ts';
import { newFile } from '../../../test/support/store-places.ts';
import { checkBackup } from '../open.ts';
import { BASELINE_VERSION } from '../port/versions.ts';

describe('a file that is not a whole backup', async () => {
  const source = `sqlite:${newFile()}`;
  await filled(source);
  const whole = await backup(source);
  const text = gunzipSync(whole).toString();
  const swap = (pattern: RegExp | string, by: string) => (lines: string[]) =>
    lines.map((line) => line.replace(pattern, by));

  const FILES: Readonly<Record<string, readonly [file: Buffer, fault: RegExp]>> = {
    'is empty': [Buffer.alloc(0), /the file is cut/],
    'is cut': [whole.subarray(0, whole.length - 400), /the file is cut/],
    'is cut and compressed again': [gzipSync(text.slice(0, 20_000)), /the file is cut/],
    'is no gzip': [Buffer.from(text), /damaged or not compressed with gzip/],
    'is compressed twice': [gzipSync(whole), /not a backup: its first line is not JSON/],
    'goes on': [Buffer.concat([whole, Buffer.from('more')]), /is damaged/],
    'goes on with zeros': [Buffer.concat([whole, Buffer.alloc(9)]), /goes on after its contents/],
    'goes on with another file': [Buffer.concat([whole, whole]), /goes on after its last line/],
    'has another amount': [
      gzipSync(text.replace('"USD","1000"', '"USD","9000"')),
      /its digest is not that of its contents/,
    ],
    'has one huge line': [gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20)), /a line has more than/],
    'has deep JSON': [
      gzipSync(`${text.split('\n')[0]}\n${'['.repeat(100_000)}\n`),
      /line 2 is not JSON of a backup/,
    ],
    'has another format': [
      edited(whole, swap('writ-backup/1', 'writ-backup/2')),
      /its format is "writ-backup\/2", this program reads "writ-backup\/1"/,
    ],
    'is of a newer version': [
      edited(whole, swap(/"sqlite":\d+/, '"sqlite":900')),
      /made by version "test" .* schema 900 .*, this program knows \d+ and \d+; use that version/,
    ],
    'is from before the baseline': [
      edited(whole, swap(/"sqlite":\d+/, `"sqlite":${BASELINE_VERSION - 1}`)),
      new RegExp(
        `made by version "test" .* schema ${BASELINE_VERSION - 1} .*, and this program restores versions from ${BASELINE_VERSION} on; use the program that made it`,
      ),
    ],
    'has an unknown table': [
      edited(whole, swap('{"table":"budgets"', '{"table":"sqlite_schema"')),
      /unknown table: "sqlite_schema"/,
    ],
    'has an unknown column': [
      edited(
        whole,
        swap(
          '"columns":["token_id","currency","max"',
          '"columns":["token_id","currency","max) --"',
        ),
      ),
      /table "budgets" has an unknown column: "max\) --"/,
    ],
    'lacks a table': [
      edited(whole, (lines) => lines.filter((line) => !line.startsWith('{"table":"debts"'))),
      /table "budgets".*a row has 3 values, expected 5/,
    ],
    'has a wrong value': [
      edited(whole, swap('"USD","1000"', '"USD",{"a":1}')),
      /column "max" is not of the kind "amount"/,
    ],
    'lacks an entry': [
      edited(whole, (lines) => {
        const log = lines.findIndex((line) => line.startsWith('{"table":"log"'));
        return lines.filter((_, index) => index !== log + 3);
      }),
      /entry 2 is missing before entry 3/,
    ],
    'has an edited entry hash': [
      edited(whole, (lines) => {
        const log = lines.findIndex((line) => line.startsWith('{"table":"log"'));
        return lines.map((line, index) => {
          return index === log + 40 ? line.replace(/"[^"]{44}"\]$/, `"${'A'.repeat(43)}="]`) : line;
        });
      }),
      /the log is damaged: its head says/,
    ],
    'has a checkpoint that the log does not cover': [
      edited(whole, (lines) =>
        lines.flatMap((line) =>
          line.startsWith('{"table":"cosignatures"')
            ? [JSON.stringify([1, 'c', 900, `${'A'.repeat(43)}=`, 0, 's', 'n']), line]
            : [line.replace('"checkpoints":0', '"checkpoints":1')],
        ),
      ),
      /checkpoint 1 covers 900 entries, the log has/,
    ],
  };

  for (const [what, [file, fault]] of Object.entries(FILES)) {
    test(`restoreStore() changes nothing when the file ${what}`, async () => {
      const path = newFile();

      await assert.rejects(checkBackup(fileOf(file)), fault);
      await assert.rejects(restore(`sqlite:${path}`, file), fault);

      assert.deepEqual(await tablesOf(`sqlite:${path}`), []);
    });
  }

  test('restoreStore() refuses rows that do not fit together, and changes nothing', async () => {
    const orphan = edited(whole, (lines) =>
      lines.flatMap((line) =>
        line.startsWith('{"table":"freezes"')
          ? [JSON.stringify(['tok_none', 'USD', '5']), line]
          : [line.replace('"debts":1', '"debts":2')],
      ),
    );
    for (const open of Object.values(PLACES)) {
      const url = await open();

      await assert.rejects(restore(url, orphan), /the rows do not fit together/);

      assert.deepEqual(await tablesOf(url), []);
    }
  });
});
