/**
 * Handlers of test capabilities: they note each call, and do what a test sets in place of their usual work.
 *
 * @module
 */

import type { GrantPolicy } from '../../src/protocol/failure.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import type { HandlerContext } from '../../src/service/author/handler.ts';

/** A policy of grants that are used once. */
export const ONE_TIME: GrantPolicy = {
  allowed_grant_types: ['one_time'],
  default_grant_type: 'one_time',
  expires_in_seconds: 900,
  max_uses: 1,
};

export type Script = (
  parameters: JsonObject,
  context: HandlerContext,
) => JsonObject | Promise<JsonObject>;

export interface Scripts {
  /** The handler of a capability, with what it does while no test has set a script. */
  handler(capability: string, usual?: Script): Script;
  /** Sets what the handler does from now on; without a script, its usual work. */
  script(capability: string, script?: Script): void;
  /** What the handler was given in each call, oldest first. */
  calls(capability: string): { parameters: JsonObject; context: HandlerContext }[];
  /** How often the handler was called. */
  ran(capability: string): number;
  /** How often any handler was called. */
  ranAny(): number;
  /** Forgets calls and scripts. */
  reset(): void;
}

export function createScripts(): Scripts {
  const calls = new Map<string, ReturnType<Scripts['calls']>>();
  const scripts = new Map<string, Script>();
  const callsOf = (name: string) => calls.get(name) ?? [];
  return {
    handler:
      (name, usual = () => ({ done: true })) =>
      (parameters, context) => {
        calls.set(name, [...callsOf(name), { parameters, context }]);
        return (scripts.get(name) ?? usual)(parameters, context);
      },
    script(name, script) {
      if (script) scripts.set(name, script);
      else scripts.delete(name);
    },
    calls: callsOf,
    ran: (name) => callsOf(name).length,
    ranAny: () => [...calls.values()].reduce((sum, { length }) => sum + length, 0),
    reset() {
      calls.clear();
      scripts.clear();
    },
  };
}
