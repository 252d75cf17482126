/**
 * The configuration: every fault that would stop a start, and values that are allowed and unwise.
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
import { type Finding, faultFinding, okFinding, reasonOf, warn } from './finding.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const WHAT = 'configuration';
const OTHERS_READ = 0o044;

/** Without a configuration, nothing else can be checked. */
export async function checkConfig(
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
