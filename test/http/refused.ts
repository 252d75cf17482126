/**
 * What every refusal over HTTP looks like.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { Failure, type FailureType } from '../../src/protocol/failure.ts';
import type { Reply } from '../support/world.ts';

/** Status, type, shape, and nothing beside it. */
export function assertRefused(reply: Reply, status: number, type: FailureType): void {
  assert.equal(reply.status, status, JSON.stringify(reply.body));
  assert.equal(reply.body.success, false);
  assert.equal(reply.body.failure.type, type);
  Failure.parse(reply.body.failure);
  const known = ['success', 'failure', 'invocation_id', 'audit', 'budget_context'];
  assert.deepEqual(
    Object.keys(reply.body).filter((field) => !known.includes(field)),
    [],
  );
  assert.equal(reply.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(reply.headers['cache-control'], 'no-store');
  assert.match(String(reply.headers['x-request-id']), /^[0-9a-f]{16}$/);
  assert.doesNotMatch(JSON.stringify(reply.body), /node_modules|\.ts:|\.js:|FST_|SQLITE|at Object/);
}
