/**
 * Commands at the store itself: they use the store, the keys and the mark of the configuration in the working
 * folder, beside a service that may run.
 *
 * @module
 */

import { type Config, loadConfig } from '../../config/config.ts';
import { absoluteStore } from '../../config/log.ts';
import type { Identity } from '../../config/parts.ts';
import { createLog } from '../../log.ts';
import { openKeys } from '../../open.ts';
import { system } from '../../platform.ts';
import { type IdentitySources, isPerson } from '../../service/authority/identities.ts';
import { type IdentityParts, livingIdentities } from '../../service/authority/stored-identities.ts';
import {
  type ComparedLog,
  compareLog,
  logSigner,
  seenElsewhere,
} from '../../service/log/compare-log.ts';
import { createAlarms } from '../../service/operations/alarms.ts';
import { STORE_COMMAND } from '../../service/people/invitations.ts';
import { openRowLogs } from '../../service/rows/row-check.ts';
import { demandSeal } from '../../service/rows/row-seal.ts';
import { serviceStore } from '../../service/rows/service-store.ts';
import { openStore } from '../../storage/open.ts';
import type { Store } from '../../storage/port/store.ts';
import type { Io } from '../shell/command.ts';
import { value } from '../shell/options.ts';
import { withAnchor } from './mark-state.ts';

export const STORE_OPTION = {
  store: value('<url>', 'sqlite:<file> or postgres://… (default: that of the configuration)'),
} as const;

export const FOLDER_OPTION = {
  folder: value('<path>', 'the key folder (default: that of the configuration)'),
} as const;

/** What every command at a store starts with: the configuration of the working folder, in which `--store` replaces the store. */
export async function configAt(io: Io, store?: string): Promise<Config> {
  const folder = process.cwd();
  const config = await loadConfig(folder, {}, io.env);
  return store === undefined ? config : { ...config, store: absoluteStore(store, folder) };
}

/** The key folder that every command at keys uses. */
export async function keyFolderAt(io: Io, folder?: string): Promise<string> {
  if (folder !== undefined) return folder;
  const { keys, token_keys } = await configAt(io);
  if (token_keys === undefined) return keys;
  throw new Error('the keys are in the environment, and there is no folder; give --folder');
}

/** The open store, whose rows are authenticated. */
export interface AtStore extends IdentityParts {
  /** The same store without the check of its rows. */
  readonly unchecked: Store;
  /** Opens what the log is compared with, for as long as `act` runs. */
  anchored<Result>(act: (log: ComparedLog) => Promise<Result>): Promise<Result>;
}

/** Opens the store, runs `act` and closes the store again. */
export async function atStore<Result>(
  config: Config,
  act: (parts: AtStore) => Promise<Result>,
): Promise<Result> {
  const log = createLog(config.log_level);
  const keyring = openKeys(config, log, system);
  try {
    const opened = await openStore(config.store, { create: false });
    try {
      await demandSeal(opened, keyring.rows);
      const logs = await openRowLogs(opened);
      const authority = { rows: keyring.rows, alarms: createAlarms(log), logs };
      const store = serviceStore(opened, authority);
      const signer = logSigner(keyring, config.store);
      return await act({
        store,
        platform: system,
        unchecked: opened,
        anchored: (run) =>
          withAnchor(config, store, true, (anchor) => run({ store, signer, ...anchor })),
      });
    } finally {
      await opened.close();
    }
  } finally {
    keyring.close();
  }
}

/**
 * Rejects when the log does not extend what was signed: nothing may be appended to it then. A store without a
 * checkpoint is of a service that does not seal its log, so it has no mark.
 */
async function demandGrowth({ store, anchored }: AtStore): Promise<void> {
  if (!(await store.lastCheckpoint())) return;
  await anchored(async (log) => {
    const compared = await compareLog(log);
    if (compared) await seenElsewhere(log, compared);
  });
}

/** The actor in the entries of a command at the store. The command knows the store, not the service. */
export const STORE_ACTOR = { principal: STORE_COMMAND, root_principal: STORE_COMMAND };

/** Who gives what the options of a command name. */
export const STORE_MAKER = { principal: STORE_COMMAND, caller_class: 'default' };

/** Runs a change at the store, whose log must extend what was signed. */
export async function changeStore<Result>(
  io: Io,
  change: (parts: AtStore, config: Config) => Promise<Result>,
): Promise<Result> {
  const config = await configAt(io);
  return atStore(config, async (parts) => {
    await demandGrowth(parts);
    const result = await change(parts, config);
    await parts.store.sequence();
    return result;
  });
}

/** The living identities in the store that have a key, in the form of configured ones. */
export function storedIdentities(config: Config): Promise<Identity[]> {
  return atStore(config, async (parts) => {
    const living = await livingIdentities(parts);
    return living
      .filter((identity) => !isPerson(identity))
      .map(({ principal, key_sha256, scopes, subjects, ...rest }) => ({
        principal,
        key_sha256,
        scopes: [...scopes],
        subjects: [...subjects],
        demo: false,
        caller_class: rest.caller_class,
        caller_classes: [...rest.caller_classes],
      }));
  });
}

/** For a list of identities that has the stored ones already. */
export const NO_STORED: IdentitySources['stored'] = {
  findIdentity: async () => undefined,
  identitiesOf: async () => [],
};
