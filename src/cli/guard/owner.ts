/**
 * The owner of a guard on one's own machine: a person with a key in a file, where no other identity is configured.
 *
 * The key is made at the first start and never printed. Other machines never reach such a guard: a key in a file of
 * one user is no way to know the people of a company.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { isReachedHereOnly } from '../../address/host.ts';
import type { Config, GivenSettings } from '../../config/config.ts';
import { makeFolder } from '../../folder.ts';
import { readPrivately, writeNewFile } from '../../keyring/key-file.ts';

const OWNER = 'human:owner@localhost';

const KEY_FILE = 'guard-owner.key';

/** In bytes: as hard to guess as the keys that sign. */
const KEY_BYTES = 32;

export interface Owner {
  readonly principal: string;
  readonly key: string;
  readonly file: string;
}

/** The owner; `undefined` where the configuration names people. Throws where other machines reach the service. */
export function ownerOf(config: Config): Owner | undefined {
  if (config.identities.length > 0 || config.oidc.length > 0) return undefined;
  if (!isReachedHereOnly(config)) {
    const ways = 'configure "identities" or an identity provider (docs/configuration.md)';
    throw new Error(`no person is configured, and other machines reach this service; ${ways}`);
  }
  const file = join(config.data, KEY_FILE);
  makeFolder(config.data);
  writeNewFile(config.data, KEY_FILE, `${randomBytes(KEY_BYTES).toString('base64url')}\n`);
  return { principal: OWNER, key: keyIn(file), file };
}

/** What the owner may do: everything at this guard, and pass on what its tools need. */
export function ownerIdentity(
  { principal, key }: Owner,
  guard: { readonly id: string; readonly scopes: readonly string[] },
): NonNullable<GivenSettings['identities']>[number] {
  const own = [`${guard.id}.*`, 'approver:*', 'operator:*'];
  return {
    principal,
    key,
    scopes: [...own, ...guard.scopes.filter((scope) => !scope.startsWith(`${guard.id}.`))],
    subjects: ['agent:*'],
    caller_class: 'internal',
    caller_classes: ['automated_agent', 'default'],
  };
}

function keyIn(file: string): string {
  const read = readPrivately(file);
  if ('fault' in read) throw new Error(`Cannot use "${file}": ${read.fault}`);
  const key = new TextDecoder().decode(read.bytes).trim();
  if (/^[A-Za-z0-9_-]{43}$/.test(key)) return key;
  throw new Error(`Cannot use "${file}": it has no key; remove it, and the next start makes one`);
}
