/**
 * What every draw of an act needs: chance, and the labels of the acts before.
 *
 * @module
 */

import type { Chance } from '../simulation/chance.ts';
import type { CallAct, FreezeTarget } from './acts.ts';

/** The labels that later acts can name. */
export interface Drawn {
  readonly tokens: string[];
  readonly calls: CallAct[];
  readonly quotes: string[];
  readonly asking: CallAct[];
  readonly approvals: { readonly label: string; readonly asked: CallAct }[];
  readonly held: string[];
  readonly freezes: { readonly label: string; readonly target: FreezeTarget }[];
  readonly ending: string[];
}

export interface Drawing {
  readonly chance: Chance;
  readonly drawn: Drawn;
  readonly services: number;
  readonly label: string;
}

export const where = ({ label, chance, services }: Drawing) => ({
  label,
  at: chance.below(services),
});

/** One of the last few most of the time: what was made long ago has often ended. */
export function recent<Item>(chance: Chance, items: readonly Item[]): Item {
  return chance.pick(chance.is(0.75) ? items.slice(-5) : items);
}

/** Leaves out the fields that are undefined. */
export function defined<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as never;
}
