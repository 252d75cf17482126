/**
 * `writ doctor`: checks everything that a service needs, and says what to do about each fault.
 *
 * Works while the service does not run. Prints no secret: addresses without users and passwords, and names of
 * settings without their values.
 *
 * @module
 */

import { printable } from '../../domain/wire/printable.ts';
import { packageManifest } from '../../package.ts';
import { PROTOCOL } from '../../protocol/trust.ts';
import { BACKUP_FORMAT } from '../../storage/backup/file.ts';
import { SCHEMA_VERSIONS } from '../../storage/open.ts';
import { type Leaf, leaf } from '../shell/command.ts';
import { EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';
import { value } from '../shell/options.ts';
import { JSON_OPTION, printJson, type Style, styled } from '../shell/output.ts';
import { startProgress } from '../shell/progress.ts';
import { checkConfig } from './config-check.ts';
import { type Finding, type Level, okFinding } from './finding.ts';
import { checkKeys } from './keys-check.ts';
import { checkReach, checkService } from './reach-check.ts';
import { checkStorage } from './store-check.ts';

export function doctorCommand(): Leaf {
  return leaf({
    name: 'doctor',
    summary: 'check configuration, store, keys, clock, mark and what must be reachable',
    about: `Checks everything that a service needs, from the environment and the configuration file in the working folder: versions, configuration, store, free space, keys, clock, mark, identity providers, notification targets and witnesses. With --service or a public URL it also asks the service.

Prints one line for each check. Creates and migrates nothing, and works while the service does not run.`,
    options: {
      service: value('<url>', 'a running service to ask too (default: the public URL)'),
      ...JSON_OPTION,
    },
    examples: [
      ['writ doctor', 'the configuration of the working folder'],
      [
        'writ doctor --service http://127.0.0.1:8420 --json',
        'with a running service, for a program',
      ],
    ],
    exits: [
      [EXIT_OK, 'no fault was found; there may be warnings'],
      [EXIT_FOUND, 'a fault was found'],
      [2, 'the checks could not run'],
    ],
    cannot: 'check',
    async run({ service, json }, io) {
      const progress = startProgress(io);
      progress.say('checking');
      const findings = await findingsOf(service, io);
      progress.end();
      for (const each of findings) {
        if (json) printJson(io, each);
        else printFinding(io, each);
      }
      return findings.some(({ level }) => level === 'fault') ? EXIT_FOUND : EXIT_OK;
    },
  });
}

async function findingsOf(service: string | undefined, io: Io): Promise<Finding[]> {
  const now = Date.now;
  const { config, findings } = await checkConfig(process.cwd(), io.env);
  const address = service ?? config?.public_url;
  const asked =
    address === undefined ? [] : await checkService(address, service !== undefined, now);
  const rest = config
    ? [
        ...(await checkStorage(config, now)),
        ...checkKeys(config, now()),
        ...(await checkReach(config)),
      ]
    : [];
  return [versions(), ...findings, ...rest, ...asked];
}

function versions(): Finding {
  const { sqlite, postgres } = SCHEMA_VERSIONS;
  const schema = `schema ${sqlite} (SQLite) and ${postgres} (PostgreSQL)`;
  const parts = [
    `writ ${packageManifest().version}`,
    `Node ${process.versions.node}`,
    PROTOCOL,
    schema,
    BACKUP_FORMAT,
  ];
  return okFinding('versions', parts.join(', '));
}

const STYLES: Readonly<Record<Level, Style>> = { ok: 'green', warn: 'yellow', fault: 'red' };

const LEVEL_WIDTH = 5;

function printFinding(io: Io, { level, what, found, advice }: Finding): void {
  const shown = styled(io, STYLES[level], level) + ' '.repeat(LEVEL_WIDTH - level.length);
  const rest = advice === undefined ? '' : `  — ${advice}`;
  io.out(`${shown}  ${printable(`${what}: ${found}${rest}`)}\n`);
}
