/**
 * What stands behind a guard: the port of an MCP server or an HTTP API, and the tools it offers.
 *
 * Everything that an upstream says of its tools is text of strangers. A person reviews it once, and its digest
 * says later whether it is still the same.
 *
 * @module
 */

import { canonicalJson } from '../domain/wire/canonical.ts';
import { sha256Hex, utf8 } from '../domain/wire/hash.ts';
import type { SideEffectType } from '../protocol/capability.ts';
import type { JsonObject } from '../protocol/primitives.ts';

/** A tool as its upstream describes it. */
export interface UpstreamTool {
  /** As the upstream spells it. */
  readonly name: string;
  readonly title?: string | undefined;
  /** Empty where there is none. */
  readonly description: string;
  /** The schema of an object. All its references lead into its own `$defs`. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  /** What the upstream claims about effects. Not believed without a review. */
  readonly annotations?: JsonObject | undefined;
  /** For an HTTP API: method, path, and where each parameter goes. */
  readonly route?: JsonObject | undefined;
}

/** One call that passed every check. */
export interface UpstreamCall {
  /** As it was reviewed. */
  readonly tool: UpstreamTool;
  readonly parameters: JsonObject;
  /** The same for every try of one invocation. */
  readonly invocationId: string;
  /** Whether a second try cannot do harm: it changes nothing and costs nothing. */
  readonly isRead: boolean;
  /** Aborts at the deadline of the call. */
  readonly signal: AbortSignal;
  /** The access token of the person for whom the caller acts, where each person has an own one. */
  readonly accessToken?: string | undefined;
}

export interface Upstream {
  /** Asks for all tools. Rejects with one line that says why it cannot. */
  tools(): Promise<readonly UpstreamTool[]>;
  /** Throws `NoEffect` where nothing happened, and `HandlerFailure` where something may have happened. */
  call(call: UpstreamCall): Promise<JsonObject>;
  /** Reports that the tools may have changed, or that the upstream went away or came back. */
  watch(onChange: () => void): void;
  close(): Promise<void>;
}

/** A guess by what the upstream claims, and why. A person decides. */
export interface GuessedEffect {
  readonly effect: SideEffectType;
  readonly why: string;
}

/** The digest by which a reviewed tool is recognised: of everything that an agent or a person is shown of it. */
export function toolDigest(tool: UpstreamTool): string {
  const { name, title, description, inputSchema, outputSchema, annotations, route } = tool;
  const shown = { name, title, description, inputSchema, outputSchema, annotations, route };
  const present = Object.entries(shown).filter(([, value]) => value !== undefined);
  return sha256Hex(utf8(canonicalJson(Object.fromEntries(present))));
}
