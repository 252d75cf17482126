/**
 * Pins: the tools as a person reviewed them, and what changed since.
 *
 * The file is for git: sorted and indented, so that a change shows as a few lines, and without characters that
 * hide. A pin counts only if its digest is that of the live tool and that of the tool in the pin, so a file in
 * which only one of them was edited switches the tool off.
 *
 * @module
 */

import * as z from 'zod';
import { canonicalJson } from '../domain/wire/canonical.ts';
import { isObject, type JsonLimits, readJson } from '../domain/wire/json.ts';
import { HexHash, JsonObject, Timestamp } from '../protocol/primitives.ts';
import type { GuardPolicy } from './policy/read.ts';
import { cut, shownJson } from './text.ts';
import { toolDigest, type UpstreamTool } from './upstream.ts';

/** Bounds the file. A thousand tools with large schemas are smaller. */
const PINS_LIMITS: JsonLimits = { bytes: 16_777_216, depth: 64, keys: 500_000 };

interface Pin {
  readonly digest: string;
  readonly reviewedAt: string;
  readonly reviewedBy: string;
  readonly tool: UpstreamTool;
}

/** By the name of the tool. */
export interface Pins {
  readonly tools: ReadonlyMap<string, Pin>;
}

export const NO_PINS: Pins = { tools: new Map() };

const PinnedTool = z.strictObject({
  name: z.string(),
  title: z.string().optional(),
  description: z.string(),
  inputSchema: JsonObject,
  outputSchema: JsonObject.optional(),
  annotations: JsonObject.optional(),
  route: JsonObject.optional(),
});

const PinsFile = z.strictObject({
  version: z.literal(1),
  tools: z.record(
    z.string(),
    z.strictObject({
      digest: HexHash,
      reviewed_at: Timestamp,
      reviewed_by: z.string().max(256),
      tool: PinnedTool,
    }),
  ),
});

export function readPins(text: string): Pins | { readonly fault: string } {
  const reading = readJson(text, PINS_LIMITS);
  if ('fault' in reading) return reading;
  const parsed = PinsFile.safeParse(reading.value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = cut(issue?.path.join('.') ?? '', PART_LENGTH_MAX);
    return { fault: `Cannot read the reviewed tools: ${where || 'the file'} has another form` };
  }
  const pins = Object.entries(parsed.data.tools).map(([name, { digest, tool, ...review }]) => {
    const { reviewed_at: reviewedAt, reviewed_by: reviewedBy } = review;
    return [name, { digest, reviewedAt, reviewedBy, tool }] as const;
  });
  return { tools: new Map(pins) };
}

export function writePins({ tools }: Pins): string {
  const rows = [...tools].map(([name, { digest, reviewedAt, reviewedBy, tool }]) => [
    name,
    { digest, reviewed_at: reviewedAt, reviewed_by: reviewedBy, tool },
  ]);
  // The canonical form has its keys in order.
  const file = JSON.parse(canonicalJson({ version: 1, tools: Object.fromEntries(rows) }));
  return `${shownJson(JSON.stringify(file, null, 2))}\n`;
}

/** The pins with these tools reviewed. */
export function pinned(
  pins: Pins,
  tools: readonly UpstreamTool[],
  by: { readonly at: Date; readonly who: string },
): Pins {
  const review = { reviewedAt: by.at.toISOString(), reviewedBy: by.who };
  const rows = tools.map(
    (tool) => [tool.name, { digest: toolDigest(tool), ...review, tool }] as const,
  );
  return { tools: new Map([...pins.tools, ...rows]) };
}

/** The reviewed tool, if the live one is still the same and the pin is whole. */
export function reviewedTool({ tools }: Pins, live: UpstreamTool): UpstreamTool | undefined {
  const pin = tools.get(live.name);
  const isWhole = pin?.tool.name === live.name && toolDigest(pin.tool) === pin.digest;
  return isWhole && toolDigest(live) === pin.digest ? pin.tool : undefined;
}

export interface ToolChange {
  /** As the upstream spells it. */
  readonly name: string;
  readonly kind: 'new' | 'changed' | 'gone';
  /** Whether the policy names the tool. Another one is off with or without a review. */
  readonly isNamed: boolean;
  readonly before?: UpstreamTool | undefined;
  readonly now?: UpstreamTool | undefined;
  /** Of the live tool. A review names it, so that it covers exactly what was shown. */
  readonly digest?: string | undefined;
  /** Cut around the first difference of each. */
  readonly parts: readonly ChangedPart[];
}

/** One text that differs. Both texts are of strangers. Empty where absent. */
interface ChangedPart {
  readonly part: string;
  readonly before: string;
  readonly now: string;
}

/**
 * What a person has to review: tools of the policy that changed, are new or are gone, and live tools that
 * neither the policy nor the pins know.
 */
export function toolChanges(
  policy: Pick<GuardPolicy, 'tools'>,
  pins: Pins,
  live: readonly UpstreamTool[],
): ToolChange[] {
  const byName = new Map(live.map((tool) => [tool.name, tool]));
  const named = new Set([...policy.tools.values()].map(({ tool }) => tool));
  const unknown = live.map(({ name }) => name).filter((name) => !pins.tools.has(name));
  return [...new Set([...named, ...unknown])].flatMap((name): ToolChange[] => {
    const isNamed = named.has(name);
    const before = pins.tools.get(name)?.tool;
    const now = byName.get(name);
    if (now === undefined) return [{ name, kind: 'gone', isNamed, before, parts: [] }];
    if (reviewedTool(pins, now)) return [];
    const kind = before === undefined ? 'new' : 'changed';
    const parts = before === undefined ? [] : changedParts(before, now);
    return [{ name, kind, isNamed, before, now, digest: toolDigest(now), parts }];
  });
}

/** Parts of one change, characters of each text, and characters of the name of a part. */
const PARTS_MAX = 50;
const TEXT_LENGTH_MAX = 400;
const PART_LENGTH_MAX = 200;

/** Characters before the first difference. */
const LEAD = 60;

/** Every text that differs, whole. A tool that is absent has none. */
export function changedTexts(
  before: UpstreamTool | undefined,
  now: UpstreamTool | undefined,
): ChangedPart[] {
  const [old, fresh] = [leavesOf(before), leavesOf(now)];
  return [...new Set([...old.keys(), ...fresh.keys()])]
    .filter((path) => old.get(path) !== fresh.get(path))
    .map((path) => ({ part: path, before: old.get(path) ?? '', now: fresh.get(path) ?? '' }));
}

function changedParts(before: UpstreamTool, now: UpstreamTool): ChangedPart[] {
  const changed = changedTexts(before, now);
  const parts = changed.slice(0, PARTS_MAX).map((each): ChangedPart => {
    const start = Math.max(0, commonLength(each.before, each.now) - LEAD);
    return {
      part: cut(each.part, PART_LENGTH_MAX),
      before: excerpt(each.before, start),
      now: excerpt(each.now, start),
    };
  });
  const more = changed.length - PARTS_MAX;
  return more > 0 ? [...parts, { part: `${more} more parts`, before: '', now: '' }] : parts;
}

function excerpt(text: string, start: number): string {
  if (start === 0) return cut(text, TEXT_LENGTH_MAX);
  return `…${cut(text.slice(start).replace(/^[\udc00-\udfff]/, ''), TEXT_LENGTH_MAX)}`;
}

function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/**
 * The values of a tool by their paths, such as `inputSchema.properties.path.description`. Two different tools differ in a
 * path or in a text: a name that could be taken for several is quoted, and so is a text that could be taken for JSON.
 */
function leavesOf(tool: UpstreamTool | undefined): ReadonlyMap<string, string> {
  const leaves = new Map<string, string>();
  const waiting: [path: string, value: unknown][] = Object.entries(tool ?? {}).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [path, value] = next;
    const members = isObject(value) ? Object.entries(value) : [];
    if (members.length > 0) {
      waiting.push(
        ...members
          .reverse()
          .map(([key, each]) => [`${path}.${pathName(key)}`, each] as [string, unknown]),
      );
    } else if (value !== undefined && !isNoDescription(path, value)) {
      leaves.set(path, leafText(value));
    }
  }
  return leaves;
}

function pathName(key: string): string {
  return /^[\w$-]+$/.test(key) ? key : JSON.stringify(key);
}

/** A tool without a description has an empty one. */
function isNoDescription(path: string, value: unknown): boolean {
  return path === 'description' && value === '';
}

function leafText(value: unknown): string {
  return typeof value === 'string' && !isLikeJson(value) ? value : canonicalJson(value);
}

/** Also an empty text, which would look like none. */
function isLikeJson(text: string): boolean {
  if (text === '') return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
