/**
 * Disclosure: how much of a failure a caller sees, by its caller class.
 *
 * Applied to the answer after the audit entry is made, so the log keeps the full failure. Fields that a
 * program acts on (type, retry, action, recovery class, approval identifiers) are never removed.
 *
 * @module
 */

import type { Failure } from '../../protocol/failure.ts';
import type { DisclosureLevel } from '../../protocol/trust.ts';
import { GUIDANCE, isOfProtocol } from '../failure.ts';

/** Characters. One sentence is enough to act on and too little to map the inside of a service. */
const REDUCED_DETAIL_MAX = 200;

/** `ownRoot` is the caller's own root principal: naming it discloses nothing new. */
export function disclose(found: Failure, level: DisclosureLevel, ownRoot?: string): Failure {
  if (level === 'full') return found;
  return level === 'reduced' ? reduced(found, ownRoot) : redacted(found);
}

/** An unknown caller class has the level of `default`. */
export function levelOf(
  levels: Readonly<Record<string, DisclosureLevel>>,
  callerClass: string,
): DisclosureLevel {
  const level = Object.hasOwn(levels, callerClass) ? levels[callerClass] : levels.default;
  return level ?? 'reduced';
}

function reduced(found: Failure, ownRoot: string | undefined): Failure {
  const { grantable_by, ...resolution } = found.resolution;
  const kept = grantable_by !== undefined && grantable_by === ownRoot ? { grantable_by } : {};
  return {
    ...found,
    detail: [...found.detail].slice(0, REDUCED_DETAIL_MAX).join(''),
    resolution: { ...resolution, ...kept },
  };
}

function redacted(found: Failure): Failure {
  const { clarify: _, conditions: __, ...kept } = found;
  const { action, recovery_class } = found.resolution;
  return {
    ...kept,
    detail: `Refused: ${whenOf(found.type)}`,
    resolution: { action, recovery_class },
  };
}

function whenOf(type: Failure['type']): string {
  return isOfProtocol(type) ? GUIDANCE[type].when : 'the manifest describes this failure';
}
