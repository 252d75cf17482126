/**
 * A new file for a secret: only this user can read it, and no file is ever replaced.
 *
 * @module
 */

import { open, rm } from 'node:fs/promises';
import { errorCode } from '../../keyring/key-file.ts';

const PRIVATE = 0o600;

/**
 * Makes the file, then asks for the secret, so that none is made for a file that cannot be written. The file is
 * removed when `secret` rejects. A crash in between leaves an empty file.
 */
export async function writeSecret(path: string, secret: () => Promise<string>): Promise<void> {
  const file = await open(path, 'wx', PRIVATE).catch((error: unknown) => {
    const why = errorCode(error) === 'EEXIST' ? 'it exists already' : errorCode(error);
    throw new Error(`"${path}" cannot be made (${why})`, { cause: error });
  });
  try {
    await file.writeFile(`${await secret()}\n`);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}
