/**
 * A service of composed capabilities, and what became of each call of it.
 *
 * @module
 */

import { beforeEach } from 'vitest';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import type { DefinedCapability } from '../../src/service/author/define.ts';
import { ALICE, SETTINGS } from '../invoke/principals.ts';
import {
  onEachStore as onStores,
  type TestOptions,
  type TestService,
  testService,
} from '../support/world.ts';
import { createWorld, type World } from './catalog.ts';

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
    entries: (invocationId) => service.entriesBy({ invocationId }),
    children: (parentInvocationId) => service.entriesBy({ parentInvocationId }),
    async spent(token) {
      const { reserved, consumed } = await service.budgetOf(token);
      return [reserved, consumed];
    },
  };
}

/** Runs the tests of `body` on one desk per kind of store. */
export function onEachStore(
  wholes: readonly DefinedCapability[],
  body: (desk: () => Desk) => void,
): void {
  onStores(
    ({ url }) => openDesk(createWorld(wholes), { store: url }),
    (desk) => {
      beforeEach(() => desk().world.reset());
      body(desk);
    },
  );
}
