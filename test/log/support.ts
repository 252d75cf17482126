import { join } from 'node:path';
import { travelDesk } from '../../examples/travel/service.ts';
import type { CheckpointDetail } from '../../src/protocol/audit.ts';
import type { ServiceDefinition } from '../../src/service/author/definition.ts';
import { openMark } from '../../src/storage/open.ts';
import type { MarkStore } from '../../src/storage/port/mark.ts';
import { temporaryFolder } from '../support/ends.ts';
import {
  ALICE,
  OPERATOR,
  type Reply,
  type TestOptions,
  type TestService,
  testService,
} from '../support/world.ts';

/** Anchored, on a cadence that no test waits for. */
export const calmDesk: ServiceDefinition = {
  ...travelDesk,
  trust: { level: 'anchored', anchoring: { cadence: 'P1D' } },
};

export type Machine = ReturnType<typeof machine>;

/** One life of the service: what it leaves is in the store, the keys and the mark. */
export async function life<Result>(
  { keys, mark: open }: Machine,
  options: TestOptions,
  run: (service: TestService) => Promise<Result>,
): Promise<Result> {
  const mark = options.mark ?? (await open());
  const service = await testService({ definition: calmDesk, keys, ...options, mark });
  try {
    return await run(service);
  } finally {
    await service.close();
    await mark.close();
  }
}

export function grow(service: TestService): Promise<unknown> {
  return service.issue(ALICE, { scope: ['travel.search'] });
}

/** Why the service is not ready; empty when it is. */
export async function unready(service: TestService): Promise<string> {
  return ((await service.ask('GET', '/readyz')).body.reasons ?? []).join();
}

export async function listed({ store }: TestService): Promise<[sequence: number, size: number][]> {
  const all = await store.listCheckpoints(100);
  return all.map(({ sequence, size }) => [sequence, size]);
}

/** A folder with keys and a file for the mark, as one machine has them. */
export function machine(): {
  folder: string;
  keys: string;
  mark(name?: string): Promise<MarkStore>;
} {
  const folder = temporaryFolder();
  return {
    folder,
    keys: join(folder, 'keys'),
    mark: (name = 'mark') => openMark(`sqlite:${join(folder, `${name}.db`)}`),
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
