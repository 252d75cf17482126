/**
 * Capabilities that call an HTTP API: the author writes where each input goes in the request, and no handler.
 *
 * Checks at the start that every input is sent, that no route names an undeclared one, and that the address is
 * one that may be called. The types follow from the declared inputs, so most of this fails to compile before.
 *
 * @module
 */

import { type Fault, fault } from '../../domain/catalog/fault.ts';
import type { DeclaredInput } from '../../protocol/capability.ts';
import type { JsonObject, Money } from '../../protocol/primitives.ts';
import {
  type CapabilityDefinition,
  type DefinedCapability,
  defineCapability,
} from '../author/define.ts';
import type { Handler, HandlerContext } from '../author/handler.ts';
import type {
  DeclaredInputs,
  DeclaredOutput,
  DetailsFor,
  InputDetails,
  ParametersOf,
  TypesOf,
} from '../author/typed.ts';
import type { Method } from '../outbound/outbound.ts';
import { namedInputs, type Route, routeFault } from '../outbound/route.ts';
import { UPSTREAM_FAILED } from './http-answer.ts';
import { callHttp, credentialFault, type HttpCredential, readApi } from './http-call.ts';

/** The names of the inputs. A schema whose type has none may have any. */
type NamesOf<Inputs extends DeclaredInputs> = Inputs extends readonly []
  ? never
  : [keyof ParametersOf<Inputs> & string] extends [never]
    ? string
    : keyof ParametersOf<Inputs> & string;

type PlaceholdersOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PlaceholdersOf<Rest>
  : never;

/** The path itself; where it names an undeclared input, a text that says so. */
type PathOf<Path extends string, Name extends string> = [PlaceholdersOf<Path>] extends [Name]
  ? Path
  : `no input "${Exclude<PlaceholdersOf<Path>, Name>}"`;

interface HttpRequest<Name extends string, Path extends string> {
  /** Literal, such as `https://api.example.com`, or with a prefix of all paths. */
  readonly origin: string;
  readonly method: Method;
  /** Each `{name}` is an input, encoded. */
  readonly path: PathOf<Path, Name>;
  /** Inputs by their own names, or by the names that the API has for them. */
  readonly query?: readonly Name[] | Readonly<Record<string, Name>>;
  /** The input of each header. */
  readonly headers?: Readonly<Record<string, Name>>;
  /** Inputs that are fields of a JSON body, or `rest` for all that go nowhere else. */
  readonly body?: readonly Name[] | 'rest';
}

interface HttpCapabilityDefinition<
  Name extends string,
  Inputs extends DeclaredInputs,
  Output extends DeclaredOutput,
  Path extends string,
  Details extends DetailsFor<Inputs>,
> extends Omit<
    CapabilityDefinition<Name, Inputs, Output, readonly [], Details>,
    'composition' | 'handler' | 'kind' | 'requires_binding' | 'resolveBinding'
  > {
  readonly request: HttpRequest<NamesOf<Inputs>, Path>;
  /** The origin may be on this machine or in its network, and plain HTTP there. */
  readonly inside?: boolean;
  /** Never shown, logged or stored. A function is asked in each call. */
  readonly credential?:
    | HttpCredential
    | ((context: HandlerContext) => HttpCredential | Promise<HttpCredential>);
  /** What the call cost, by its answer. Declare the most as `upper_bound` of a cost that is `dynamic`. */
  readonly costOf?: (answer: JsonObject, parameters: ParametersOf<Inputs>) => Money;
}

/**
 * Declares a capability that calls an HTTP API. Parameters never change its origin or its path (decision 24).
 *
 * @example
 * import { createService, httpCapability } from 'writ';
 * import * as z from 'zod';
 *
 * const renamePet = httpCapability({
 *   name: 'rename_pet',
 *   description: 'Give a pet another name',
 *   inputs: z.object({ id: z.string(), name: z.string() }),
 *   side_effect: 'write',
 *   minimum_scope: ['pets.write'],
 *   request: { origin: 'https://pets.example.com', method: 'PATCH', path: '/pets/{id}', body: ['name'] },
 *   credential: { header: 'Authorization', value: `Bearer ${process.env.PETS_TOKEN}` },
 * });
 * createService({ id: 'pets', capabilities: [renamePet] });
 */
export function httpCapability<
  const Name extends string,
  const Path extends string,
  const Inputs extends DeclaredInputs = readonly [],
  const Output extends DeclaredOutput = { type: 'object'; fields: [] },
  const Details extends DetailsFor<Inputs> = Readonly<Record<never, InputDetails>>,
>(
  definition: HttpCapabilityDefinition<Name, Inputs, Output, Path, Details>,
): DefinedCapability<Name, TypesOf<Inputs, Output, Details>> {
  const { request, inside = false, credential, costOf, ...declared } = definition;
  const { name, side_effect, cost, failure_types = [] } = declared;
  const route = routeOf(request as AnyRequest);
  const read = readApi(request.origin, inside);
  const effect = typeof side_effect === 'string' ? side_effect : side_effect?.type;
  // A read that has a price is not tried again, and stays charged where its answer is lost: it may have been billed.
  const isRead = effect === 'read' && cost === undefined;

  const handler: Handler = async (parameters, context) => {
    if ('fault' in read) throw new Error(`Cannot call the API: ${read.fault}`);
    const { invocation_id: invocationId, signal } = context;
    const proof = typeof credential === 'function' ? await credential(context) : credential;
    const call = { route, parameters, invocationId, isRead, signal, credential: proof };
    const answer = await callHttp(read.api, call);
    if (costOf) reportCost(context, () => costOf(answer, parameters as ParametersOf<Inputs>));
    return answer;
  };
  const hasOwn = failure_types.some(({ type }) => String(type) === UPSTREAM_FAILED.type);
  // Safe: what is added is the handler, and the result of an API is checked against the declared output.
  const defined = defineCapability({
    ...declared,
    failure_types: hasOwn ? failure_types : [...failure_types, UPSTREAM_FAILED],
    handler,
  } as unknown as CapabilityDefinition<Name, Inputs, Output, readonly [], Details>);
  const proof = typeof credential === 'function' ? undefined : credential;
  return {
    ...defined,
    faults: [
      ...defined.faults,
      ...('fault' in read ? [fault(name, 'request.origin', read.fault)] : []),
      ...faultsOf(
        name,
        route,
        (defined.declaration as { inputs: readonly DeclaredInput[] }).inputs,
      ),
      ...unfit(name, 'credential', proof && credentialFault(proof, route)),
    ],
  };
}

type AnyRequest = HttpRequest<string, string>;

function routeOf({ method, path, query, headers, body }: AnyRequest): Route {
  const named = Array.isArray(query)
    ? Object.fromEntries(query.map((each) => [each, each]))
    : query;
  return { method, path, query: named as Route['query'], headers, body };
}

/** An input that is not sent would be ignored; a name that is no input would never have a value. */
function faultsOf(name: string, route: Route, inputs: readonly DeclaredInput[]): Fault[] {
  const found = routeFault(route);
  if (found) return [fault(name, `request.${found.at}`, found.why)];
  const declared = new Set(inputs.map((each) => each.name));
  const sent = new Set(namedInputs(route));
  const strange = [...sent].filter((each) => !declared.has(each));
  const unsent = [...declared].filter((each) => !sent.has(each) && route.body !== 'rest');
  return [
    ...strange.map((each) => fault(name, 'request', `it names "${each}", which is no input`)),
    ...unsent.map((each) =>
      fault(
        name,
        'request',
        `it does not send the input "${each}"`,
        'it in path, query, headers or body',
      ),
    ),
  ];
}

function unfit(name: string, field: string, why: string | undefined): Fault[] {
  return why === undefined ? [] : [fault(name, field, why)];
}

/** The call has had its effect. Without a cost that can be read, all that was reserved is charged. */
function reportCost({ cost, log }: HandlerContext, costOf: () => Money): void {
  try {
    cost(costOf());
  } catch {
    log.warn({}, 'the cost of an answer cannot be read; the reserved amount is charged');
  }
}
