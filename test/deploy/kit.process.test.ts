/**
 * The files of deploy/: each parses, names only what exists, and the tool that reads it accepts it where that tool is
 * installed or can be.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'vitest';
import { parse } from 'yaml';
import { configOf } from '../../src/config/config.ts';
import { canInstall, findProgram, installPackages } from '../support/debian.ts';
import { temporaryFolder } from '../support/ends.ts';
import { deployed, REPOSITORY } from './files.ts';

/** Only for a download of packages. */
const PATIENT = { timeout: 600_000 };

/** Out of 100: what `systemd-analyze security` may find at most. Most units of Debian have above 90. */
const EXPOSURE_MAX = 15;

const run = promisify(execFile);

async function systemdAnalyze(): Promise<string | undefined> {
  const name = ['systemd-analyze'];
  if (!findProgram(name) && canInstall()) await installPackages('systemd').catch(() => undefined);
  return findProgram(name);
}

test(
  'deploy/writ.service is a unit that systemd accepts, and that exposes little',
  PATIENT,
  async () => {
    const unit = join(temporaryFolder(), 'writ.service');
    const program = deployed('writ.service').replace('/usr/bin/node', process.execPath);
    writeFileSync(unit, program);
    const analyze = await systemdAnalyze();
    if (analyze === undefined) {
      process.stderr.write('deploy/writ.service was not verified: there is no systemd-analyze\n');
      return;
    }

    const verified = await run(analyze, ['verify', unit]);
    const options = ['security', '--offline=true', `--threshold=${EXPOSURE_MAX}`, '--no-pager'];
    const { stdout } = await run(analyze, [...options, unit]);

    assert.equal(verified.stderr.trim(), '');
    assert.match(stdout, /Overall exposure level/);
  },
);

test('deploy/writ.service gives a stop more time than the service takes', () => {
  const unit = deployed('writ.service');
  const { stop_delay_seconds, stop_grace_seconds } = configOf(
    { host: '0.0.0.0', mark: '/srv/mark/mark.db' },
    '.',
  );
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);

  // src/open.ts: ten seconds after the grace the process ends by itself.
  assert.ok(seconds > stop_delay_seconds + stop_grace_seconds + 10);
  assert.match(unit, /^Restart=on-failure$/m);
  assert.doesNotMatch(unit, /^MemoryDenyWriteExecute/m);
});

interface Compose {
  readonly services: Record<
    string,
    {
      build?: { context: string; dockerfile: string };
      volumes?: string[];
      secrets?: string[];
      depends_on?: Record<string, unknown>;
      environment?: Record<string, string>;
      stop_grace_period?: string;
      read_only?: boolean;
    }
  >;
  readonly secrets: Record<string, { file: string }>;
  readonly volumes: Record<string, unknown>;
}

/** A volume, a file of deploy/, or a secret that the operator makes. */
function isThere(mount: string, volumes: Compose['volumes']): boolean {
  const [from = ''] = mount.split(':');
  if (from.startsWith('./secrets/')) return true;
  return from.startsWith('.') ? existsSync(join(REPOSITORY, 'deploy', from)) : from in volumes;
}

test('deploy/compose.yaml names only what exists, and keeps secrets in files', () => {
  const text = deployed('compose.yaml');
  const { services, secrets, volumes } = parse(text, { merge: true }) as Compose;

  for (const [name, { build, volumes: mounts = [], ...service }] of Object.entries(services)) {
    if (build) assert.ok(existsSync(join(REPOSITORY, 'deploy', build.context, build.dockerfile)));
    for (const secret of service.secrets ?? []) assert.ok(secrets[secret], `${name}: ${secret}`);
    for (const other of Object.keys(service.depends_on ?? {})) assert.ok(services[other]);
    for (const mount of mounts) assert.ok(isThere(mount, volumes), `${name} mounts "${mount}"`);
    const given = Object.entries(service.environment ?? {}).map(
      ([key, value]) => `${key}=${value}`,
    );
    assert.doesNotMatch(
      given.join(' '),
      /PASSWORD=|:\/\/\w+:/,
      `${name} has a secret in its environment`,
    );
  }
  const replicas = ['writ-1', 'writ-2'].map((name) => services[name]);
  for (const replica of replicas) {
    assert.equal(replica?.read_only, true);
    assert.equal(replica?.stop_grace_period, '45s');
  }
  assert.notEqual(services.db?.volumes?.[0], services['mark-db']?.volumes?.[0]);
});

test('deploy/Dockerfile copies and runs only what exists, as a user without rights', () => {
  const text = deployed('Dockerfile');
  const lines = text.replaceAll('\\\n', ' ').split('\n');
  const of = (word: string) => lines.filter((line) => line.startsWith(`${word} `));

  for (const line of of('COPY').filter((each) => each.includes('--from=build'))) {
    const [, , path = ''] = line.split(/\s+/);
    const made = normalize(path.replace('/build/', ''));
    assert.ok(existsSync(join(REPOSITORY, made)), `"${made}" does not exist`);
  }
  const command = JSON.parse(of('CMD')[0]?.slice('CMD '.length) ?? '[]') as string[];
  assert.ok(existsSync(join(REPOSITORY, command.at(-1) ?? '')), 'the program of the last line');
  const flags = command.filter((word) => word.startsWith('--'));
  const { scripts } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
  assert.ok(flags.every((flag) => scripts.start.includes(flag)));
  assert.match(of('RUN')[0] ?? '', /scripts\/run\.mjs build/);
  assert.equal(of('USER').at(-1), 'USER 10001:10001');
  assert.ok(lines.some((line) => line.startsWith('HEALTHCHECK ')));
  assert.doesNotMatch(text, /PASSWORD|_KEYS=|SECRET/);
});

test('deploy/Dockerfile.dockerignore lets in what the build reads, and no store and no key', () => {
  const lines = deployed('Dockerfile.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const admitted = lines.slice(1).map((line) => line.slice(1));

  assert.equal(lines[0], '*');
  assert.ok(lines.slice(1).every((line) => line.startsWith('!')));
  for (const path of admitted) assert.ok(existsSync(join(REPOSITORY, path)), path);
  assert.deepEqual(
    admitted.filter((path) => /\.writ|\.git|node_modules|secret/.test(path)),
    [],
  );
});

test('deploy/writ.config.mjs reads secrets from files and leaves out what has none', async () => {
  const folder = temporaryFolder();
  const program = `import(${JSON.stringify(join(REPOSITORY, 'deploy/writ.config.mjs'))})
    .then(({ default: settings }) => console.log(JSON.stringify(settings)))`;
  const settingsIn = async (environment: Record<string, string>) => {
    const { stdout } = await run(process.execPath, ['-e', program], {
      env: { PATH: process.env.PATH, CREDENTIALS_DIRECTORY: folder, ...environment },
    });
    return JSON.parse(stdout);
  };
  const without = await settingsIn({});
  writeFileSync(join(folder, 'database_password'), 'a/b@c#d\n');
  writeFileSync(join(folder, 'identities.json'), '[]');

  const given = await settingsIn({
    DATABASE_HOST: 'bouncer:6432',
    DATABASE_OPTIONS: 'prepared_statements=off',
  });

  assert.deepEqual(without, { identities: [] });
  const store = 'postgres://writ:a%2Fb%40c%23d@bouncer:6432/writ?prepared_statements=off';
  assert.deepEqual(given, { store, identities: [] });
  assert.equal(configOf(given, folder).store, store);
});

test('deploy/haproxy.cfg decodes the path before it compares it, as the others do', () => {
  assert.match(deployed('haproxy.cfg'), /return status 404 if \{ path,url_dec \/metrics \}/);
});

for (const name of ['nginx.conf', 'haproxy.cfg', 'Caddyfile']) {
  test(`deploy/${name} keeps metrics inside, and waits longer than the longest decision`, () => {
    const text = deployed(name);
    const wait = /(?:proxy_read_timeout|timeout server|response_header_timeout) (\d+)s/.exec(text);

    assert.match(text, /\/metrics/);
    assert.ok(Number(wait?.[1]) > 60, basename(name));
    assert.match(text, /writ-1:8420[\s\S]*writ-2:8420/);
  });
}
