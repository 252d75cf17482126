/**
 * The tools of an MCP server, read page by page with bounds.
 *
 * A tool that does not fit is left out, and a log line says why. A server whose list does not end is refused.
 *
 * @module
 */

import type { Client } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { CAPABILITIES_MAX } from '../../domain/catalog/catalog.ts';
import { readForeignName, readForeignObject } from '../../domain/wire/foreign.ts';
import { isObject, type JsonLimits } from '../../domain/wire/json.ts';
import type { Logger } from '../../log.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { UpstreamTool } from '../upstream.ts';
import { UpstreamFault } from './fault.ts';
import { type Secrets, visibleLine } from './foreign-text.ts';

/** A server may put one tool on each page. More pages than this have no end. */
const PAGES_MAX = 100;

const CURSOR_LENGTH_MAX = 4_096;
const NAME_LENGTH_MAX = 128;
const TITLE_LENGTH_MAX = 256;
/** In UTF-8 bytes: an agent reads it in each conversation, and a person once. */
const DESCRIPTION_BYTES_MAX = 8_192;
const SCHEMA_LIMITS: JsonLimits = { bytes: 65_536, depth: 32, keys: 5_000 };
const ANNOTATIONS_LIMITS: JsonLimits = { bytes: 4_096, depth: 4, keys: 64 };

const Page = z.object({
  tools: z.array(z.unknown()),
  nextCursor: z.string().max(CURSOR_LENGTH_MAX).optional(),
});

export interface Listing {
  readonly log: Logger;
  /** A server may repeat a credential in a description, which is kept in the lock and shown to callers. */
  readonly secrets: Secrets;
  /** In milliseconds, for all pages together. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

export async function listTools(client: Client, listing: Listing): Promise<UpstreamTool[]> {
  const listed: unknown[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await client.request(
      { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
      Page,
      { timeout: listing.deadlineMs, signal: listing.signal },
    );
    listed.push(...page.tools.slice(0, CAPABILITIES_MAX + 1));
    if (listed.length > CAPABILITIES_MAX) throw endless(`more than ${CAPABILITIES_MAX} tools`);
    cursor = page.nextCursor;
    if (cursor === undefined) break;
    if (cursors.has(cursor)) throw endless('a page again');
    cursors.add(cursor);
  } while (cursors.size < PAGES_MAX || refusePages());
  return readTools(listed, listing);
}

function refusePages(): never {
  throw endless(`more than ${PAGES_MAX} pages of tools`);
}

function endless(what: string): UpstreamFault {
  return new UpstreamFault(`it lists ${what}`, { mayHaveActed: false });
}

function readTools(
  listed: readonly unknown[],
  { log, secrets }: Pick<Listing, 'log' | 'secrets'>,
): UpstreamTool[] {
  const tools = new Map<string, UpstreamTool>();
  const leftOut = new Map<string, string>();
  for (const [index, value] of listed.entries()) {
    const reading = withoutSecrets(readTool(value), secrets);
    const name = isObject(value) && typeof value.name === 'string' ? value.name : `#${index + 1}`;
    // With two of one name, a review of one would stand for the other.
    if (tools.has(name)) leftOut.set(name, 'its name is listed twice');
    else if ('fault' in reading) leftOut.set(name, reading.fault);
    else tools.set(name, reading.tool);
  }
  for (const [name, why] of leftOut) {
    tools.delete(name);
    log.warn(
      { tool: visibleLine(secrets.inText(name), NAME_LENGTH_MAX), why },
      'a tool is left out',
    );
  }
  return [...tools.values()].filter(({ name }) => !leftOut.has(name));
}

type ToolReading = { readonly tool: UpstreamTool } | { readonly fault: string };

function withoutSecrets(reading: ToolReading, secrets: Secrets): ToolReading {
  if ('fault' in reading) return reading;
  const tool = secrets.inValue(reading.tool);
  // Under another name it could not be called.
  return tool.name === reading.tool.name ? { tool } : { fault: 'name: it contains a credential' };
}

/** Reads one tool of a list. A fault is the end of a sentence. */
function readTool(value: unknown): ToolReading {
  if (!isObject(value)) return { fault: 'expected an object' };
  const name = readForeignName(value.name, NAME_LENGTH_MAX);
  if ('fault' in name) return { fault: `name: ${name.fault}` };
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(name.value)) {
    return { fault: 'name: it has a character that cannot be seen' };
  }
  const title =
    value.title === undefined ? undefined : readForeignName(value.title, TITLE_LENGTH_MAX);
  if (title && 'fault' in title) return { fault: `title: ${title.fault}` };
  const description = value.description ?? '';
  if (typeof description !== 'string') return { fault: 'description: expected a text' };
  if (Buffer.byteLength(description) > DESCRIPTION_BYTES_MAX) {
    return { fault: `description: it has more than ${DESCRIPTION_BYTES_MAX} bytes` };
  }
  const objects = readObjects(value);
  if ('fault' in objects) return objects;
  return {
    tool: {
      name: name.value,
      ...(title && { title: title.value }),
      description,
      ...objects.read,
    },
  };
}

type Objects = Pick<UpstreamTool, 'inputSchema' | 'outputSchema' | 'annotations'>;

function readObjects(
  value: Readonly<Record<string, unknown>>,
): { readonly read: Objects } | { readonly fault: string } {
  const read: { -readonly [Name in keyof Objects]?: JsonObject } = {};
  for (const name of ['inputSchema', 'outputSchema', 'annotations'] as const) {
    if (value[name] === undefined && name !== 'inputSchema') continue;
    const limits = name === 'annotations' ? ANNOTATIONS_LIMITS : SCHEMA_LIMITS;
    const reading = readForeignObject(value[name], limits);
    if ('fault' in reading) return { fault: `${name}: ${reading.fault}` };
    if (name !== 'annotations' && hasOuterReference(reading.value)) {
      return { fault: `${name}: it refers to another document` };
    }
    read[name] = reading.value;
  }
  if (read.inputSchema?.type !== 'object') return { fault: 'inputSchema: expected type "object"' };
  return { read: read as Objects };
}

/** Nothing fetches a schema that a server names. The depth is bounded by the reading before. */
function hasOuterReference(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasOuterReference);
  if (!isObject(value)) return false;
  return Object.entries(value).some(([name, member]) => {
    const isReference = /^\$(?:ref|dynamicRef|recursiveRef)$/.test(name);
    if (isReference && typeof member === 'string') return !member.startsWith('#');
    return hasOuterReference(member);
  });
}
