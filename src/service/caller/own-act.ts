/**
 * Own acts: what the service itself did with its definition, such as a policy that it loaded.
 *
 * The actor is `service:<id>`, as it is where the service freezes a capability by itself. The texts of an act may
 * come from files and from other servers, so each is cut to a bound and stays a text.
 *
 * @module
 */

import { foreignText } from '../../domain/wire/foreign.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { actEntry } from './entries.ts';

/** In UTF-16 units: a digest or one sentence. */
const TEXT_LENGTH_MAX = 256;

/** In UTF-16 units: the name of a tool. */
const ITEM_LENGTH_MAX = 128;

/** Texts of one list. The count of the others follows. */
const LIST_MAX = 12;

/** Fields of one act. With the bounds above, JSON of an act has at most 56 KB, less than a leaf may have. */
const FIELDS_MAX = 6;

export interface OwnAct {
  readonly verb:
    | 'guard_policy_loaded'
    | 'guard_policy_refused'
    | 'guard_tool_off'
    | 'guard_tool_reviewed';
  /** What the act is about, such as a digest and names; `tool` names one tool. Never a credential. */
  readonly about: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** Appends the entry of an act of the service itself. Rejects when the store does not take it. */
export async function recordOwnAct(
  parts: Pick<ServiceParts, 'store' | 'platform' | 'definition'>,
  { verb, about }: OwnAct,
): Promise<void> {
  const principal = `service:${parts.definition.id}`;
  const entry = actEntry(
    parts,
    { principal, root_principal: principal },
    { entry_type: 'operator', detail: { ...boundedFields(about), verb } },
  );
  await parts.store.append([entry]);
}

/** The fields with every text cut to its bound. */
function boundedFields(about: OwnAct['about']): Record<string, unknown> {
  const fields = Object.entries(about);
  if (fields.length > FIELDS_MAX) {
    throw new RangeError(`Cannot record ${fields.length} fields: at most ${FIELDS_MAX}`);
  }
  return Object.fromEntries(fields.map(([name, value]) => [name, bounded(value)]));
}

function bounded(value: OwnAct['about'][string]): unknown {
  if (typeof value === 'string') return foreignText(value, TEXT_LENGTH_MAX);
  if (typeof value !== 'object') return value;
  const more = value.length - LIST_MAX;
  const texts = value.slice(0, LIST_MAX).map((text) => foreignText(text, ITEM_LENGTH_MAX));
  return more > 0 ? [...texts, `and ${more} more`] : texts;
}
