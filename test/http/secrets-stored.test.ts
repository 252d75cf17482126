/**
 * Credentials of every kind, used rightly and put where they do not belong: none of them is in a row, an entry, a line of
 * the log, a metric or a span afterwards. A secret that a caller sends as a parameter is data, and not meant here.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import { describe, test } from 'vitest';
import { operations } from '../../src/protocol/operations.ts';
import { createTelemetry } from '../../src/telemetry.ts';
import { newKey } from '../identities/desk.ts';
import { delegation, personAt } from '../sign-in/browser.ts';
import { closedAtEnd } from '../support/ends.ts';
import { person } from '../support/person.ts';
import { connectedTo } from '../support/postgres.ts';
import { SQL_PLACES } from '../support/sql-places.ts';
import { type TestService, testService } from '../support/world.ts';

const OWNER = 'canary-owner-key-8d41f0';
const OPERATOR = 'canary-operator-key-8d41f0';
const UNKNOWN = 'canary-unknown-key-8d41f0';

const IDENTITIES = [
  person(OWNER, 'human:owner@example.com', ['travel.*', 'approver:*']),
  person(OPERATOR, 'service:operator', ['operator:*', 'travel.search']),
];

const TRIP = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };

/** Room for a machine that does much else; nothing is concluded from the time. */
const PATIENCE_MS = 120_000;

for (const { name, open } of SQL_PLACES) {
  describe(`stored secrets (${name})`, () => {
    test('no credential is in a row, an entry, a log line, a metric or a span', {
      timeout: PATIENCE_MS,
    }, async () => {
      const place = await open();
      const exporter = new InMemorySpanExporter();
      const telemetry = closedAtEnd(createTelemetry(exporter, 'secrets'));
      const service = await testService({
        store: place.url,
        settings: { identities: IDENTITIES, rate_limits: 'off' },
        tracer: telemetry.tracer,
      });

      const secrets = await used(service);
      for (const secret of Object.values(secrets)) await misplace(service, secret);
      const entries = JSON.stringify(await service.entriesBy({}));
      const metrics = await service.ask('GET', '/metrics', { bearer: OPERATOR });
      await telemetry.flush();
      const spans = exporter.getFinishedSpans();
      const told = spans.map((span) => JSON.stringify([span.name, span.attributes, span.events]));
      await service.close();
      const rows = await rowsOf(place.url);

      // Each sink has something, or its silence would show nothing.
      assert.match(entries, /human:owner@example\.com/);
      assert.match(String(metrics.text), /writ_/);
      assert.ok(told.length > 0);
      assert.ok(service.log.length > 0);
      assert.ok(rows.includes('human:owner@example.com'));
      const sinks = { entries, metrics: String(metrics.text), log: service.log.join('\n'), rows };
      for (const [what, secret] of Object.entries(secrets)) {
        for (const [where, text] of Object.entries({ ...sinks, spans: told.join('\n') })) {
          assert.equal(text.includes(secretPart(secret)), false, `${what} is in ${where}`);
        }
      }
    });
  });
}

/** Uses one credential of each kind as it is meant. */
async function used(service: TestService): Promise<Record<string, string>> {
  const root = await service.issue(OWNER, { scope: ['travel.search'], subject: 'agent:a' });
  const child = await service.delegate(root, { subject: 'agent:b' });
  const { key, key_sha256 } = newKey();
  const added = await service.ask('POST', '/svc/operator/identities', {
    bearer: OPERATOR,
    body: { principal: 'agent:worker', key_sha256, scopes: ['travel.search'] },
  });
  assert.equal(added.status, 200, added.text);
  const owner = personAt(service);
  const given = await delegation(
    service,
    { chosen: ['search_flights'] },
    { person: owner, key: OWNER },
  );
  const byKey = await service.issue(key, { scope: ['travel.search'] });
  for (const token of [root.token, child.token, given.access, byKey.token]) {
    const headers = { 'idempotency-key': 'once' };
    const { status, text } = await service.invoke(token, 'search_flights', TRIP, { headers });
    assert.equal(status, 200, text);
  }
  const cookies = [...owner.cookies].filter(([, value]) => value.length >= 20);
  assert.ok(cookies.length > 0);
  return {
    'a configured key': OWNER,
    'an unknown key': UNKNOWN,
    'a stored key': key,
    'a root token': root.token,
    'a child token': child.token,
    'an access token': given.access,
    'a refresh token': given.refresh,
    'a code': given.code,
    ...Object.fromEntries(cookies.map(([cookie, value]) => [`the cookie ${cookie}`, value])),
  };
}

/** Puts a credential where an id, a name or another credential is expected, at every operation. */
async function misplace({ ask }: TestService, secret: string): Promise<void> {
  for (const { method, path } of Object.values(operations)) {
    const filled = path.replaceAll(/\{\w+\}/g, encodeURIComponent(secret));
    const headers = { cookie: `session=${secret}`, 'x-api-key': secret };
    const ids = { token_id: secret, parent_token: secret, approval_request_id: secret };
    const body = { ...ids, grant_id: secret, invocation_id: secret, identity_id: secret };
    const options = { headers, ...(method === 'POST' && { body }) };
    await ask(method, `${filled}?token=${secret}&access_token=${secret}`, options);
    await ask(method, filled, { ...options, bearer: OWNER });
    await ask(method, filled, { ...options, bearer: secret });
    await ask(method, filled, { headers: { authorization: `Basic ${secret}` } });
  }
}

/** Of a signed token the signature: its claims are in the rows of the token. */
function secretPart(secret: string): string {
  return secret.startsWith('ey') ? (secret.split('.').at(-1) as string) : secret;
}

/** Every byte that the store keeps. */
async function rowsOf(url: string): Promise<string> {
  if (url.startsWith('sqlite:')) {
    const folder = dirname(url.slice('sqlite:'.length));
    const files = readdirSync(folder).map((file) => readFileSync(`${folder}/${file}`, 'latin1'));
    return files.join('\n');
  }
  const client = await connectedTo(url);
  const { rows: tables } = await client.query<{ name: string }>(
    'SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = current_schema()',
  );
  const texts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await client.query<Record<string, unknown>>(`SELECT * FROM ${name}`);
    texts.push(...rows.flatMap((row) => Object.values(row).map(textOf)));
  }
  return texts.join('\n');
}

function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return value.toString('latin1');
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
