/**
 * A case: one attack as data, and what its outcome can be.
 *
 * A case knows only the protocol. It says on which sentence it rests, so that a reader can disagree with it. A case
 * never decides by a message in words or by time, only by statuses, fields of the protocol, and bytes.
 *
 * @module
 */

import type { Outcome } from './target/outcome.ts';
import type { World } from './target/world.ts';

export const KINDS = ['tokens', 'budgets', 'approvals', 'log', 'surface'] as const;
export type Kind = (typeof KINDS)[number];

export interface Case {
  /** The kind, a dot, and a name that stays the same between versions. */
  readonly id: `${Kind}.${string}`;
  /** What the attacker does. */
  readonly tries: string;
  /** What must be true afterwards. */
  readonly holds: string;
  /** The sentence of the specification, or `practice` for what follows from its purpose. */
  readonly basis: string;
  /** Needs a capability that costs money or changes something. Runs only when that is allowed. */
  readonly hasEffects?: true;
  run(world: World): Promise<Outcome>;
}

export function kindOf({ id }: Pick<Case, 'id'>): Kind {
  return id.slice(0, id.indexOf('.')) as Kind;
}
