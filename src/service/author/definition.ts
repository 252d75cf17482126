/**
 * A service as its author defines it, checked as a whole before anything starts.
 *
 * @module
 */

import { createCatalog } from '../../domain/catalog/catalog.ts';
import { type Fault, fault, faultText } from '../../domain/catalog/fault.ts';
import { hookFaults } from '../../domain/catalog/hooks.ts';
import { rollbackTies } from '../../domain/composition/compensation.ts';
import type { ActorPolicy } from '../../domain/invocation/inputs.ts';
import { parseDuration } from '../../domain/values/duration.ts';
import type { Catalog } from '../../protocol/capability.ts';
import { type Capability, Input } from '../../protocol/capability.ts';
import { type JsonObject, ServiceId } from '../../protocol/primitives.ts';
import { Trust } from '../../protocol/trust.ts';
import { approvalFaults } from './approval-policy.ts';
import type { Authenticate, DefinedCapability } from './define.ts';

/** Long enough for a slow backend, short enough that a stuck one is noticed while someone waits. */
const HANDLER_DEADLINE_DEFAULT_MS = 30_000;

/** A day: longer work belongs into a job that a capability starts. */
const HANDLER_DEADLINE_MAX_MS = 86_400_000;

export interface ServiceOptions {
  readonly id: string;
  readonly capabilities: readonly DefinedCapability[];
  /** The author's own way to know a bootstrap credential, beside those of the configuration. */
  readonly authenticate?: Authenticate;
  /** By the `resolver_ref` or `catalog_ref` that inputs name. */
  readonly resolvers?: Readonly<Record<string, Resolver>>;
  /** Asked about inputs for which the configuration's `actor_policies` say nothing. */
  readonly actorPolicy?: AuthorPolicy;
  /** How far the service's word can be checked. Anchored by default: its log is sealed every ten seconds. */
  readonly trust?: Trust;
}

/** Finds what a caller's word for a thing means. Candidates are shown only where that is allowed. */
export type Resolver = (value: unknown, asked: AskedInput) => Resolution | Promise<Resolution>;

/** Says what is derived for an actor, and what it may name itself; nothing where it has no policy. */
export type AuthorPolicy = (
  asked: AskedInput,
) => ActorPolicy | undefined | Promise<ActorPolicy | undefined>;

/** Which input is resolved, and who asks. */
export interface AskedInput {
  readonly capability: string;
  readonly input: string;
  readonly principal: string;
  readonly root_principal: string;
  /**
   * The root principal, then the subject of every token down to the caller's. The holder of a token names
   * the next one, so the last name alone is no identity.
   */
  readonly principals: readonly string[];
  readonly caller_class: string;
  readonly session_id?: string | undefined;
  /** Of the token, with its `task_id` where it has one. */
  readonly purpose: Readonly<JsonObject>;
}

export type Resolution =
  | { readonly value: unknown }
  | { readonly candidates: readonly unknown[]; readonly disclosable?: boolean }
  | { readonly unresolved: true };

/** What the rest of the service layer works with. */
export interface ServiceDefinition {
  readonly id: string;
  readonly catalog: Catalog;
  readonly trust: Trust;
  readonly code: ReadonlyMap<string, CapabilityCode>;
  /** By which inputs a compensation shows which call it undoes. */
  readonly rollbacks: ReadonlyMap<string, readonly (readonly string[])[]>;
  readonly resolvers: ReadonlyMap<string, Resolver>;
  readonly actorPolicy?: AuthorPolicy | undefined;
  readonly authenticate?: Authenticate | undefined;
}

/** The private half of a capability. */
interface CapabilityCode
  extends Pick<DefinedCapability, 'handler' | 'approval' | 'resolveBinding'> {
  readonly deadlineMs: number;
}

/** Every fault of a definition, in one message that an author can work through. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError';
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(
      ['Cannot start the service:', ...faults.map((each) => `  ${faultText(each)}`)].join('\n'),
    );
    this.faults = faults;
  }
}

/** Checks all declarations together. Throws a `DefinitionError` that lists every fault. */
export function createService(options: ServiceOptions): ServiceDefinition {
  const checked = createCatalog(
    options.capabilities.map(({ name, declaration }) => [name, declaration]),
  );
  const resolvers = new Map(Object.entries(options.resolvers ?? {}));
  const faults: Fault[] = [
    ...serviceFaults(options),
    ...('faults' in checked ? checked.faults : []),
    ...options.capabilities.flatMap((capability) => resolutionFaults(capability, resolvers)),
    ...options.capabilities.flatMap(codeFaults),
    ...options.capabilities.flatMap(approvalFaults),
  ];
  if ('faults' in checked || faults.length > 0) throw new DefinitionError(faults);

  return {
    id: options.id,
    catalog: checked.catalog,
    rollbacks: rollbackTies(checked.catalog),
    trust: options.trust ?? { level: 'anchored', anchoring: { cadence: 'PT10S' } },
    resolvers,
    actorPolicy: options.actorPolicy,
    authenticate: options.authenticate,
    code: new Map(options.capabilities.map((capability) => [capability.name, codeOf(capability)])),
  };
}

export function capabilityOf(definition: ServiceDefinition, name: string): Capability | undefined {
  return definition.catalog.capabilities.get(name);
}

function serviceFaults({ id, capabilities, trust }: ServiceOptions): Fault[] {
  const names = capabilities.map(({ name }) => name);
  const cadence = trust?.anchoring?.cadence;
  return [
    ...(ServiceId.safeParse(id).success ? [] : [fault(String(id), 'id', 'expected a service id')]),
    ...names
      .filter((name, index) => names.indexOf(name) !== index)
      .map((name) => fault(name, 'name', 'it is declared twice')),
    ...(trust && !Trust.safeParse(trust).success
      ? [fault(id, 'trust', 'expected a trust level')]
      : []),
    ...(trust?.level === 'anchored' && !cadence
      ? [fault(id, 'trust.anchoring', 'an anchored service names its cadence')]
      : []),
    ...(cadence && !parseDuration(cadence)
      ? [fault(id, 'trust.anchoring.cadence', `"${cadence}" is not a positive duration`)]
      : []),
  ];
}

/** Looks at one input at a time: one that does not parse has faults of its own. */
function resolutionFaults(
  { name, declaration }: DefinedCapability,
  known: ReadonlyMap<string, Resolver>,
): Fault[] {
  const inputs = (declaration as { inputs?: unknown } | null)?.inputs;
  return (Array.isArray(inputs) ? inputs : []).flatMap((declared, index) => {
    const input = Input.safeParse(declared).data;
    return (input ? hookFaults(input, (reference) => known.has(reference)) : []).map(
      ([field, found]) => fault(name, `inputs[${index}].${field}`, found),
    );
  });
}

function codeFaults({ name, declaration, handler, deadline }: DefinedCapability): Fault[] {
  const composed = (declaration as { kind?: unknown } | null)?.kind === 'composed';
  const length = deadline === undefined ? 1 : (parseDuration(deadline) ?? 0);
  return [
    ...(composed && handler ? [fault(name, 'handler', 'a composed capability has none')] : []),
    ...(!composed && !handler ? [fault(name, 'handler', 'an atomic capability needs one')] : []),
    ...(length > 0 && length <= HANDLER_DEADLINE_MAX_MS
      ? []
      : [fault(name, 'deadline', `"${deadline}" is not a duration of at most a day`)]),
  ];
}

function codeOf({ deadline, ...code }: DefinedCapability): CapabilityCode {
  const { handler, approval, resolveBinding } = code;
  const deadlineMs = deadline ? parseDuration(deadline) : undefined;
  return {
    handler,
    approval,
    resolveBinding,
    deadlineMs: deadlineMs ?? HANDLER_DEADLINE_DEFAULT_MS,
  };
}
