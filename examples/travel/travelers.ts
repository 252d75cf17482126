/**
 * People: finding one by name, and erasing one for good.
 *
 * @module
 */

import { defineCapability, NoEffect } from 'writ';
import * as z from 'zod';
import { TRAVELERS, Traveler } from './data.ts';

export const findTraveler = defineCapability({
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
  output: Traveler,
  side_effect: 'read',
  minimum_scope: ['travel.read'],
  observability: { logged: true, retention: 'P30D', fields_logged: [] },
  handler: ({ traveler }) => TRAVELERS.get(traveler) as Traveler,
});

export const eraseTraveler = defineCapability({
  name: 'erase_traveler',
  description: 'Erase a traveler and everything known about them',
  inputs: z.object({ traveler_id: z.string() }),
  output: z.object({ erased: z.boolean() }).meta({ title: 'erasure' }),
  side_effect: 'irreversible',
  minimum_scope: ['travel.admin'],
  delegable: false,
  principal_classes: ['human'],
  handler({ traveler_id }) {
    if (!TRAVELERS.delete(traveler_id)) {
      throw new NoEffect(`Cannot erase "${traveler_id}": there is no such traveler`);
    }
    return { erased: true };
  },
});

/** By id, or by a part of the name: one match resolves, several have to be told apart. */
export function resolveTraveler(value: unknown) {
  const text = String(value);
  if (TRAVELERS.has(text)) return { value: text };
  const found = [...TRAVELERS.values()].filter(({ name }) =>
    name.toLowerCase().includes(text.toLowerCase()),
  );
  const [first] = found;
  if (!first) return { unresolved: true as const };
  if (found.length === 1) return { value: first.traveler_id };
  return {
    candidates: found.map(({ traveler_id, name }) => ({ traveler_id, name })),
    disclosable: true,
  };
}
