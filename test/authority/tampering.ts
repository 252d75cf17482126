/**
 * Asking over a real socket, changing rows behind the service's back, and the alarms that follow.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { OPERATOR } from '../support/world.ts';
import type { Inspected } from './support.ts';

export interface Sent {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the service answers.
  readonly body: any;
}

/** One request of its own connection. */
export async function send(
  rig: Inspected,
  bearer: string,
  path: string,
  body?: unknown,
): Promise<Sent> {
  const address = rig.app.server.address();
  const base =
    address !== null && typeof address === 'object'
      ? `http://127.0.0.1:${address.port}`
      : await rig.app.listen({ host: '127.0.0.1', port: 0 });
  const response = await fetch(`${base}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${bearer}`,
      connection: 'close',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
}

export async function issue(rig: Inspected, bearer: string, request: object): Promise<IssueAnswer> {
  const { status, body } = await send(rig, bearer, '/svc/tokens', request);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

export function childOf(
  rig: Inspected,
  parent: IssueAnswer,
  request: object = {},
): Promise<IssueAnswer> {
  const asked = { parent_token: parent.token_id, subject: 'agent:child', scope: parent.scope };
  return issue(rig, parent.token, { ...asked, ...request });
}

export function alarms(rig: Inspected, kind: string, id: string): number {
  const about = `"alarm":"row_altered","kind":"${kind}","id":"${id}"`;
  return rig.log.filter((line) => line.includes(about)).length;
}

export async function alarmCount(rig: Inspected): Promise<number> {
  const { body } = await send(rig, OPERATOR, '/metrics');
  return Number(/^writ_alarms_total\{alarm="row_altered"\} (\d+)$/m.exec(body)?.[1] ?? 0);
}

export function refusedAs({ status, body }: Sent, type: string): void {
  assert.equal(body.failure?.type, type, `${status} ${JSON.stringify(body)}`);
}

export const isFile = (rig: Inspected) => rig.place.url.startsWith('sqlite:');

/** What is set, in the words of both databases where they differ. */
export type Dialect = string | { readonly file: string; readonly database: string };

export async function update(
  rig: Inspected,
  table: string,
  set: Dialect,
  where: string,
): Promise<void> {
  const text = typeof set === 'string' ? set : isFile(rig) ? set.file : set.database;
  await rig.place.alter(`UPDATE ${table} SET ${text} WHERE ${where}`);
}
