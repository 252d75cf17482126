/**
 * The keys of the folder: who can read them, how old the signing ones are, which comes next, which are compromised.
 *
 * @module
 */

import { existsSync, statSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { readKeyFolder } from '../../keyring/key-folder.ts';
import { readRowKeys } from '../../keyring/row-keys.ts';
import { KEY_USES, type KeyUse } from '../../keyring/wire.ts';
import { type Finding, faultFinding, okFinding, reasonOf, warn } from './finding.ts';

const DAY_MS = 86_400_000;

/** In days. An older key is not weaker; a rotation that was never done fails when it is needed. */
const AGE_MAX_DAYS = 365;

const OTHERS_ACCESS = 0o077;

export function checkKeys(config: Config, now: number): Finding[] {
  if (config.token_keys !== undefined) return [okFinding('keys', 'in the environment')];
  const { keys: folder } = config;
  if (!existsSync(folder)) {
    return [
      warn('keys', `there is no folder "${folder}"`, 'start the service once, or restore the keys'),
    ];
  }
  const mode = statSync(folder).mode & 0o777;
  const shared =
    (mode & OTHERS_ACCESS) === 0
      ? []
      : [
          faultFinding(
            'keys',
            `others have access to "${folder}" (mode ${mode.toString(8)})`,
            `chmod 700 "${folder}"`,
          ),
        ];
  try {
    return [...shared, ...checkFiles(folder, now)];
  } catch (error) {
    return [
      ...shared,
      faultFinding('keys', reasonOf(error), 'make the folder readable for this user'),
    ];
  }
}

function checkFiles(folder: string, now: number): Finding[] {
  const { files, faults } = readKeyFolder(folder);
  const rows = readRowKeys(folder);
  const broken = [...faults, ...rows.faults].map((text) =>
    faultFinding('keys', text, 'repair it or restore it from a backup; see docs/keys.md'),
  );
  const dated = [...files.values()];
  const signing = KEY_USES.map((use) =>
    checkUse(
      use,
      dated.filter((file) => file.use === use),
      now,
    ),
  );
  const rowDates = rows.rowKeys.states().map(({ since }) => since?.getTime() ?? 0);
  const rowAge = rowDates.length === 0 ? [] : [checkAges('row', rowDates, now)];
  return [...broken, ...signing.flat(), ...rowAge];
}

interface DatedKey {
  readonly signFrom: number;
  readonly compromised: boolean;
  readonly key: { readonly kid: string };
}

function checkUse(use: KeyUse, keys: readonly DatedKey[], now: number): Finding[] {
  if (keys.length === 0) return [];
  const current = keys.filter(({ signFrom }) => signFrom <= now);
  const usable = current.filter(({ compromised }) => !compromised);
  const findings = keys
    .filter(({ compromised }) => compromised)
    .map(({ key }) =>
      warn('keys', `the ${use} key ${key.kid} is compromised`, 'keep its file: it says so'),
    );
  if (usable.length === 0) {
    const advice = `writ keys rotate ${use} --folder <keys> --at-once`;
    return [...findings, faultFinding('keys', `no ${use} key may sign`, advice)];
  }
  const dates = keys.filter(({ compromised }) => !compromised).map(({ signFrom }) => signFrom);
  return [...findings, checkAges(use, dates, now)];
}

function checkAges(use: KeyUse | 'row', dates: readonly number[], now: number): Finding {
  const newest = Math.max(...dates.filter((date) => date <= now));
  const next = Math.min(...dates.filter((date) => date > now));
  const days = Math.floor((now - newest) / DAY_MS);
  const coming = Number.isFinite(next)
    ? `, the next one signs from ${new Date(next).toISOString()}`
    : '';
  const found = `the ${use} key has signed for ${days} days${coming}`;
  if (days <= AGE_MAX_DAYS || coming !== '') return okFinding('keys', found);
  return warn('keys', found, `writ keys rotate ${use} --folder <keys>`);
}
