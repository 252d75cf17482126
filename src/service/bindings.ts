/**
 * Finds what the handles of a call pin: in the store, or with the capability's own resolver.
 *
 * @module
 */

import type { BindingFacts } from '../domain/bindings.ts';
import { failure, Refusal } from '../domain/failure.ts';
import { foreignMember, foreignTime } from '../domain/foreign.ts';
import { copyOf } from '../domain/json.ts';
import type { Capability } from '../protocol/capability.ts';
import type { JsonObject } from '../protocol/primitives.ts';
import type { TokenCaller } from './caller.ts';
import { bindingData, foreignCharge } from './context.ts';
import { LATE } from './deadline.ts';
import { askWithin, returnedBy } from './foreign.ts';
import type { Parts } from './parts.ts';

type Lookup = (handle: string) => BindingFacts | undefined;

const NOTHING_BOUND: Lookup = () => undefined;

/** A lookup over every handle that the parameters carry where a binding is required. */
export function findBindings(
  parts: Parts,
  caller: TokenCaller,
  capability: Capability,
  parameters: JsonObject,
): Promise<Lookup> | Lookup {
  if (!capability.requires_binding?.length) return NOTHING_BOUND;
  return lookupOver(parts, caller, capability, parameters);
}

async function lookupOver(
  parts: Parts,
  { loaded, root_principal }: TokenCaller,
  capability: Capability,
  parameters: JsonObject,
): Promise<Lookup> {
  const known = new Map<string, BindingFacts>(
    loaded.bindings.map((binding) => [binding.binding_id, binding]),
  );
  const { resolveBinding: resolve, deadlineMs = 0 } =
    parts.definition.code.get(capability.name) ?? {};
  for (const requirement of resolve ? (capability.requires_binding ?? []) : []) {
    const handle = Object.hasOwn(parameters, requirement.field)
      ? parameters[requirement.field]
      : undefined;
    if (typeof handle !== 'string' || known.has(handle)) continue;
    const pinned = await pinnedBy(() => resolve?.(handle, copyOf(requirement)), deadlineMs);
    if (!pinned) continue;
    const { type } = requirement;
    known.set(handle, { type, capability: capability.name, root_principal, ...pinned });
  }
  return (handle) => known.get(handle);
}

type Pinned = Pick<BindingFacts, 'issued_at' | 'price' | 'data'>;

/** What the capability's own resolver says of a handle. It has as long as the handler. */
async function pinnedBy(resolve: () => unknown, deadlineMs: number): Promise<Pinned | undefined> {
  const heard = await askWithin(deadlineMs, resolve);
  if (heard === LATE) {
    const detail = `Cannot look up a binding: no answer within ${deadlineMs} ms; nothing happened`;
    throw new Refusal(failure('service_unavailable', detail));
  }
  const pinned = returnedBy(heard, WHAT) ?? undefined;
  if (pinned === undefined) return undefined;
  const issuedAt = foreignTime(foreignMember(pinned, 'issued_at'));
  // Without a real time a binding would never grow old.
  if (issuedAt === undefined) throw new Error(`Cannot use ${WHAT}: "issued_at" is no Date`);
  const price = foreignMember(pinned, 'price') ?? undefined;
  return {
    issued_at: new Date(issuedAt),
    price: price === undefined ? undefined : foreignCharge(price),
    data: bindingData(foreignMember(pinned, 'data')),
  };
}

const WHAT = 'what resolveBinding() returned';
