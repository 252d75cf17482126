/**
 * Saved logins: what `writ login` got for each service, in one file that only this user can read.
 *
 * Several commands may renew one login at a time: the service takes the refresh token before the current one
 * for a short while, and a command that comes later with an older one leaves the file as it is.
 *
 * @module
 */

import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stateFolder } from '../../config/config.ts';
import { isObject } from '../../domain/wire/json.ts';
import { makeFolder } from '../../folder.ts';
import { writeTextAtomically } from '../shell/atomic-file.ts';
import type { Io } from '../shell/command.ts';

export interface SavedLogin {
  readonly client_id: string;
  readonly token_endpoint: string;
  readonly revocation_endpoint?: string | undefined;
  readonly access_token: string;
  readonly refresh_token: string;
  /** An ISO timestamp. */
  readonly expires_at: string;
}

const FIELDS = ['client_id', 'token_endpoint', 'access_token', 'refresh_token', 'expires_at'];

/** Names the file; by default it is in the state folder of the user. */
export const LOGINS_VARIABLE = 'WRIT_LOGINS';

export function loginsFile({ env }: Pick<Io, 'env'>): string {
  return env[LOGINS_VARIABLE] ?? join(stateFolder(), 'logins.json');
}

/** The logins by the address of the service. Refuses a file that others can read. */
export function savedLogins(file: string): Record<string, SavedLogin> {
  let text: string;
  try {
    const { mode } = statSync(file);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new Error(`others can read "${file}"; run: chmod 600 "${file}"`);
    }
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
  const logins = jsonIn(text);
  if (isObject(logins) && Object.values(logins).every(isLogin)) {
    return logins as Record<string, SavedLogin>;
  }
  throw new Error(`"${file}" is not a file of logins; remove it and run "writ login" again`);
}

function isLogin(value: unknown): boolean {
  return isObject(value) && FIELDS.every((field) => typeof value[field] === 'string');
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Stores or removes the login of one service. */
export async function saveLogin(
  file: string,
  service: string,
  login: SavedLogin | undefined,
): Promise<void> {
  const { [service]: _, ...others } = savedLogins(file);
  const all = login ? { ...others, [service]: login } : others;
  makeFolder(dirname(file));
  await writeTextAtomically(file, JSON.stringify(all, null, 2));
}

/**
 * Stores what came out of a renewal of `seen`; undefined when the delegation has ended. Another command may have
 * renewed, replaced or removed the login meanwhile: then the later one stays. An older refresh token in its
 * place would count as stolen at its next use.
 */
export async function saveRenewal(
  file: string,
  service: string,
  seen: SavedLogin,
  next: SavedLogin | undefined,
): Promise<void> {
  const stored = savedLogins(file)[service];
  const isOther = stored?.refresh_token !== seen.refresh_token;
  const isLater = stored === undefined || !next || stored.expires_at >= next.expires_at;
  if (isOther && isLater) return;
  await saveLogin(file, service, next);
}
