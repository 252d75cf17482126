/**
 * Settings of a deployed service. Secrets come from files: from systemd's credentials, from /run/secrets in a
 * container, or from the folder that CREDENTIALS_DIRECTORY names. A secret whose file is missing is not used.
 *
 * Copy this file beside the service and edit it. Settings of the environment (docs/configuration.md) override it.
 *
 *   identities.json     who may get tokens: a JSON array as "identities" in docs/configuration.md, with key_sha256
 *   database_password   of the role "writ" on DATABASE_HOST; without it the store is a file in WRIT_DATA
 *   mark_password       of the role "writ" on MARK_HOST, where the mark of the log lies; else WRIT_MARK names it
 *   token_keys, log_keys, row_keys   keys of replicas on several machines; without them the folder WRIT_KEYS
 */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const { CREDENTIALS_DIRECTORY, DATABASE_HOST, DATABASE_OPTIONS, MARK_HOST } = process.env;
const folder = CREDENTIALS_DIRECTORY ?? '/run/secrets';

/** @param {string} name */
function secret(name) {
  const path = join(folder, name);
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
}

/**
 * @param {string} name
 * @param {string} host
 * @param {string} database
 */
function database(name, host, database) {
  const password = secret(name);
  if (password === undefined) return undefined;
  const options = DATABASE_OPTIONS ? `?${DATABASE_OPTIONS}` : '';
  return `postgres://writ:${encodeURIComponent(password)}@${host}/${database}${options}`;
}

const settings = {
  store: database('database_password', DATABASE_HOST ?? 'db', 'writ'),
  mark: database('mark_password', MARK_HOST ?? 'mark-db', 'writ_mark'),
  token_keys: secret('token_keys'),
  log_keys: secret('log_keys'),
  row_keys: secret('row_keys'),
  identities: JSON.parse(secret('identities.json') ?? '[]'),
};

// A setting that is undefined is left out, so that the environment or the default applies.
// biome-ignore lint/style/noDefaultExport: the service reads the default export.
export default Object.fromEntries(
  Object.entries(settings).filter(([, value]) => value !== undefined),
);
