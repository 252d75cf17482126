/**
 * The files of deploy/ as they are tried here: the same text, with addresses, ports and certificates of this machine.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

/** A certificate of `localhost` for tests, and its key. */
export const CERTIFICATE = join(REPOSITORY, 'test/sign-in/localhost-cert.pem');
export const CERTIFICATE_KEY = join(REPOSITORY, 'test/sign-in/localhost-key.pem');

export function deployed(name: string): string {
  return readFileSync(join(REPOSITORY, 'deploy', name), 'utf8');
}

/** Replaces each text. Throws when one is not there, so that what is tried stays what is shipped. */
function replaced(text: string, changes: readonly (readonly [string, string])[]): string {
  let changed = text;
  for (const [from, to] of changes) {
    if (!changed.includes(from)) throw new Error(`Cannot try the file: it has no "${from}"`);
    changed = changed.replaceAll(from, to);
  }
  return changed;
}

export interface ProxyPlace {
  /** Where the proxy listens. */
  readonly port: number;
  /** Where it redirects from, without TLS. */
  readonly plainPort: number;
  /** The ports of the replicas. */
  readonly replicas: readonly number[];
  readonly folder: string;
}

/** The site of deploy/nginx.conf inside a main file of its own. The replicas at these ports get no request. */
export function nginxFile(place: ProxyPlace, down: ReadonlySet<number> = new Set()): string {
  const line = (name: string) => `    server ${name} max_fails=1 fail_timeout=5s;\n`;
  const servers = place.replicas
    .filter((port) => !down.has(port))
    .map((port) => line(`127.0.0.1:${port}`));
  const site = replaced(deployed('nginx.conf'), [
    [line('writ-1:8420') + line('writ-2:8420'), servers.join('')],
    ['listen 80;', `listen 127.0.0.1:${place.plainPort};`],
    ['listen 443 ssl;', `listen 127.0.0.1:${place.port} ssl;`],
    ['/etc/nginx/tls/desk.pem', CERTIFICATE],
    ['/etc/nginx/tls/desk.key', CERTIFICATE_KEY],
    ['server_name desk.example.com', 'server_name localhost'],
  ]);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(place.folder, name)};`)
    .join('\n');
  return `pid ${join(place.folder, 'nginx.pid')};
error_log stderr warn;
worker_processes 1;
events { worker_connections 1024; }
http {
access_log off;
${paths}
${site}
}
`;
}

export function haproxyFile(place: ProxyPlace, socket: string, pem: string): string {
  const names = place.replicas.map(
    (port, index) => `    server writ-${index + 1} 127.0.0.1:${port}\n`,
  );
  return replaced(deployed('haproxy.cfg'), [
    ['    user haproxy\n    group haproxy\n', ''],
    ['maxconn 20000', 'maxconn 500'],
    ['/run/haproxy/admin.sock mode 660', `${socket} mode 600`],
    ['bind :80', `bind 127.0.0.1:${place.plainPort}`],
    ['bind :443 ssl crt /etc/haproxy/tls/desk.pem', `bind 127.0.0.1:${place.port} ssl crt ${pem}`],
    ['    server writ-1 writ-1:8420\n    server writ-2 writ-2:8420\n', names.join('')],
  ]);
}

export function caddyFile(place: ProxyPlace): string {
  const upstreams = place.replicas.map((port) => `127.0.0.1:${port}`).join(' ');
  return replaced(deployed('Caddyfile'), [
    ['{\n\tservers {', '{\n\tadmin off\n\tauto_https off\n\tservers {'],
    [
      'desk.example.com {',
      `https://localhost:${place.port} {\n\tbind 127.0.0.1\n\ttls ${CERTIFICATE} ${CERTIFICATE_KEY}`,
    ],
    ['reverse_proxy writ-1:8420 writ-2:8420', `reverse_proxy ${upstreams}`],
  ]);
}

export interface PoolerPlace {
  readonly port: number;
  readonly databasePort: number;
  readonly folder: string;
  /** True from PgBouncer 1.21 on. */
  readonly hasPrepared: boolean;
}

export function pgbouncerFile({ port, databasePort, folder, hasPrepared }: PoolerPlace): string {
  return replaced(deployed('pgbouncer.ini'), [
    ['host=db port=5432', `host=127.0.0.1 port=${databasePort}`],
    ['host=mark-db port=5432', `host=127.0.0.1 port=${databasePort}`],
    ['listen_port = 6432', `listen_port = ${port}`],
    // The test's server asks for no password.
    ['auth_type = scram-sha-256', 'auth_type = trust'],
    ['/etc/pgbouncer/userlist.txt', join(folder, 'userlist.txt')],
    ...(hasPrepared ? [[';max_prepared_statements', 'max_prepared_statements'] as const] : []),
  ]);
}
