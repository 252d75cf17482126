/**
 * Capabilities that are known and switched off: how they are written, and what a caller of one reads.
 *
 * A capability that is off is not declared, so nothing can run it. Only the detail of a refusal differs from
 * that of an unknown name.
 *
 * @module
 */

import { type Fault, serviceFault } from '../../domain/catalog/fault.ts';
import { isObject } from '../../domain/wire/json.ts';
import { CapabilityName } from '../../protocol/primitives.ts';

/** Characters of the sentence that says why a capability is off. Every refused call repeats it. */
const OFF_LENGTH_MAX = 300;

/** Why a name is not that of a capability, as the end of a detail. */
export function absenceOf(
  { off }: { readonly off: ReadonlyMap<string, string> },
  name: string,
): string {
  const why = off.get(name);
  return why === undefined ? 'the service has no such capability' : `it is off: ${why}`;
}

export function offFaults(
  id: string,
  off: unknown,
  capabilities: readonly { readonly name: string }[],
): Fault[] {
  if (!isObject(off)) return [serviceFault(id, 'off', 'expected sentences by capability name')];
  const declared = new Set(capabilities.map(({ name }) => name));
  return Object.entries(off).flatMap(([name, why]) => {
    const found = offFault(name, why, declared);
    return found === undefined ? [] : [serviceFault(id, 'off', `"${name}" ${found}`)];
  });
}

function offFault(name: string, why: unknown, declared: ReadonlySet<string>): string | undefined {
  if (declared.has(name)) return 'is declared too; a capability is declared or off';
  if (!CapabilityName.safeParse(name).success) return 'is no name of a capability';
  const isSentence = typeof why === 'string' && why.trim() !== '' && !UNSHOWN.test(why);
  if (isSentence && [...why].length <= OFF_LENGTH_MAX) return undefined;
  return `needs a sentence of at most ${OFF_LENGTH_MAX} characters in one line that says why it is off`;
}

/** Control characters, line ends and halves of characters, which an entry or a terminal cannot show. */
const UNSHOWN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;
