/**
 * A service of composed capabilities, and what became of each call of it.
 *
 * @module
 */

import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { entryView } from '../../src/domain/log/entry.ts';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import type { DefinedCapability } from '../../src/service/author/define.ts';
import { ALICE, SETTINGS } from '../invoke/principals.ts';
import { STORES, type TestOptions, type TestService, testService } from '../service/harness.ts';
import { createWorld, type World } from './world.ts';

export interface Desk extends TestService {
  readonly world: World;
  /** A root token of alice, held by an agent, with a budget of 100 USD unless it says otherwise. */
  token(request?: object): Promise<IssueAnswer>;
  /** Every entry of one invocation, of any type, oldest first. */
  entries(invocationId: string): Promise<AuditEntry[]>;
  /** The entries of its steps and compensations, oldest first. */
  children(invocationId: string): Promise<AuditEntry[]>;
  /** What the token has reserved and spent, in minor units. */
  spent(token: IssueAnswer): Promise<[reserved: bigint, consumed: bigint]>;
}

export async function openDesk(
  world: World,
  options: Omit<TestOptions, 'definition'> = {},
): Promise<Desk> {
  const settings = { ...SETTINGS, stop_grace_seconds: 1, ...options.settings };
  const service = await testService({ ...options, settings, definition: world.definition });
  const query = async (by: object) => {
    await service.store.sequence();
    const { entries: found } = await service.store.queryEntries({ ...by, limit: 100 });
    return found.map(entryView).reverse();
  };
  return {
    ...service,
    world,
    token: (request = {}) =>
      service.issue(ALICE, {
        scope: ['w.use'],
        subject: 'agent:a',
        budget: { currency: 'USD', max_amount: 100 },
        ...request,
      }),
    entries: (invocationId) => query({ invocationId }),
    children: (parentInvocationId) => query({ parentInvocationId }),
    async spent(token) {
      const described = await service.store.describeToken(token.token_id, 0);
      const budget = described?.lineage.at(-1)?.budget;
      if (!budget) throw new Error(`Cannot look at the budget of ${token.token_id}: it has none`);
      return [budget.reserved, budget.consumed];
    },
  };
}

/** Runs the tests of `body` on one desk per kind of store. */
export function onEachStore(
  wholes: readonly DefinedCapability[],
  body: (desk: () => Desk) => void,
): void {
  for (const place of STORES) {
    describe(place.name, () => {
      const world = createWorld(wholes);
      let desk: Desk | undefined;
      let drop: (() => Promise<void>) | undefined;
      beforeAll(async () => {
        const opened = await place.open();
        drop = opened.drop;
        desk = await openDesk(world, { store: opened.url });
      });
      beforeEach(() => world.reset());
      afterAll(async () => {
        await desk?.close();
        await drop?.();
      });
      body(() => {
        if (!desk) throw new Error('Cannot test: the service did not start');
        return desk;
      });
    });
  }
}
