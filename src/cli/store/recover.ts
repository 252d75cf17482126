/**
 * `writ recover`: an operator decides how a service continues after it stopped appending to its log.
 *
 * Reads the configuration as the service does, from the environment and the configuration file. Requires
 * the credential of an operator, or of two if the configuration has more than one. Credentials
 * are never arguments, because those show in the list of processes.
 *
 * @module
 */

import type { Config } from '../../config/config.ts';
import { entitles } from '../../domain/authority/scope-pattern.ts';
import { system } from '../../platform.ts';
import { createIdentities } from '../../service/authority/identities.ts';
import {
  acceptLoss,
  acceptMissingMark,
  type RecoverOptions,
} from '../../service/log/recover-log.ts';
import { CREDENTIAL_VARIABLE, credentialOf } from '../login/session.ts';
import { type Io, leaf } from '../shell/command.ts';
import { CommandFault, EXIT_CREDENTIAL } from '../shell/exit.ts';
import { flag, type Given, value } from '../shell/options.ts';
import { JSON_OPTION, printJson, printLine, startProgress } from '../shell/output.ts';
import { atStore, configAt, NO_STORED, storedIdentities } from './at-store.ts';

const SECOND_VARIABLE = 'WRIT_CLIENT_SECOND_CREDENTIAL';

const OPTIONS = {
  'accept-loss': flag(
    'signed entries are lost for good: revokes every token, voids grants, pending requests, bindings, idempotency keys, sessions, consents and identities in the store, and begins a new log whose first entry names the lost head and the surviving one',
  ),
  'accept-missing-mark': flag(
    'this store is the newest copy, and only its mark is lost: the last checkpoint of the store becomes the mark',
  ),
  'credential-file': value(
    '<file>',
    `the credential of an operator (scope operator:recover; default: $${CREDENTIAL_VARIABLE})`,
  ),
  'second-credential-file': value(
    '<file>',
    `the credential of a second operator, needed when there are more than one (default: $${SECOND_VARIABLE})`,
  ),
  ...JSON_OPTION,
} as const;

export const recoverCommand = leaf({
  name: 'recover',
  summary: 'let a service append again after its log was rolled back or its mark lost',
  about:
    'Lets a service append again that stopped because its log does not extend the last signed checkpoint. Read docs/operating.md first: this command cannot be undone. It takes the store, the mark, the identities and the keys from the environment and from the configuration file in the working folder; it needs the keys to authenticate the revocations.',
  options: OPTIONS,
  examples: [
    ['writ recover --accept-loss --credential-file operator.key', 'signed entries are lost'],
    ['writ recover --accept-missing-mark', 'only the mark is lost'],
  ],
  cannot: 'recover',
  async run(given, io) {
    if (given['accept-loss'] === given['accept-missing-mark']) {
      throw new Error('expected one of --accept-loss and --accept-missing-mark');
    }
    const config = await configAt(io);
    const operators = await presentedOperators(config, io, given);
    const progress = startProgress(io);
    try {
      progress.say('comparing the log with what was signed');
      const done = await recovered(config, operators, given['accept-loss']);
      progress.end();
      if (given.json) printJson(io, done);
      else for (const line of linesOf(done)) printLine(io, line);
    } finally {
      progress.end();
    }
  },
});

interface Operators {
  readonly operator: string;
  readonly confirmedBy?: string;
}

const SCOPE = 'operator:recover';

async function presentedOperators(
  config: Config,
  io: Io,
  files: Given<typeof OPTIONS>,
): Promise<Operators> {
  const all = [...config.identities, ...(await storedIdentities(config))];
  const entitled = all.filter(({ scopes }) => scopes.some((scope) => entitles(scope, SCOPE)));
  const known = new Set(entitled.map(({ principal }) => principal));
  if (known.size === 0) {
    const hint = 'identities that a program gives itself are not known here';
    throw new Error(
      `no identity of the configuration or of the store has the scope "${SCOPE}"; ${hint}`,
    );
  }
  const identities = createIdentities(
    { identities: entitled, entitlements: [] },
    { platform: system, stored: NO_STORED },
  );
  const principalOf = async (file: string | undefined, variable: string) => {
    const credential = credentialOf(file, {
      ...io,
      env: { [CREDENTIAL_VARIABLE]: io.env[variable] },
    });
    const found = await identities.identify(credential);
    if (found) return found.principal;
    throw new CommandFault(`the credential is of no identity with the scope "${SCOPE}"`, {
      exit: EXIT_CREDENTIAL,
    });
  };
  const operator = await principalOf(files['credential-file'], CREDENTIAL_VARIABLE);
  if (known.size === 1) return { operator };
  const second = files['second-credential-file'];
  if (second === undefined && !io.env[SECOND_VARIABLE]) {
    const need = `set ${SECOND_VARIABLE} or give --second-credential-file`;
    const why = `there are ${known.size} operators, so two must agree; ${need}`;
    throw new CommandFault(why, { exit: EXIT_CREDENTIAL });
  }
  const confirmedBy = await principalOf(second, SECOND_VARIABLE);
  if (confirmedBy === operator) {
    throw new CommandFault(`both credentials are those of ${operator}`, { exit: EXIT_CREDENTIAL });
  }
  return { operator, confirmedBy };
}

function recovered(config: Config, operators: Operators, isLoss: boolean): Promise<Done> {
  return atStore(config, ({ anchored, platform, unchecked }) =>
    anchored((log) => {
      const parts: RecoverOptions = { ...log, platform, unchecked, ...operators };
      return isLoss ? lossAccepted(parts) : markAccepted(parts);
    }),
  );
}

/** What was done, as `--json` prints it. */
type Done =
  | {
      readonly accepted: 'loss';
      readonly log: string;
      readonly surviving_entries: number;
      /** Null when the number of signed entries is unknown. */
      readonly signed_entries: number | null;
      /** Root tokens and pending requests. */
      readonly voided: number;
    }
  | { readonly accepted: 'missing_mark'; readonly log: string };

async function lossAccepted(parts: RecoverOptions): Promise<Done> {
  const { logId, surviving, lost, voided } = await acceptLoss(parts);
  const signed_entries = lost.entry_count ?? null;
  return { accepted: 'loss', log: logId, surviving_entries: surviving, signed_entries, voided };
}

async function markAccepted(parts: RecoverOptions): Promise<Done> {
  const { logId } = await acceptMissingMark(parts);
  return { accepted: 'missing_mark', log: logId };
}

function linesOf(done: Done): string[] {
  if (done.accepted === 'missing_mark') {
    return [`The log ${done.log} has its mark again; services append again within seconds`];
  }
  const signed = done.signed_entries ?? 'an unknown number';
  return [
    `A new log begins: ${done.log}`,
    `Entries that survive in the log before: ${done.surviving_entries}; signed: ${signed}`,
    `Void: ${done.voided} root tokens and pending requests, every grant, binding, idempotency key, session, consent and identity in the store`,
    'Services append again within seconds; calls that were open are closed as indeterminate',
  ];
}
