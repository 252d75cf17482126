/**
 * `writ doctor`: checks everything that a service needs, and says what to do about each fault.
 *
 * Works while the service does not run. Prints no secret: addresses without users and passwords, and names of
 * settings without their values.
 *
 * @module
 */

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { openHost } from '../../address/host.ts';
import {
  CONFIG_FILE_VARIABLE,
  type Config,
  ConfigError,
  ignoredVariables,
  loadConfig,
} from '../../config/config.ts';
import { variableAdvice } from '../../config/variables.ts';
import { printable } from '../../domain/wire/printable.ts';
import { packageManifest } from '../../package.ts';
import { PROTOCOL } from '../../protocol/trust.ts';
import { BACKUP_FORMAT } from '../../storage/backup/file.ts';
import { SCHEMA_VERSIONS } from '../../storage/open.ts';
import { type Io, leaf } from '../shell/command.ts';
import { EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { value } from '../shell/options.ts';
import { JSON_OPTION, printJson, type Style, startProgress, styled } from '../shell/output.ts';
import { type Finding, faultFinding, type Level, okFinding, reasonOf, warn } from './finding.ts';
import { checkKeys } from './keys-check.ts';
import { checkReach, checkService } from './reach-check.ts';
import { checkStorage } from './store-check.ts';

export const doctorCommand = leaf({
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
    ['writ doctor --service http://127.0.0.1:8420 --json', 'with a running service, for a program'],
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

type Environment = Readonly<Record<string, string | undefined>>;

const WHAT = 'configuration';
const OTHERS_READ = 0o044;

/** Without a configuration, nothing else can be checked. */
async function checkConfig(
  folder: string,
  environment: Environment,
): Promise<{ config?: Config; findings: Finding[] }> {
  try {
    const config = await loadConfig(folder, {}, environment);
    const unwise = [
      ...unwiseValues(config),
      ...readableFile(config, folder, environment),
      ...ignored(environment),
    ];
    return { config, findings: unwise.length > 0 ? unwise : [okFinding(WHAT, 'no fault')] };
  } catch (error) {
    const lines =
      error instanceof ConfigError ? error.message.split('\n').slice(1) : [reasonOf(error)];
    return {
      findings: lines.map((line) => faultFinding(WHAT, line.trim(), 'see docs/configuration.md')),
    };
  }
}

function unwiseValues(config: Config): Finding[] {
  const { identities, public_url, log_level, store } = config;
  const plain = identities.filter(({ key, demo }) => key !== undefined && !demo);
  const demo = identities.filter((identity) => identity.demo);
  const isPlainText = public_url?.startsWith('http:') && openHost(config) !== undefined;
  return [
    ...plain.map(({ principal }) =>
      warn(WHAT, `the credential of ${principal} is in the file`, 'give key_sha256 instead of key'),
    ),
    ...demo.map(({ principal }) =>
      warn(WHAT, `${principal} has a public demo credential`, 'give it a key of its own'),
    ),
    ...(isPlainText
      ? [warn(WHAT, 'public_url has no TLS, so credentials can be read on the way', 'use https')]
      : []),
    ...(log_level === 'silent' || log_level === 'fatal'
      ? [warn(WHAT, `log_level "${log_level}" hides alarms`, 'set WRIT_LOG_LEVEL=info')]
      : []),
    ...(store === 'memory:'
      ? [warn(WHAT, 'the store is in memory and ends with the process', 'set WRIT_STORE')]
      : []),
  ];
}

function ignored(environment: Environment): Finding[] {
  const names = ignoredVariables(environment);
  if (names.length === 0) return [];
  return [warn(WHAT, `no settings, and ignored: ${names.join(', ')}`, variableAdvice(names))];
}

/** A file with credentials that other users of the machine can read. */
function readableFile(config: Config, folder: string, environment: Environment): Finding[] {
  const named = environment[CONFIG_FILE_VARIABLE];
  const hasSecret = config.identities.some(({ key, demo }) => key !== undefined && !demo);
  if (!named || !hasSecret) return [];
  const path = resolve(folder, named);
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & OTHERS_READ) === 0) return [];
  return [warn(WHAT, `others can read "${path}", which has credentials`, `chmod 600 "${path}"`)];
}
