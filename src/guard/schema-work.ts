/**
 * What a schema of a stranger may cost: the most work that one part of a value can take, whatever the value is.
 *
 * Follows which schemas can apply to one part together: first the root, then for each key and index those that follow
 * from them. A schema that could exceed the bound of a check with a short value is found here, before it is offered.
 *
 * @module
 */

import { KEYS_PER_STEP, REQUIRED_PER_STEP, STEPS_MAX } from './schema-check.ts';
import { besides, type Form, formParts } from './schema-form.ts';

/** Every value with so many parts can be checked: keys, elements and what holds them. */
const PARTS_SURE = 20;

/** Each schema is compared with a part, and looks at its keys. */
const WEIGHT_MAX = STEPS_MAX / PARTS_SURE / (1 + 1 / KEYS_PER_STEP);

/** Schemas that apply through each other to one value. */
const CHAIN_MAX = 64;

/** Schemas that are looked at here, for each key. */
const LOOKED_AT_MAX = 50_000;

/** Why the schema may not be used: the end of a sentence. */
export function workFault(root: Form): string | undefined {
  const ids = new Map<Form, number>();
  const seen = new Set<string>();
  const waiting: (readonly Form[])[] = [[root]];
  let looked = 0;
  for (const start of waiting) {
    const together = new Set<Form>();
    if (!start.every((form) => isSpread(form, together, []))) return ENDLESS;
    if (weightOf(together) > WEIGHT_MAX) return TOO_MUCH;
    for (const form of together) if (!ids.has(form)) ids.set(form, ids.size);
    const name = [...together]
      .map((form) => ids.get(form) as number)
      .sort((a, b) => a - b)
      .join();
    if (seen.has(name)) continue;
    seen.add(name);
    const next = following([...together]);
    looked += together.size * next.length;
    if (looked > LOOKED_AT_MAX) return TOO_MUCH;
    waiting.push(...next.filter((each) => each.length > 0));
  }
  return undefined;
}

const ENDLESS = `it refers to itself without end, or through more than ${CHAIN_MAX} schemas`;
const TOO_MUCH = `a value of ${PARTS_SURE} parts can take more than ${STEPS_MAX} steps to check`;

/** Adds the schemas that apply to the same value. False where one of them leads to itself. */
function isSpread(form: Form, into: Set<Form>, open: readonly Form[]): boolean {
  if (open.includes(form) || open.length > CHAIN_MAX) return false;
  if (into.has(form)) return true;
  into.add(form);
  return besides(form).every((each) => isSpread(each, into, [...open, form]));
}

function weightOf(forms: ReadonlySet<Form>): number {
  let weight = 0;
  for (const form of forms) weight += 1 + formParts(form).required.length / REQUIRED_PER_STEP;
  return weight;
}

/** For each key, for each index, for the other keys and for the other elements: the schemas that apply there. */
function following(forms: readonly Form[]): Form[][] {
  const parts = forms.map(formParts);
  const keys = new Set(parts.flatMap(({ properties }) => [...properties.keys()]));
  const length = Math.max(0, ...parts.map(({ first }) => first.length));
  return [
    ...[...keys].map((key) =>
      parts.flatMap(({ properties, others }) => properties.get(key) ?? others ?? []),
    ),
    parts.flatMap(({ others }) => others ?? []),
    ...Array.from({ length }, (_, index) =>
      parts.flatMap(({ first, rest }) => first[index] ?? rest ?? []),
    ),
    parts.flatMap(({ rest }) => rest ?? []),
  ];
}
