/**
 * The world of a random walk over two stores: small, so that most things meet.
 *
 * @module
 */

import { capabilityTarget } from '../../../../src/domain/authority/freeze.ts';
import type { EndedStep } from '../../../../src/storage/port/composition-store.ts';
import type {
  Admission,
  Overrun,
  Settlement,
} from '../../../../src/storage/port/invocation-store.ts';
import type {
  ApprovalRecord,
  DeliveryRecord,
  GrantRecord,
  TokenRecord,
} from '../../../../src/storage/port/records.ts';
import type { Store } from '../../../../src/storage/port/store.ts';
import { entry, freezeOf, SECOND } from '../../../../src/testing/fixtures.ts';

export interface Random {
  /** A whole number from 0 up to, and not including, `end`. */
  below(end: number): number;
  chance(percent: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
}

export interface World {
  readonly random: Random;
  /** Grows with every act, so that no two acts have the same time. */
  now: Date;
  readonly tokens: TokenRecord[];
  readonly calls: Admission[];
  readonly settlements: Settlement[];
  readonly steps: EndedStep[];
  readonly requests: ApprovalRecord[];
  readonly grants: GrantRecord[];
  readonly deliveries: DeliveryRecord[];
  readonly bindings: string[];
}

/** Draws the arguments. The result is called on each store; undefined where nothing can be drawn yet. */
export type Act = (world: World) => ((store: Store) => Promise<unknown>) | undefined;

export const CAPABILITIES: readonly string[] = ['book_flight', 'cancel_flight'];
export const INSTANCES: readonly string[] = ['one', 'two', 'three'];
export const PEOPLE: readonly string[] = ['human:ann', 'human:bob', 'human:eve'];

export function later({ now }: World, seconds: number): Date {
  return new Date(now.getTime() + seconds * SECOND);
}

export function logged({ now, random }: World, changed: Parameters<typeof entry>[0] = {}) {
  return entry({
    ...{ timestamp: now.toISOString(), root_principal: random.pick(PEOPLE) },
    ...(random.chance(20) && { event_class: 'high_risk_failure', success: false }),
    ...(random.chance(20) && { retention: 'PT20S' }),
    ...changed,
  });
}

export function limits(world: World): Partial<TokenRecord> {
  const { random } = world;
  const budget = { currency: random.chance(90) ? 'USD' : 'EUR', max_amount: 1 + random.below(3) };
  return {
    ...{ issued_at: world.now, expires_at: later(world, 150 + random.below(400)) },
    ...(random.chance(50) && { budget }),
    ...(random.chance(20) && { concurrent_branches: 'exclusive' }),
    ...(random.chance(50) && { mac: `kid.${random.below(100)}` }),
  };
}

export function actorOf({ random, tokens }: World): { actor?: string } {
  return random.chance(30) && tokens.length > 0 ? { actor: random.pick(tokens).token_id } : {};
}

export function overrunOf(world: World, token_id: string): Overrun {
  const target = capabilityTarget('book_flight', world.random.pick(PEOPLE));
  const record = freezeOf({ what: 'capability', target, frozen_at: world.now });
  const freeze = { record, entry: logged(world, { entry_type: 'operator' }) };
  const debt = { currency: world.random.pick(['USD', 'JPY']), amount: 3n };
  return { token_id, debt, ...(world.random.chance(20) && { freeze }) };
}

export function pickOf<Item>({ random }: World, items: readonly Item[]): Item | undefined {
  return items.length === 0 ? undefined : random.pick(items);
}
