/**
 * A service as its author defines it. All declarations are checked together, before anything
 * starts.
 *
 * @module
 */

import { createCatalog } from '../../domain/catalog/catalog.ts';
import { type Fault, fault, faultText, serviceFault } from '../../domain/catalog/fault.ts';
import { hookFaults } from '../../domain/catalog/hooks.ts';
import { rollbackTies } from '../../domain/composition/compensation.ts';
import type { ActorPolicy } from '../../domain/invocation/inputs.ts';
import { parseDuration } from '../../domain/values/duration.ts';
import type { Catalog } from '../../protocol/capability.ts';
import { type Capability, Input } from '../../protocol/capability.ts';
import { type JsonObject, ServiceId } from '../../protocol/primitives.ts';
import { Trust } from '../../protocol/trust.ts';
import type { CapabilityMap, TypedService } from '../../protocol/typed.ts';
import { type AccountOptions, accountFaults, type DeclaredAccounts } from './accounts.ts';
import { approvalFaults } from './approval-policy.ts';
import type { Authenticate, DefinedCapability } from './define.ts';
import { faultReport } from './fault-report.ts';
import { offFaults } from './off.ts';
import type { ReviewPort } from './review.ts';

/** Long enough for a slow backend, short enough that a waiting person notices a stuck one. */
const HANDLER_DEADLINE_DEFAULT_MS = 30_000;

/** A day. Longer work belongs in a job that a capability starts. */
const HANDLER_DEADLINE_MAX_MS = 86_400_000;

/**
 * What a service is made of.
 *
 * @example
 * import type { ServiceOptions } from 'writ';
 *
 * const options: ServiceOptions = {
 *   id: 'demo',
 *   capabilities: [],
 *   trust: { level: 'anchored', anchoring: { cadence: 'PT1M' } },
 *   off: { delete_all: 'an operator reviews it first' },
 * };
 */
export interface ServiceOptions<
  Capabilities extends readonly DefinedCapability[] = readonly DefinedCapability[],
> {
  readonly id: string;
  readonly capabilities: Capabilities;
  /** Looks up bootstrap credentials that the configuration does not contain. */
  readonly authenticate?: Authenticate;
  /** Resolvers by the `resolver_ref` or `catalog_ref` of an input. */
  readonly resolvers?: Readonly<Record<string, Resolver>>;
  /** Asked about inputs for which `actor_policies` in the configuration has no rule. */
  readonly actorPolicy?: AuthorPolicy;
  /** How callers can check the log. Default: anchored, sealed every ten seconds. */
  readonly trust?: Trust;
  /**
   * Capabilities that exist and are switched off: by name, one sentence that says why. They are not declared, so
   * no document lists them. A call is refused as that of an unknown capability, and its detail has the sentence.
   */
  readonly off?: Readonly<Record<string, string>>;
  /** Lists and accepts tools of others that the service passes on, on the page Tools of the console. */
  readonly review?: ReviewPort;
  /** Accounts of people at other services, by name. Handlers use them by `context.account(name)`. */
  readonly accounts?: DeclaredAccounts;
}

/**
 * Finds the value that a caller's input means. Candidates are shown only where `disclosable` is
 * true.
 *
 * @example
 * import type { Resolver } from 'writ';
 *
 * const airports: Resolver = (value) =>
 *   value === 'Seattle' ? { value: 'SEA' } : { unresolved: true };
 */
export type Resolver = (value: unknown, asked: AskedInput) => Resolution | Promise<Resolution>;

/**
 * Returns the value derived for an actor and the values it may send; `undefined` without a policy.
 *
 * @example
 * import type { AuthorPolicy } from 'writ';
 *
 * const actorPolicy: AuthorPolicy = ({ input, root_principal }) =>
 *   input === 'account' ? { value: `account-of-${root_principal}` } : undefined;
 */
export type AuthorPolicy = (
  asked: AskedInput,
) => ActorPolicy | undefined | Promise<ActorPolicy | undefined>;

/**
 * Which input is resolved, and who asks.
 *
 * @example
 * import type { AskedInput } from 'writ';
 *
 * const byRoot = ({ input, root_principal }: AskedInput) => `${input} of ${root_principal}`;
 */
export interface AskedInput {
  readonly capability: string;
  readonly input: string;
  readonly principal: string;
  readonly root_principal: string;
  /**
   * The root principal, then the subject of every token down to the caller. The holder of a token
   * chooses the next name, so the last name alone does not identify the caller.
   */
  readonly principals: readonly string[];
  readonly caller_class: string;
  readonly session_id?: string | undefined;
  /** The purpose of the token, with its `task_id` where it has one. */
  readonly purpose: Readonly<JsonObject>;
}

/**
 * What a resolver found.
 *
 * @example
 * import type { Resolution } from 'writ';
 *
 * const several: Resolution = { candidates: ['JFK', 'LGA'], disclosable: true };
 */
export type Resolution =
  | { readonly value: unknown }
  | { readonly candidates: readonly unknown[]; readonly disclosable?: boolean }
  | { readonly unresolved: true };

/** The checked definition, which the other rooms of the service use. */
export interface ServiceDefinition {
  readonly id: string;
  readonly catalog: Catalog;
  readonly trust: Trust;
  readonly code: ReadonlyMap<string, CapabilityCode>;
  /** For each compensation: the sets of inputs that identify the call it undoes. */
  readonly rollbacks: ReadonlyMap<string, readonly (readonly string[])[]>;
  readonly resolvers: ReadonlyMap<string, Resolver>;
  readonly actorPolicy?: AuthorPolicy | undefined;
  readonly authenticate?: Authenticate | undefined;
  /** Why a known capability is off, by its name. */
  readonly off: ReadonlyMap<string, string>;
  readonly review?: ReviewPort | undefined;
  readonly accounts: ReadonlyMap<string, AccountOptions>;
}

/**
 * A service: its checked definition, which carries the types of its capabilities for a typed client.
 * Nothing is open yet. `serve()` and `mount()` run it.
 *
 * @example
 * import { createService, type Service } from 'writ';
 *
 * const service: Service = createService({ id: 'demo', capabilities: [] });
 */
export interface Service<Capabilities = CapabilityMap>
  extends ServiceDefinition,
    TypedService<Capabilities> {}

/** What each capability takes and returns, by its name. */
export type CapabilitiesOf<Capabilities extends readonly DefinedCapability[]> = {
  readonly [Each in Capabilities[number] as Each['name']]: Each extends DefinedCapability<
    string,
    infer Types
  >
    ? Types
    : never;
};

/** The private half of a capability. */
interface CapabilityCode
  extends Pick<
    DefinedCapability,
    'handler' | 'approval' | 'resolveBinding' | 'price' | 'readInputs' | 'readOutput'
  > {
  readonly deadlineMs: number;
}

/**
 * All faults of a definition, in one message.
 *
 * @example
 * import { createService, DefinitionError } from 'writ';
 *
 * try {
 *   createService({ id: 'not a name', capabilities: [] });
 * } catch (error) {
 *   if (error instanceof DefinitionError) console.log(error.faults.length);
 * }
 */
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

/**
 * Checks all declarations together. Throws a `DefinitionError` that lists every fault.
 *
 * @example
 * import { createService, defineCapability } from 'writ';
 *
 * const ping = defineCapability({
 *   name: 'ping',
 *   description: 'Answer',
 *   side_effect: 'read',
 *   minimum_scope: ['demo.ping'],
 *   handler: () => ({ pong: true }),
 * });
 * const service = createService({ id: 'demo', capabilities: [ping] });
 */
export function createService<const Capabilities extends readonly DefinedCapability[]>(
  options: ServiceOptions<Capabilities>,
): Service<CapabilitiesOf<Capabilities>> {
  const checked = createCatalog(
    options.capabilities.map(({ name, declaration }) => [name, declaration]),
  );
  const resolvers = new Map(Object.entries(options.resolvers ?? {}));
  const faults: Fault[] = [
    ...serviceFaults(options),
    ...offFaults(options.id, options.off ?? {}, options.capabilities),
    ...accountFaults(options.id, options.accounts),
    ...('faults' in checked ? checked.faults : []),
    ...options.capabilities.flatMap((capability) => resolutionFaults(capability, resolvers)),
    ...options.capabilities.flatMap((capability) => capability.faults ?? []),
    ...options.capabilities.flatMap(codeFaults),
    ...options.capabilities.flatMap(priceFaults),
    ...options.capabilities.flatMap(approvalFaults),
  ];
  if ('faults' in checked || faults.length > 0) {
    throw new DefinitionError(faultReport(faults, options));
  }

  return {
    id: options.id,
    catalog: checked.catalog,
    rollbacks: rollbackTies(checked.catalog),
    trust: options.trust ?? { level: 'anchored', anchoring: { cadence: 'PT10S' } },
    resolvers,
    actorPolicy: options.actorPolicy,
    authenticate: options.authenticate,
    off: new Map(Object.entries(options.off ?? {})),
    review: options.review,
    accounts: new Map(Object.entries(options.accounts ?? {})),
    code: new Map(options.capabilities.map((capability) => [capability.name, codeOf(capability)])),
  };
}

export function capabilityOf(definition: ServiceDefinition, name: string): Capability | undefined {
  return definition.catalog.capabilities.get(name);
}

const CADENCE = 'a duration such as cadence: "PT10S"';

function serviceFaults({ id, capabilities, trust }: ServiceOptions): Fault[] {
  const names = capabilities.map(({ name }) => name);
  const cadence = trust?.anchoring?.cadence;
  return [
    ...(ServiceId.safeParse(id).success
      ? []
      : [serviceFault(String(id), 'id', 'expected a service id, such as "travel-desk"')]),
    ...names
      .filter((name, index) => names.indexOf(name) !== index)
      .map((name) => fault(name, 'name', 'it is declared twice', 'each name once')),
    ...(trust && !Trust.safeParse(trust).success
      ? [
          serviceFault(
            id,
            'trust',
            'expected { level: "signed" } or { level: "anchored", anchoring }',
          ),
        ]
      : []),
    ...(trust?.level === 'anchored' && !cadence
      ? [serviceFault(id, 'trust.anchoring', 'an anchored service names its cadence', CADENCE)]
      : []),
    ...(cadence && !parseDuration(cadence)
      ? [
          serviceFault(
            id,
            'trust.anchoring.cadence',
            `"${cadence}" is not a positive duration`,
            CADENCE,
          ),
        ]
      : []),
  ];
}

/** Checks one input at a time. An input that does not parse is reported by the catalog. */
function resolutionFaults(
  { name, declaration }: DefinedCapability,
  known: ReadonlyMap<string, Resolver>,
): Fault[] {
  const inputs = (declaration as { inputs?: unknown } | null)?.inputs;
  return (Array.isArray(inputs) ? inputs : []).flatMap((declared, index) => {
    const input = Input.safeParse(declared).data;
    return (input ? hookFaults(input, (reference) => known.has(reference)) : []).map(
      ([field, found, write]) => fault(name, `inputs[${index}].${field}`, found, write),
    );
  });
}

function codeFaults({ name, declaration, handler, deadline }: DefinedCapability): Fault[] {
  const composed = (declaration as { kind?: unknown } | null)?.kind === 'composed';
  const length = deadline === undefined ? 1 : (parseDuration(deadline) ?? 0);
  return [
    ...(composed && handler
      ? [fault(name, 'handler', 'a composed capability has none', 'nothing: its steps do the work')]
      : []),
    ...(!composed && !handler
      ? [
          fault(
            name,
            'handler',
            'an atomic capability needs one',
            'handler: (parameters, context) => …',
          ),
        ]
      : []),
    ...(length > 0 && length <= HANDLER_DEADLINE_MAX_MS
      ? []
      : [
          fault(
            name,
            'deadline',
            `"${deadline}" is not a duration of at most a day`,
            'a duration such as "PT30S"',
          ),
        ]),
  ];
}

/** The service quotes a price only where the declaration says that the cost is an estimate. */
const ESTIMATED = 'cost: { certainty: "estimated", financial: { … } }, or leave it out';

function priceFaults({ name, declaration, price }: DefinedCapability): Fault[] {
  if (price === undefined) return [];
  if (typeof price !== 'function') return [fault(name, 'price', 'expected a function')];
  const { kind, cost } = (declaration ?? {}) as { kind?: unknown; cost?: { certainty?: unknown } };
  if (kind === 'composed')
    return [fault(name, 'price', 'a composed capability costs its steps', 'price at its steps')];
  if (cost?.certainty === 'estimated') return [];
  return [
    fault(name, 'price', 'only a cost that is "estimated" has a price for each call', ESTIMATED),
  ];
}

function codeOf({ deadline, ...code }: DefinedCapability): CapabilityCode {
  const { handler, approval, resolveBinding, price, readInputs, readOutput } = code;
  const deadlineMs = deadline ? parseDuration(deadline) : undefined;
  return {
    handler,
    approval,
    resolveBinding,
    price,
    readInputs,
    readOutput,
    deadlineMs: deadlineMs ?? HANDLER_DEADLINE_DEFAULT_MS,
  };
}
