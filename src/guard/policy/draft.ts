/**
 * Drafts a policy for a person to read and correct.
 *
 * Names and reasons come from an upstream, so no text of it can end a comment, become a key or hide a character.
 *
 * @module
 */

import { isObject } from '../../domain/wire/json.ts';
import { CapabilityName } from '../../protocol/primitives.ts';
import { shownJson, shownLine } from '../text.ts';
import type { GuessedEffect, UpstreamTool } from '../upstream.ts';
import { TOOL_NAME_LENGTH_MAX } from './schema.ts';
import type { UpstreamPolicy } from './upstream-schema.ts';

/** Tools that are listed although they are not offered. */
const COMMENTED_MAX = 1_000;

/** Characters of a reason. */
const REASON_LENGTH_MAX = 120;

/** Characters of a name that a comment repeats. */
const NAME_SHOWN_MAX = 128;

interface DraftedTool {
  readonly tool: UpstreamTool;
  readonly guess: GuessedEffect;
  readonly isOffered: boolean;
}

export interface DraftOptions {
  readonly id: string;
  readonly upstream: UpstreamPolicy;
  readonly tools: readonly DraftedTool[];
  /** Written only where it differs from the default. */
  readonly toolsAs?: 'all' | 'search' | undefined;
}

/** The text of the file. An offered tool that does not only read stays off until its effect is checked. */
export function draftPolicy({ id, upstream, tools, toolsAs }: DraftOptions): string {
  const names = capabilityNames(tools.map(({ tool }) => tool.name));
  const offered = tools.filter((each) => each.isOffered && isNameable(each.tool));
  const others = tools.filter((each) => !offered.includes(each));
  const lineOf = (each: DraftedTool) => toolLine(each, names.get(each.tool.name) ?? '');
  return [
    '# The policy of a guard: only the tools listed here are offered.',
    `guard: ${flow(id)}`,
    'upstream:',
    ...Object.entries(upstream)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => `  ${key}: ${flow(value)}`),
    ...(toolsAs === 'search' ? ['tools_as: search'] : []),
    offered.length > 0 ? 'tools:' : 'tools: {}',
    ...offered.map((each) => `  ${lineOf(each)}`),
    ...(others.length > 0
      ? ['  # Not offered. Check the effect of a tool before you offer it.']
      : []),
    ...others
      .slice(0, COMMENTED_MAX)
      .map((each) =>
        isNameable(each.tool)
          ? `  # ${lineOf(each)}`
          : `  # ${shownLine(each.tool.name, NAME_SHOWN_MAX)}: its name is too long`,
      ),
    ...(others.length > COMMENTED_MAX ? [`  # ${others.length - COMMENTED_MAX} more tools`] : []),
    '',
  ].join('\n');
}

function toolLine({ tool, guess }: DraftedTool, capability: string): string {
  const { effect, why } = guess;
  const named = tool.name === capability ? '' : `tool: ${flow(tool.name)}, `;
  const reason = shownLine(why, REASON_LENGTH_MAX);
  if (effect === 'read') return `${capability}: { ${named}effect: read } # ${reason}`;
  return `${capability}: { ${named}effect: ${effect}, approval: always, review: yes } # ${reason}; check the effect, then delete "review"`;
}

function isNameable({ name }: UpstreamTool): boolean {
  return name !== '' && name.length <= TOOL_NAME_LENGTH_MAX;
}

/** Characters of a capability name. */
const CAPABILITY_LENGTH_MAX = 128;

/** A capability name for each tool: its own where it is one, else a similar one. No two are the same. */
export function capabilityNames(tools: readonly string[]): ReadonlyMap<string, string> {
  const fitting = tools.filter((name) => CapabilityName.safeParse(name).success);
  const taken = new Set(fitting);
  const names = new Map(fitting.map((name) => [name, name]));
  for (const tool of tools) {
    if (names.has(tool)) continue;
    const similar = similarName(tool);
    let name = similar;
    for (let count = 2; taken.has(name); count += 1) {
      const end = `_${count}`;
      name = `${similar.slice(0, CAPABILITY_LENGTH_MAX - end.length)}${end}`;
    }
    taken.add(name);
    names.set(tool, name);
  }
  return names;
}

function similarName(tool: string): string {
  const words = tool.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').replaceAll(/^[_.-]+|_+$/g, '');
  const name = /^[A-Za-z]/.test(words) ? words : `tool_${words}`;
  return name.slice(0, CAPABILITY_LENGTH_MAX).replace(/_+$/, '');
}

/** A value in one line. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (isObject(value)) {
    const members = Object.entries(value).filter(([, each]) => each !== undefined);
    return `{ ${members.map(([key, each]) => `${flow(key)}: ${flow(each)}`).join(', ')} }`;
  }
  if (typeof value !== 'string') return String(value);
  return PLAIN.test(value) && !WORD.test(value) ? value : shownJson(JSON.stringify(value));
}

/** A text that means itself without quotes in every YAML. */
const PLAIN = /^[A-Za-z./$-][A-Za-z0-9_./$-]*$/;
const WORD = /^(?:true|false|yes|no|on|off|null|y|n|[-.]+(?:[0-9].*|inf|nan)?)$/i;
