/**
 * The credential of a command that calls a service. Never an argument: arguments show in the list of
 * processes.
 *
 * @module
 */

import { CommandFault, EXIT_CREDENTIAL } from '../shell/exit.ts';
import { secretIn } from '../shell/files.ts';
import type { Io } from '../shell/io.ts';
import { baseOf } from '../shell/remote.ts';
import { renewed } from './flow.ts';
import { loginsFile, savedLogins, saveRenewal } from './saved.ts';

export const CREDENTIAL_VARIABLE = 'WRIT_CLIENT_CREDENTIAL';

/** In milliseconds: a login that ends sooner is renewed first. */
const RENEWAL_MS = 60_000;

/** From the file, else from the environment. */
export function credentialOf(file: string | undefined, io: Io): string {
  const credential = givenCredential(file, io);
  if (credential !== undefined) return credential;
  throw new CommandFault(
    `there is no credential; set ${CREDENTIAL_VARIABLE} or give --token-file`,
    { exit: EXIT_CREDENTIAL },
  );
}

/** From the file, else from the environment, else from the login of this user at the service. */
export async function credentialFor(
  service: string,
  file: string | undefined,
  io: Io,
): Promise<string> {
  const given = givenCredential(file, io);
  if (given !== undefined) return given;
  const path = loginsFile(io);
  const base = baseOf(service);
  const login = savedLogins(path)[base];
  if (!login) {
    const ways = `set ${CREDENTIAL_VARIABLE}, give --token-file or run "writ login --service ${base}"`;
    throw new CommandFault(`there is no credential; ${ways}`, { exit: EXIT_CREDENTIAL });
  }
  if (Date.parse(login.expires_at) - Date.now() > RENEWAL_MS) return login.access_token;
  const next = await renewed(login);
  await saveRenewal(path, base, login, next);
  if (next) return next.access_token;
  throw new CommandFault(
    `the login at "${base}" has ended; run "writ login --service ${base}" again`,
    { exit: EXIT_CREDENTIAL },
  );
}

function givenCredential(file: string | undefined, io: Io): string | undefined {
  const given = file === undefined ? io.env[CREDENTIAL_VARIABLE] : secretIn(file);
  const credential = (given ?? '').trim();
  // An empty file must not become another, perhaps wider credential of this user.
  if (credential === '' && file !== undefined) {
    throw new CommandFault(`"${file}" is empty`, { exit: EXIT_CREDENTIAL });
  }
  if (credential === '') return undefined;
  if (/^[\x21-\x7e]+$/.test(credential)) return credential;
  throw new CommandFault('expected the credential in printable ASCII, without spaces', {
    exit: EXIT_CREDENTIAL,
  });
}
