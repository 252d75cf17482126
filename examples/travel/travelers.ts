/**
 * People: finding one by name, and erasing one for good.
 *
 * @module
 */

import { defineCapability, NoEffect } from 'writ';
import * as z from 'zod';
import { TRAVELERS, Traveler } from './data.ts';

const findTraveler = defineCapability({
  name: 'find_traveler',
  description: 'Find a traveler by name',
  inputs: z.object({ traveler: z.string() }),
  input_details: {
    traveler: {
      entity_reference: true,
      semantic_type: 'entity_reference',
      resolution: {
        mode: 'backend_resolved',
        resolver_ref: 'travelers',
        on_missing: 'clarify',
        on_ambiguous: 'clarify',
        on_unresolved: 'deny',
      },
    },
  },
  output: Traveler.meta({ title: 'traveler' }),
  side_effect: 'read',
  minimum_scope: ['travel.read'],
  observability: { logged: true, retention: 'P30D', fields_logged: [] },
  handler: ({ traveler }) => TRAVELERS.get(traveler) as Traveler,
});

const eraseTraveler = defineCapability({
  name: 'erase_traveler',
  description: 'Erase a traveler and everything known about them',
  inputs: z.object({ traveler_id: z.string() }),
  output: z.object({ erased: z.boolean() }).meta({ title: 'erasure' }),
  side_effect: 'irreversible',
  minimum_scope: ['travel.admin'],
  delegable: false,
  principal_classes: ['human'],
  handler({ traveler_id }) {
    const erased = TRAVELERS.delete(traveler_id);
    if (!erased) throw new NoEffect(`Cannot erase "${traveler_id}": there is no such traveler`);
    return { erased };
  },
});

export const travelers = [findTraveler, eraseTraveler];

/** By id, or by a part of the name: one match resolves, several have to be told apart. */
export function resolveTraveler(value: unknown) {
  const text = String(value).toLowerCase();
  const [first, ...others] = [...TRAVELERS.values()].filter(
    ({ traveler_id, name }) => traveler_id === value || name.toLowerCase().includes(text),
  );
  if (!first) return { unresolved: true as const };
  if (others.length === 0) return { value: first.traveler_id };
  const candidates = [first, ...others].map(({ traveler_id, name }) => ({ traveler_id, name }));
  return { candidates, disclosable: true };
}
