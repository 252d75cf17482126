/**
 * The credential of a command that calls a service. Never an argument: arguments show in the list of
 * processes.
 *
 * @module
 */

import { bytesIn } from './files.ts';
import type { Io } from './io.ts';

export const CREDENTIAL_VARIABLE = 'WRIT_CLIENT_CREDENTIAL';

/** From the file, else from the environment. */
export function credentialOf(file: string | undefined, io: Io): string {
  const given = file ? new TextDecoder().decode(bytesIn(file)) : io.env[CREDENTIAL_VARIABLE];
  const credential = (given ?? '').trim();
  if (credential === '') {
    throw new Error(`there is no credential; set ${CREDENTIAL_VARIABLE} or give --token-file`);
  }
  if (/^[\x21-\x7e]+$/.test(credential)) return credential;
  throw new Error('expected the credential in printable ASCII, without spaces');
}
