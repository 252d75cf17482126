/**
 * A desk whose log is sealed only when a test asks, with the keys and the mark that it shares.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { travelDesk } from '../../examples/travel/service.ts';
import type { CheckpointDetail } from '../../src/protocol/audit.ts';
import type { ServiceDefinition } from '../../src/service/definition.ts';
import { type MarkStore, openMark } from '../../src/storage/mark.ts';
import { OPERATOR, type Reply, type TestService } from '../service/harness.ts';

/** Anchored, on a cadence that no test waits for. */
export const calmDesk: ServiceDefinition = {
  ...travelDesk,
  trust: { level: 'anchored', anchoring: { cadence: 'P1D' } },
};

/** A folder with keys and a file for the mark, as one machine has them. */
export function machine(): {
  folder: string;
  keys: string;
  mark(name?: string): Promise<MarkStore>;
  drop(): void;
} {
  const folder = mkdtempSync(join(tmpdir(), 'writ-log-'));
  return {
    folder,
    keys: join(folder, 'keys'),
    mark: (name = 'mark') => openMark(`sqlite:${join(folder, `${name}.db`)}`),
    drop: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export function seal(service: TestService): Promise<Reply> {
  return service.ask('POST', '/svc/operator/checkpoints', { bearer: OPERATOR });
}

/** Seals and reads what was sealed. */
export async function sealed(service: TestService): Promise<CheckpointDetail> {
  const { status, body } = await seal(service);
  if (status !== 200) throw new Error(`Cannot seal for the test: ${JSON.stringify(body)}`);
  return (await service.ask('GET', `/svc/checkpoints/${body.checkpoint.checkpoint_id}`)).body;
}
