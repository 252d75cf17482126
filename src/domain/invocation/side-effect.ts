/**
 * Side effects: how strong each kind is, and what the audit makes of it.
 *
 * @module
 */

import type { EventClass } from '../../protocol/audit.ts';
import type { Capability, SideEffectType } from '../../protocol/capability.ts';

/** From weakest to strongest: a whole is at least as strong as its parts. */
export const SIDE_EFFECT_STRENGTH: Record<SideEffectType, number> = {
  read: 0,
  write: 1,
  transactional: 2,
  irreversible: 3,
};

/** Changes something or moves money. */
export function isHighRisk(capability: Capability): boolean {
  return capability.side_effect.type !== 'read' || capability.cost?.financial !== undefined;
}

/** A capability that does not exist cannot do harm, so an unknown one is low risk. */
export function eventClassOf(capability: Capability | undefined, success: boolean): EventClass {
  const risk = capability && isHighRisk(capability) ? 'high' : 'low';
  return `${risk}_risk_${success ? 'success' : 'failure'}`;
}
