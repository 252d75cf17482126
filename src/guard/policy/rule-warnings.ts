/**
 * What a person probably did not mean by the conditions of a policy: they can be used, and leave a way around.
 *
 * @module
 */

import type { Condition, Conditions } from '../../domain/conditions/condition.ts';
import { approvalRule, type Rule, regionsOf } from '../../domain/conditions/words.ts';
import { isObject } from '../../domain/wire/json.ts';
import type { Capability, Catalog } from '../../protocol/capability.ts';

/** One sentence for each finding, with the name of the tool before it. */
export function ruleWarnings({ capabilities }: Catalog): string[] {
  const all = [...capabilities.values()];
  return all.flatMap((capability) =>
    [...listsOfBad(capability), ...openSiblings(capability), ...openElsewhere(capability, all)].map(
      (words) => `${capability.name}: ${words}`,
    ),
  );
}

function rulesOf({ approval, refuse }: Capability): Rule[] {
  return [approvalRule(approval?.when), refuse].filter((rule) => rule !== undefined);
}

/** By the name of the input: what the regions of a rule say of it, or of what is below it. */
function namedIn(rule: Rule): Map<string, Condition[]> {
  const named = new Map<string, Condition[]>();
  const each = regionsOf(rule).flatMap((region: Conditions) => Object.entries(region));
  for (const [path, condition] of each) {
    const [name = ''] = path.split('.');
    named.set(name, [...(named.get(name) ?? []), condition]);
  }
  return named;
}

const TEXTS = ['starts_with', 'under', 'email_domain', 'url_under'] as const;

function isOfText(condition: Condition): boolean {
  const { is, one_of = [] } = condition;
  return [is, ...one_of].some((each) => typeof each === 'string') || hasForm(condition);
}

function hasForm(condition: Condition): boolean {
  return TEXTS.some((operator) => condition[operator] !== undefined);
}

function listsOfBad(capability: Capability): string[] {
  const bad = rulesOf(capability).filter((rule) => 'when' in rule);
  return bad.flatMap((rule) =>
    [...namedIn(rule)].flatMap(([name, conditions]) => {
      const input = capability.inputs.find((each) => each.name === name);
      if (input?.allowed_values || !conditions.some(isOfText)) return [];
      return [
        `"when" on "${name}" lists what is bad, and everything else passes; write "unless" with what is good`,
      ];
    }),
  );
}

/** Names and formats of values that say where something goes, one word for each kind. */
const KINDS: Readonly<Record<string, RegExp>> = {
  path: /(?:^|_)(?:path|file|dir|directory|folder|filename)s?$|^(?:source|destination|target)$/i,
  url: /(?:^|_)(?:url|uri|link|endpoint|webhook)s?$/i,
  address: /(?:^|_)(?:email|mail|recipient|to|cc|bcc)s?$/i,
};

function kindsOf({ input_schema }: Capability, name: string): string[] {
  const properties = input_schema?.properties;
  const schema = isObject(properties) ? properties[name] : undefined;
  const format = isObject(schema) ? String(schema.format ?? '') : '';
  const names = [name.replaceAll(/([a-z])([A-Z])/g, '$1_$2'), format];
  return Object.entries(KINDS).flatMap(([kind, form]) =>
    names.some((each) => form.test(each)) ? [kind] : [],
  );
}

function openSiblings(capability: Capability): string[] {
  return rulesOf(capability).flatMap((rule) => {
    const named = namedIn(rule);
    const open = capability.inputs.map(({ name }) => name).filter((name) => !named.has(name));
    const kinds = [...named].flatMap(([name, conditions]) =>
      conditions.some(hasForm) ? kindsOf(capability, name) : [],
    );
    const siblings = open.filter((name) =>
      kindsOf(capability, name).some((each) => kinds.includes(each)),
    );
    const hasBound = [...named.values()].flat().some(({ at_most }) => typeof at_most === 'number');
    return [
      ...siblings.map(
        (name) => `no condition names "${name}", which can say the same in another place`,
      ),
      ...(hasBound && open.includes('currency')
        ? ['an amount is bounded and its "currency" is not; add a condition on it']
        : []),
    ];
  });
}

/** Two tools with one input, of which only one has a condition on it: the other one is the way around. */
function openElsewhere(capability: Capability, all: readonly Capability[]): string[] {
  if (capability.side_effect.type === 'read' || capability.approval?.when === 'always') return [];
  const named = new Set(rulesOf(capability).flatMap((rule) => [...namedIn(rule).keys()]));
  return capability.inputs.flatMap(({ name }) => {
    if (named.has(name)) return [];
    const other = all.find((each) => rulesOf(each).some((rule) => namedIn(rule).has(name)));
    return other && other !== capability
      ? [`it has no condition on "${name}", and ${other.name} has one`]
      : [];
  });
}
