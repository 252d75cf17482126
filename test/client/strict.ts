/**
 * Programs compiled under `strict` alone, in a folder of their own, as the program of a user is.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

export interface Program {
  readonly folder: string;
  /** What the compiler reports; empty when the program compiles. */
  compile(): string;
  drop(): void;
}

/** Files by name, in the folder `src`. They import `writ` as it ships and `../examples` as it is here. */
export function programOf(files: Readonly<Record<string, string>>): Program {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'writ-strict-')));
  mkdirSync(join(folder, 'src'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(resolve('.'), join(folder, 'node_modules/writ'));
  for (const name of readdirSync('node_modules')) {
    symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
  }
  for (const name of ['examples', 'test']) symlinkSync(resolve(name), join(folder, name));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['src'] }),
  );
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, 'src', name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return {
    folder,
    compile() {
      const tsc = resolve('node_modules/typescript/bin/tsc');
      // Several checkers look at the same types again.
      const args = [tsc, '-p', '.', '--pretty', 'false', '--checkers', '1'];
      const { stdout, stderr } = spawnSync(process.execPath, args, {
        cwd: folder,
        encoding: 'utf8',
      });
      return stdout + stderr;
    },
    drop: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const compilerOptions = {
  strict: true,
  target: 'ES2023',
  module: 'NodeNext',
  types: ['node'],
  allowImportingTsExtensions: true,
  noEmit: true,
  // Leaves out what the packages declare.
  skipLibCheck: true,
};
