/**
 * `writ recover`: an operator decides how a service continues after it stopped appending to its log.
 *
 * Reads the configuration as the service does, from the environment and the configuration file. Requires
 * the credential of an operator, or of two if the configuration has more than one. Credentials
 * are never arguments, because those show in the list of processes.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { type Config, loadConfig } from '../../config/config.ts';
import { entitles } from '../../domain/authority/scope-pattern.ts';
import { createLog } from '../../log.ts';
import { openKeys } from '../../open.ts';
import { system } from '../../platform.ts';
import { createIdentities } from '../../service/authority/identities.ts';
import { createAlarms } from '../../service/core/alarms.ts';
import { signerOf } from '../../service/log/compare-log.ts';
import {
  acceptLoss,
  acceptMissingMark,
  type RecoverOptions,
} from '../../service/log/recover-log.ts';
import { witnessGuard } from '../../service/log/witness.ts';
import { authenticStore } from '../../service/rows/authentic-store.ts';
import { openRowLogs } from '../../service/rows/row-check.ts';
import { demandSeal } from '../../service/rows/row-seal.ts';
import { openMark, openStore } from '../../storage/open.ts';
import { CREDENTIAL_VARIABLE, credentialOf } from '../login/credential.ts';
import { joinedValues } from '../shell/arguments.ts';
import { EXIT_FAILED, EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';

const SECOND_VARIABLE = 'WRIT_CLIENT_SECOND_CREDENTIAL';

const RECOVER_USAGE = `Usage: writ recover --accept-loss
       writ recover --accept-missing-mark

Lets a service append again that stopped because its log does not extend the
last signed checkpoint. Read docs/operating.md first: this command cannot be
undone. It takes the store, the mark, the identities and the keys from the
environment and from the configuration file in the working folder; it needs the
keys to authenticate the revocations.

  --accept-loss          signed entries are lost for good: revokes every token,
                         voids grants, pending requests, bindings,
                         idempotency keys, sessions and consents, and begins
                         a new log whose first entry names the lost head and
                         the surviving one
  --accept-missing-mark  this store is the newest copy, and only its mark is
                         lost: the last checkpoint of the store becomes the mark
  --credential-file <file>         the credential of an operator (scope
                         operator:recover; default: $${CREDENTIAL_VARIABLE})
  --second-credential-file <file>  the credential of a second operator, needed when
                         the configuration names more than one
                         (default: $${SECOND_VARIABLE})
  --help                 this text

Exit status: 0 done, 2 it could not be done.
`;

const OPTIONS = {
  'accept-loss': { type: 'boolean' },
  'accept-missing-mark': { type: 'boolean' },
  'credential-file': { type: 'string' },
  'second-credential-file': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const;

export async function recover(args: readonly string[], io: Io): Promise<number> {
  try {
    const { values } = parseArgs({ args: joinedValues(args, OPTIONS), options: OPTIONS });
    if (values.help) {
      io.out(RECOVER_USAGE);
      return EXIT_OK;
    }
    if (values['accept-loss'] === values['accept-missing-mark']) {
      throw new Error('expected one of --accept-loss and --accept-missing-mark');
    }
    const config = await loadConfig(process.cwd(), {}, io.env);
    const operators = await presentedOperators(config, io, values);
    io.out(await recovered(config, operators, values['accept-loss'] === true));
    return EXIT_OK;
  } catch (error) {
    io.err(`Cannot recover: ${error instanceof Error ? error.message : String(error)}\n`);
    return EXIT_FAILED;
  }
}

interface Operators {
  readonly operator: string;
  readonly confirmedBy?: string;
}

const SCOPE = 'operator:recover';

async function presentedOperators(
  config: Config,
  io: Io,
  files: { 'credential-file'?: string; 'second-credential-file'?: string },
): Promise<Operators> {
  const entitled = config.identities.filter(({ scopes }) =>
    scopes.some((scope) => entitles(scope, SCOPE)),
  );
  const known = new Set(entitled.map(({ principal }) => principal));
  if (known.size === 0) {
    const hint = 'identities that a program gives itself are not known here';
    throw new Error(`no identity of the configuration has the scope "${SCOPE}"; ${hint}`);
  }
  const identities = createIdentities({ identities: entitled, entitlements: [] }, system);
  const principalOf = async (file: string | undefined, variable: string) => {
    const credential = credentialOf(file, {
      ...io,
      env: { [CREDENTIAL_VARIABLE]: io.env[variable] },
    });
    const found = await identities.identify(credential);
    if (found) return found.principal;
    throw new Error(`the credential is of no identity with the scope "${SCOPE}"`);
  };
  const operator = await principalOf(files['credential-file'], CREDENTIAL_VARIABLE);
  if (known.size === 1) return { operator };
  const second = files['second-credential-file'];
  if (second === undefined && !io.env[SECOND_VARIABLE]) {
    const need = `set ${SECOND_VARIABLE} or give --second-credential-file`;
    throw new Error(`the configuration names ${known.size} operators, so two must agree; ${need}`);
  }
  const confirmedBy = await principalOf(second, SECOND_VARIABLE);
  if (confirmedBy === operator) throw new Error(`both credentials are those of ${operator}`);
  return { operator, confirmedBy };
}

async function recovered(config: Config, operators: Operators, isLoss: boolean): Promise<string> {
  const log = createLog(config.log_level);
  const keyring = openKeys(config, log, system);
  const opened = await openStore(config.store, { create: false });
  const logs = await openRowLogs(opened);
  const authority = { rows: keyring.rows, alarms: createAlarms(log), logs };
  const store = authenticStore(opened, authority);
  const isMarked = config.mark !== undefined && config.mark !== 'witness';
  const mark = isMarked ? await openMark(config.mark as string) : undefined;
  const [first] = config.witnesses;
  const guard =
    config.mark === 'witness' && first
      ? witnessGuard({ store, platform: system }, first)
      : undefined;
  try {
    await demandSeal(store, keyring.rows);
    const signer = signerOf(keyring, config.store);
    const opening = { store, platform: system, unchecked: opened, mark, guard, signer };
    const parts: RecoverOptions = { ...opening, ...operators };
    return isLoss ? await acceptLossAndReport(parts) : await acceptMarkAndReport(parts);
  } finally {
    await mark?.close();
    await store.close();
    keyring.close();
  }
}

async function acceptLossAndReport(parts: RecoverOptions): Promise<string> {
  const { logId, surviving, lost, voided } = await acceptLoss(parts);
  const signed = lost.entry_count === undefined ? 'an unknown number' : `${lost.entry_count}`;
  return [
    `A new log begins: ${logId}`,
    `Entries that survive in the log before: ${surviving}; signed: ${signed}`,
    `Void: ${voided} root tokens and pending requests, every grant, binding, idempotency key, session and consent`,
    'Services append again within seconds; calls that were open are closed as indeterminate\n',
  ].join('\n');
}

async function acceptMarkAndReport(parts: RecoverOptions): Promise<string> {
  const { logId } = await acceptMissingMark(parts);
  return `The log ${logId} has its mark again; services append again within seconds\n`;
}
